import { expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { workflow } from '../../src/index.ts';
import { open } from '../support/runtimes.ts';

/** Changes its context in place, which no machine may do. */
const impure = setup({}).createMachine({
  initial: 'a',
  states: {
    a: {
      on: {
        GO: {
          target: 'b',
          actions: assign(({ context }) => {
            context['n'] = 1;
            return {};
          }),
        },
      },
    },
    b: {},
  },
});

// A machine is made ready once in a process: whatever an actor does to its first state must not be seen by another.
it('K1: a machine in several runtimes begins in each as it is declared', async () => {
  for (let time = 0; time < 2; time += 1) {
    const runtime = await open({ file: ':memory:', workflows: [workflow('impure', impure)], agents: {} });
    const run = await runtime.start('impure');
    expect((await run.state()).context).toEqual({});
    await run.send({ type: 'GO' }).catch(() => undefined);
    const { status, context } = await run.state();
    expect([status, context]).toEqual(['failed', {}]);
    await runtime.close();
  }
});
