import { describe, expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { createRuntime, workflow } from '../src/index.ts';
import { temporaryFile } from './store/temporary-directory.ts';
import { compareLog } from './support/compared-logs.ts';
import { tally } from './support/machines.ts';

/** A machine that does not do the same twice: what it counts is not in its context alone. */
const forgetful = () => {
  let count = 0;
  return workflow(
    'forgetful',
    setup({
      types: { context: {} as { count: number }, events: {} as { type: 'GO' } },
      actions: {
        count: assign(() => {
          count += 1;
          return { count };
        }),
      },
    }).createMachine({
      context: { count: 0 },
      initial: 'low',
      states: {
        low: {
          on: { GO: { actions: 'count' } },
          always: { guard: ({ context }) => context.count > 1, target: 'high' },
        },
        high: {},
      },
    }),
  );
};

describe('every log of every test is lived once more', () => {
  it('and passes with the machines that wrote it', async () => {
    const file = temporaryFile();
    const runtime = await createRuntime({ file, workflows: [tally], agents: {} });
    await (await runtime.start('tally')).send({ type: 'ADD', value: 1 });
    await runtime.close();
    await compareLog(file, () => createRuntime({ file, workflows: [tally], agents: {}, readOnly: true }));
  });

  it.fails('control: a file whose machine does not do the same again fails its test', async () => {
    const runtime = await createRuntime({ file: temporaryFile(), workflows: [forgetful()], agents: {} });
    await (await runtime.start('forgetful')).send({ type: 'GO' });
    await runtime.close();
  });

  it('control: a log in memory whose machine does not do the same again fails its test', async () => {
    const runtime = await createRuntime({ file: ':memory:', workflows: [forgetful()], agents: {} });
    await (await runtime.start('forgetful')).send({ type: 'GO' });
    await expect(runtime.close()).rejects.toThrow('live otherwise');
  });
});
