import { agentCall, createRuntime, workflow } from 'loopwright';
import { describe, expect, test } from 'vitest';
import { setup } from 'xstate';
import type { EventLog } from '../../src/store/event-log.ts';
import { createMemoryLog } from '../../src/store/memory/memory-log.ts';

describe('a turn that cannot be written', () => {
  const answering = workflow(
    'answering',
    setup({
      types: { context: {} as { name: string }, input: {} as { name: string } },
      actors: { work: agentCall<{ name: string }, string>() },
    }).createMachine({
      context: ({ input }) => input,
      initial: 'working',
      states: {
        working: {
          invoke: { src: 'work', input: ({ context }) => context, onDone: 'done', onError: 'done' },
        },
        done: { type: 'final' },
      },
    }),
  );

  test('the others of its batch are written, and it is not tried for ever', async () => {
    const log = createMemoryLog();
    let refusals = 0;
    // As a fault of ours would: not an error that the runtime knows.
    const refusing = new Proxy(log, {
      get(target, key) {
        const found: unknown = Reflect.get(target, key);
        if (key !== 'commit') return typeof found === 'function' ? found.bind(target) : found;
        return async (batch: Parameters<EventLog['commit']>[0]) => {
          if (JSON.stringify(batch.turns).includes('poison')) {
            refusals += 1;
            throw new TypeError('a value that the log cannot take');
          }
          return target.commit(batch);
        };
      },
    });
    const warnings: string[] = [];
    const runtime = await createRuntime({
      file: 'not-used.db',
      log: refusing,
      workflows: [answering],
      agents: { work: async ({ input }) => (input.name === 'r3' ? 'poison' : 'fine') },
      onWarning: (warning) => warnings.push(warning),
    });
    const runs = await Promise.all(
      ['r1', 'r2', 'r3', 'r4', 'r5'].map((name) => runtime.start('answering', { name }, { id: name })),
    );
    const others = runs.filter(({ id }) => id !== 'r3');
    await Promise.all(others.map((run) => run.result()));
    // The host's own calls are told.
    await expect(runtime.start('answering', { name: 'poison' })).rejects.toThrow(/cannot take/);
    expect((await runtime.start('answering', { name: 'r6' }).then((run) => run.result())).verdict).toBe(
      'verified',
    );
    const settled = refusals;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(refusals).toBe(settled);
    expect(warnings.filter((warning) => warning.includes('cannot be written'))).not.toHaveLength(0);
    // Its call is open still: a runtime that can write it takes it up.
    expect((await runtime.runs({ status: 'open' })).map(({ id }) => id)).toEqual(['r3']);
    await runtime.close();
  });
});
