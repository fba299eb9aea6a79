/**
 * A host application: an HTTP server that starts, shows and decides runs. Kill it at any moment, start it again on the same
 * file, and every run goes on: calls that were under way are made again with the same key, timers fire once, at their time.
 *
 *   node build/examples/http-host.js work.db 8080
 *   curl -X POST localhost:8080/runs -d '{"text":"Loops that end","remindAfterMs":5000}'
 *   curl localhost:8080/runs/<id>
 *   curl -X POST localhost:8080/runs/<id>/decision -d '{"accept":true,"by":"ada"}'
 */
import { appendFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { agentCall, createRuntime, isRuntimeError, runSummary, workflow } from 'loopwright';
import { assign, setup } from 'xstate';

interface Summary {
  readonly words: number;
}

const review = setup({
  types: {
    context: {} as {
      text: string;
      remindAfterMs: number;
      words: number | null;
      reminders: number;
      accepted: boolean;
    },
    input: {} as { text: string; remindAfterMs: number },
    events: {} as { type: 'DECIDED'; accept: boolean; by: string },
    output: {} as { verdict: 'accepted' | 'cancelled'; reminders: number },
  },
  actors: { summarize: agentCall<{ text: string }, Summary>() },
  delays: { remind: ({ context }) => context.remindAfterMs },
}).createMachine({
  context: ({ input }) => ({ ...input, words: null, reminders: 0, accepted: false }),
  type: 'parallel',
  states: {
    summary: {
      initial: 'working',
      states: {
        working: {
          invoke: {
            id: 'summarize',
            src: 'summarize',
            input: ({ context }) => ({ text: context.text }),
            onDone: { target: 'ready', actions: assign({ words: ({ event }) => event.output.words }) },
            onError: 'unavailable',
          },
        },
        ready: { type: 'final' },
        unavailable: { type: 'final' },
      },
    },
    decision: {
      initial: 'open',
      states: {
        open: {
          tags: 'waiting',
          initial: 'quiet',
          on: {
            DECIDED: { target: 'decided', actions: assign({ accepted: ({ event }) => event.accept }) },
          },
          states: {
            quiet: {
              after: {
                remind: {
                  target: 'reminded',
                  actions: assign({ reminders: ({ context }) => context.reminders + 1 }),
                },
              },
            },
            reminded: {},
          },
        },
        decided: { type: 'final' },
      },
    },
  },
  output: ({ context }) => ({
    verdict: context.accepted ? 'accepted' : 'cancelled',
    reminders: context.reminders,
  }),
});

const [file = 'work.db', port = '8080', callLog] = process.argv.slice(2);

const runtime = await createRuntime({
  file,
  workflows: [workflow('review', review)],
  agents: {
    /** Stands for a slow model. Its key is the same if it is called again after a crash. */
    summarize: async ({ input, idempotencyKey, signal }) => {
      if (callLog) appendFileSync(callLog, `${idempotencyKey}\n`);
      await sleep(Number(process.env.SUMMARY_MS ?? 500), undefined, { signal });
      return { words: input.text.split(/\s+/).length };
    },
  },
  onWarning: (warning) => console.error(warning),
});

const readBody = async (request: IncomingMessage): Promise<unknown> => {
  let body = '';
  for await (const chunk of request) {
    body += String(chunk);
    if (body.length > 100_000) throw new Error('The body is too large.');
  }
  return JSON.parse(body || '{}');
};

const route = async (request: IncomingMessage): Promise<unknown> => {
  const [, what, id, part] = (request.url ?? '/').split('/');
  if (request.method === 'POST' && what === 'runs' && id === undefined) {
    const { text, remindAfterMs } = (await readBody(request)) as { text?: unknown; remindAfterMs?: unknown };
    const run = await runtime.start('review', {
      text: String(text),
      remindAfterMs: Number(remindAfterMs ?? 5_000),
    });
    return { run: run.id };
  }
  if (request.method === 'POST' && id !== undefined && part === 'decision') {
    const { accept, by } = (await readBody(request)) as { accept?: unknown; by?: unknown };
    const run = await runtime.run(id, 'review');
    return run.send({ type: 'DECIDED', accept: accept === true, by: String(by) }, { by: String(by) });
  }
  if (request.method === 'GET' && id !== undefined) {
    const state = await (await runtime.run(id, 'review')).state();
    return { state, summary: await runtime.read(runSummary, id) };
  }
  return { runs: await runtime.runs() };
};

const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
  try {
    const body = await route(request);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  } catch (error) {
    const status = isRuntimeError(error, 'UNKNOWN_RUN') ? 404 : isRuntimeError(error) ? 409 : 400;
    const message = error instanceof Error ? error.message : String(error);
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(JSON.stringify({ error: message }));
  }
};

const server = createServer((request, response) => void answer(request, response));
server.listen(Number(port), '127.0.0.1', () => {
  const address = server.address();
  console.log(`listening on http://127.0.0.1:${typeof address === 'object' ? address?.port : port}`);
});

const shutDown = async (): Promise<void> => {
  server.close();
  await runtime.close();
};
process.once('SIGINT', () => void shutDown());
process.once('SIGTERM', () => void shutDown());
