import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { type ModelOptions, modelAgent, modelAgentFromDescription } from '../../src/ai/index.ts';
import {
  type Agent,
  isRuntimeError,
  planRun,
  runSummary,
  type StepInput,
  tightLoop,
} from '../../src/index.ts';
import { createVirtualClock } from '../../src/testing/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { until } from '../support/commands.ts';
import {
  breaksOff,
  dropsConnection,
  hangs,
  refuses,
  says,
  startModelServer,
} from '../support/model-server.ts';
import { expectReplays, open } from '../support/runtimes.ts';

// Method: a server of the test's own speaks the protocol of OpenAI over HTTP, through the provider that users install. What is
// asserted is what the server was asked, and what a second runtime finds in the log.

const KEY = 'key-that-nobody-may-see-0123456789';
const VARIABLE = 'LOOPWRIGHT_TEST_MODEL_KEY';

const withKey = (key = KEY): void => {
  process.env[VARIABLE] = key;
  onTestFinished(() => {
    delete process.env[VARIABLE];
  });
};

const one = planRun('one', {
  steps: [{ id: 'work', agent: 'worker' }],
  onLimit: 'stop',
  roles: { worker: { backoffMs: 1, attempts: 3 } },
});

type Options = Partial<ModelOptions<StepInput>>;

const agentAt = (baseUrl: string, options: Options = {}): Agent<StepInput> =>
  modelAgent({
    model: createOpenAICompatible({
      name: 'local',
      baseURL: baseUrl,
      apiKey: KEY,
      includeUsage: true,
      supportsStructuredOutputs: true,
    })('test-model'),
    apiKeyEnv: VARIABLE,
    ...options,
  });

/** Runs one step with the agent to its end, and reads what came of it with a second runtime. */
const work = async (worker: Agent<StepInput>, input: string | null = 'Write a haiku') => {
  const file = temporaryFile();
  const first = await open({ file, workflows: [one], agents: { worker }, durability: 'normal' });
  const run = await first.start('one', input, { id: 'r' });
  await run.result();
  await first.close();
  const second = await open({ file, workflows: [one], agents: { worker }, idle: true });
  const result = await (await second.run('r', 'one')).result();
  const { calls, failures } = await second.read(runSummary, 'r');
  await second.close();
  for (const name of readdirSync(dirname(file), { recursive: true, withFileTypes: true }))
    if (name.isFile()) expect(readFileSync(join(name.parentPath, name.name), 'latin1')).not.toContain(KEY);
  return { verdict: result.verdict, output: result.output, calls, failures };
};

const MADE = z.object({ title: z.string(), lines: z.array(z.string()).length(3) });
const HAIKU = { title: 'Pond', lines: ['An old silent pond', 'A frog jumps in', 'Splash'] };

describe.each([{ stream: false }, { stream: true }])('a model agent (stream: $stream)', ({ stream }) => {
  it('X4: answers with a text; what it used is in the log, and what it cost', async () => {
    const { baseUrl, asked } = await startModelServer(says('An old silent pond.'));
    const worker = agentAt(baseUrl, {
      stream,
      system: 'You write.',
      prompt: 'Be brief.',
      temperature: 0.5,
      maxOutputTokens: 99,
      price: { inputUsd: 3, outputUsd: 15 },
    });
    const { verdict, output } = await work(worker);
    expect(verdict).toBe('verified');
    expect(output).toMatchObject({
      outputs: { work: { text: 'An old silent pond.' } },
      spent: { calls: 1, tokens: 1_200, costUsd: 0.006 },
    });
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({
      url: '/v1/chat/completions',
      authorization: `Bearer ${KEY}`,
      body: {
        model: 'test-model',
        temperature: 0.5,
        max_tokens: 99,
        messages: [{ role: 'system', content: 'You write.' }, { role: 'user' }],
      },
    });
    const [, user] = asked[0]?.body.messages ?? [];
    expect(user?.content).toMatch(/^Be brief\.\n\n## Input\n\n/);
    expect(user?.content).toContain('Write a haiku');
  });

  it('answers with what fits a schema, which the model is told', async () => {
    const { baseUrl, asked } = await startModelServer(says(JSON.stringify(HAIKU)));
    const { output } = await work(agentAt(baseUrl, { stream, output: MADE }));
    expect(output).toMatchObject({ outputs: { work: HAIKU }, spent: { calls: 1, tokens: 1_200 } });
    expect(asked[0]?.body).toMatchObject({
      response_format: { type: 'json_schema', json_schema: { schema: { required: ['title', 'lines'] } } },
    });
    expect(asked[0]?.body.messages[0]?.content).toContain('"required":["title","lines"]');
  });

  it.each([
    ['does not fit the schema', '{"title":"Pond","lines":["one"]}', /lines: /],
    ['is no JSON', 'Sure! Here is your haiku: old pond', /not JSON.*Sure! Here is/],
    ['is empty', '  ', /empty/],
  ])(
    'a wrong answer, which %s, is a failed attempt that was paid for; the next one is told what was wrong',
    async (_what, wrong, problem) => {
      const { baseUrl, asked } = await startModelServer(
        says(wrong),
        says(`\`\`\`json\n${JSON.stringify(HAIKU)}\n\`\`\``),
      );
      const { verdict, output } = await work(agentAt(baseUrl, { stream, output: MADE }));
      expect(verdict).toBe('verified');
      expect(output).toMatchObject({ outputs: { work: HAIKU }, spent: { calls: 2, tokens: 2_400 } });
      const told = asked[1]?.body.messages.at(-1)?.content ?? '';
      expect(told.slice(told.indexOf('Your last attempt could not be used'))).toMatch(problem);
    },
  );

  it('an answer that was cut off is not taken for a whole one', async () => {
    const { baseUrl } = await startModelServer(
      says('An old silent', 'length'),
      says('', 'content_filter'),
      says('An old silent pond.'),
    );
    const { output, verdict } = await work(agentAt(baseUrl, { stream, maxOutputTokens: 3 }));
    expect(verdict).toBe('verified');
    expect(output).toMatchObject({ outputs: { work: { text: 'An old silent pond.' } }, spent: { calls: 3 } });
  });

  it('a time-out is a failed attempt: the connection is let go of, and it is tried again', async () => {
    const { baseUrl } = await startModelServer(hangs, says('late but well'));
    const { verdict, output, failures } = await work(agentAt(baseUrl, { stream, timeoutMs: 300 }));
    expect(verdict).toBe('verified');
    expect(output).toMatchObject({ outputs: { work: { text: 'late but well' } }, spent: { calls: 2 } });
    expect(failures).toMatchObject([{ message: expect.stringContaining('did not answer within 300 ms') }]);
  });

  it.each(['torn', 'ended'] as const)(
    'a stream or document that is %s in the middle is tried again',
    async (how) => {
      const { baseUrl, asked } = await startModelServer(breaksOff(how), says('whole'));
      const { verdict, output, failures } = await work(agentAt(baseUrl, { stream }));
      expect(verdict).toBe('verified');
      expect(output).toMatchObject({ outputs: { work: { text: 'whole' } } });
      expect(failures).toMatchObject([
        { message: expect.stringContaining('The call of the model "test-model" failed') },
      ]);
      expect(asked).toHaveLength(2);
    },
  );

  it('a connection that is dropped, and a server that is out of order, are tried again', async () => {
    const { baseUrl } = await startModelServer(
      dropsConnection,
      refuses(503, 'overloaded'),
      says('third time'),
    );
    const { verdict, calls } = await work(agentAt(baseUrl, { stream }));
    expect(verdict).toBe('verified');
    expect(calls).toMatchObject({ done: expect.any(Number), failed: 2 });
  });

  it.each([401, 403])(
    'a key that is refused (%i) is not tried again; the message names its variable, never the key',
    async (status) => {
      withKey();
      const { baseUrl, asked } = await startModelServer(
        refuses(status, `Incorrect API key provided: ${KEY}`),
      );
      const { verdict, output } = await work(agentAt(baseUrl, { stream }));
      expect(verdict).toBe('failed');
      expect(output?.reason).toContain(VARIABLE);
      expect(output?.reason).toContain('[redacted]');
      expect(asked).toHaveLength(1);
    },
  );

  it('a model that is unknown is not tried again', async () => {
    const { baseUrl, asked } = await startModelServer(refuses(404, 'The model does not exist'));
    const { verdict, output } = await work(agentAt(baseUrl, { stream }));
    expect(verdict).toBe('failed');
    expect(output?.reason).toContain('The model does not exist');
    expect(asked).toHaveLength(1);
  });
});

// Method: on a clock of the test's own. Just before the time that the server asked for, nothing happens; then the call is made again.
it.each([
  ['seconds', { 'retry-after': '30' }, 30_000],
  ['milliseconds', { 'retry-after-ms': '2500', 'retry-after': '3' }, 2_500],
  ['more than an hour, which nobody waits for', { 'retry-after': '90000' }, 3_600_000],
])(
  'a rate limit waits as long as the server asks for, in %s, over a restart too',
  async (_unit, headers, waitMs) => {
    const { baseUrl, asked } = await startModelServer(refuses(429, 'slow down', headers), says('now'));
    const file = temporaryFile();
    const clock = createVirtualClock();
    const options = { file, workflows: [one], agents: { worker: agentAt(baseUrl) }, clock };
    const first = await open(options);
    const run = await first.start('one', 'Go', { id: 'r' });
    await until(async () => (await first.read(runSummary, run.id)).calls.failed === 1);
    await first.close();
    const second = await open(options);
    await until(() => clock.waiting > 0);
    clock.advance(waitMs - 1);
    await sleep(30);
    expect(asked).toHaveLength(1);
    clock.advance(1);
    expect(await (await second.run('r')).result()).toMatchObject({ verdict: 'verified' });
    expect(asked).toHaveLength(2);
    await second.close();
    await expectReplays(file, [one]);
  },
);

it('a rate limit without a time waits as its role says', async () => {
  const { baseUrl, asked } = await startModelServer(
    refuses(429, 'slow down'),
    refuses(429, 'slow down'),
    refuses(429, 'slow down'),
  );
  const { verdict, output } = await work(agentAt(baseUrl));
  expect(verdict).toBe('failed');
  expect(output?.reason).toContain('slow down');
  expect(asked).toHaveLength(3);
});

it('a run that is cancelled lets go of the call', async () => {
  const { baseUrl, asked } = await startModelServer(hangs);
  const runtime = await open({
    file: temporaryFile(),
    workflows: [one],
    agents: { worker: agentAt(baseUrl) },
  });
  const run = await runtime.start('one', 'Go');
  await until(() => asked.length === 1);
  await run.cancel({ reason: 'no longer needed' });
  expect((await run.result()).verdict).toBe('cancelled');
  await runtime.close();
});

it('in a tight loop: the developer is given what the review found, and a review is what the reviewer answers', async () => {
  const issue = { severity: 'high', category: 'style', description: 'too long' };
  const developer = await startModelServer(says('a long draft'), says('short'));
  const reviewer = await startModelServer(
    says(JSON.stringify({ passed: false, issues: [issue] })),
    says(JSON.stringify({ passed: true, issues: [] })),
  );
  withKey();
  const runtime = await open({
    file: temporaryFile(),
    workflows: [tightLoop({ onLimit: 'stop' })],
    agents: {
      developer: modelAgentFromDescription({
        model: 'test-model',
        baseUrl: developer.baseUrl,
        apiKeyEnv: VARIABLE,
      }),
      reviewer: modelAgentFromDescription({
        model: 'test-model',
        baseUrl: reviewer.baseUrl,
        output: 'review',
        prompt: 'Review this.',
      }),
      tester: () => ({ passed: true }),
    },
  });
  const { verdict, output } = await (await runtime.start('tight-loop', 'Write a slogan')).result();
  expect(verdict).toBe('verified');
  expect(output).toMatchObject({ iterations: 2, spent: { calls: 5, tokens: 4_800 } });
  expect(developer.asked[1]?.body.messages.at(-1)?.content).toContain('- too long (style)');
  expect(developer.asked[0]?.authorization).toBe(`Bearer ${KEY}`);
  expect(reviewer.asked[0]?.authorization).toBeUndefined();
  expect(reviewer.asked[0]?.body.messages.at(-1)?.content).toMatch(/^Review this\.[^]*a long draft/);
});

it('a description whose variable is not set fails once, and says which', async () => {
  const { baseUrl, asked } = await startModelServer();
  const { verdict, output } = await work(
    modelAgentFromDescription({ model: 'm', baseUrl, apiKeyEnv: 'LOOPWRIGHT_NOT_SET' }),
  );
  expect(verdict).toBe('failed');
  expect(output?.reason).toContain('Check the variable LOOPWRIGHT_NOT_SET');
  expect(asked).toHaveLength(0);
});

it('a JSON Schema is as good as one of a library', async () => {
  const schema = {
    type: 'object',
    properties: { stars: { type: 'integer', minimum: 1, maximum: 5 } },
    required: ['stars'],
    additionalProperties: false,
  } as const;
  const { baseUrl } = await startModelServer(says('{"stars":9}'), says('{"stars":5}'));
  const { output } = await work(modelAgentFromDescription({ model: 'm', baseUrl, output: schema }));
  expect(output).toMatchObject({ outputs: { work: { stars: 5 } }, spent: { calls: 2 } });
});

it('a server that takes no JSON Schema is told it in words, and nothing is written to the console', async () => {
  const written = [vi.spyOn(console, 'info'), vi.spyOn(console, 'warn'), vi.spyOn(console, 'log')];
  const { baseUrl, asked } = await startModelServer(says('{"passed":true,"issues":[]}'));
  const description = { model: 'm', baseUrl, output: 'review', structuredOutputs: false } as const;
  const { output } = await work(modelAgentFromDescription(description));
  expect(output).toMatchObject({ outputs: { work: { passed: true, issues: [] } } });
  expect(asked[0]?.body).toMatchObject({ response_format: { type: 'json_object' } });
  expect(asked[0]?.body.messages[0]?.content).toContain('JSON Schema');
  for (const spy of written) {
    expect(spy).not.toHaveBeenCalled();
    spy.mockRestore();
  }
});

it.each([
  ['no model', () => modelAgent({} as never), 'model'],
  ['an unknown option', () => modelAgent({ model: 'a/b', retries: 3 } as never), 'retries'],
  ['a temperature that is none', () => modelAgent({ model: 'a/b', temperature: -1 }), 'temperature'],
  [
    'both prompt and messages',
    () => modelAgent({ model: 'a/b', prompt: '', messages: () => [] }),
    'messages',
  ],
  ['a price of one side', () => modelAgent({ model: 'a/b', price: { inputUsd: 1 } as never }), 'price'],
  [
    'a description with a key in it',
    () => modelAgentFromDescription({ model: 'm', baseUrl: 'https://x.test', apiKey: KEY } as never),
    'model.',
  ],
  [
    'a base URL that is none',
    () => modelAgentFromDescription({ model: 'm', baseUrl: 'localhost' }),
    'model.baseUrl',
  ],
])('%s is refused when the agent is made', (_what, make, option) => {
  try {
    make();
    expect.unreachable();
  } catch (error) {
    if (!isRuntimeError(error, 'BAD_OPTION')) throw error;
    expect(error.fields.option).toBe(option);
    expect(error.message).not.toContain(KEY);
  }
});
