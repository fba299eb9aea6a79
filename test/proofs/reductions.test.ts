import { describe, expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { agentCall, planRun, workflow } from '../../src/index.ts';
import { open } from '../support/runtimes.ts';

/** What the first answer was decides, much later, whether it ends: a guard sees what the states do not show. */
const forked = setup({
  types: { context: {} as { isOdd: boolean; noise: number } },
  actors: { worker: agentCall<null, string>() },
}).createMachine({
  context: { isOdd: false, noise: 0 },
  initial: 'first',
  states: {
    first: {
      invoke: {
        src: 'worker',
        input: () => null,
        onDone: {
          target: 'second',
          actions: assign({ isOdd: ({ event }) => event.output === 'odd', noise: 1 }),
        },
        onError: 'end',
      },
    },
    second: {
      invoke: {
        src: 'worker',
        input: () => null,
        onDone: [{ guard: ({ context }) => context.isOdd, target: 'endless' }, { target: 'end' }],
        onError: 'end',
      },
    },
    endless: {
      invoke: {
        src: 'worker',
        input: () => null,
        onDone: { target: 'endless', reenter: true },
        onError: 'end',
      },
    },
    end: { type: 'final' },
  },
});

const outcomes = () => [
  { name: 'even', output: 'even' },
  { name: 'odd', output: 'odd' },
];

/** So many answers, each odd or even, and once an odd one keeps it from ending: what its reduction drops matters in one state of all. */
const LEVELS = 100;
const ODD_MATTERS_AT = 71;

const ladder = setup({
  types: { context: {} as { level: number; isOdd: boolean } },
  actors: { worker: agentCall<null, string>() },
}).createMachine({
  context: { level: 0, isOdd: false },
  initial: 'climbing',
  states: {
    climbing: {
      always: { guard: ({ context }) => context.level === LEVELS, target: 'end' },
      invoke: {
        src: 'worker',
        input: () => null,
        onDone: [
          {
            guard: ({ context }) => context.level === ODD_MATTERS_AT && context.isOdd,
            target: 'climbing',
            reenter: true,
          },
          {
            target: 'climbing',
            reenter: true,
            actions: assign({
              level: ({ context }) => context.level + 1,
              isOdd: ({ event }) => event.output === 'odd',
            }),
          },
        ],
        onError: 'end',
      },
    },
    end: { type: 'final' },
  },
});

const ONCE = { attempts: 1 };

describe('the reductions of an exploration', () => {
  it('X4: one that loses what a guard sees is noticed: nothing is proved with it', async () => {
    const runtime = await open({
      file: ':memory:',
      workflows: [workflow('forked', forked)],
      agents: { worker: () => 'even' },
    });
    const wrong = await runtime.worstCase('forked', null, { outcomes, reduce: { forked: () => null } });
    expect(wrong).toMatchObject({ result: 'inconclusive', calls: null, turns: null });
    expect(wrong.problem).toContain('a reduction loses what a guard sees');
    // Control: one that keeps it shows the endless way, and so does none at all.
    const isOdd = (context: unknown) => (context as { isOdd: boolean }).isOdd;
    for (const reduce of [{ forked: isOdd }, {}]) {
      const right = await runtime.worstCase('forked', null, { outcomes, reduce });
      expect(right.result).toBe('not proved');
      expect(right.endless?.cycle).toHaveLength(1);
    }
  });

  it('X4: one that loses something in one state of all is noticed if all are compared, as they are unless told otherwise', async () => {
    const runtime = await open({
      file: ':memory:',
      workflows: [workflow('ladder', ladder)],
      agents: { worker: () => 'even' },
    });
    const reduce = { ladder: (context: unknown) => (context as { level: number }).level };
    const prove = (options: { thorough?: boolean }) =>
      runtime.worstCase('ladder', null, { outcomes, reduce, ...options });
    expect(await prove({})).toMatchObject({ result: 'inconclusive', calls: null });
    expect(await prove({ thorough: true })).toMatchObject({ result: 'inconclusive', calls: null });
    // Control: samples are compared, and this is in none of them.
    expect(await prove({ thorough: false })).toMatchObject({ result: 'proved', calls: LEVELS });
  });

  // While the first step is made anew, one after it may be at work on what there was before, or on what there is now.
  it('X4: tell what a step is made from while what it needs is made anew', async () => {
    const plan = planRun('plan', {
      steps: [
        { id: 'first' },
        { id: 'second', needs: ['first'] },
        { id: 'gate', needs: ['first'], gate: { reviewers: ['reviewer'], corrects: 'first' } },
        { id: 'third', needs: ['second'] },
      ],
      roles: { first: ONCE, second: ONCE, third: ONCE, reviewer: ONCE },
      limits: { passes: 2 },
      onLimit: 'stop',
    });
    const none = async () => null;
    const agents = { first: none, second: none, third: none, reviewer: none };
    const runtime = await open({ file: ':memory:', workflows: [plan], agents });
    expect(await runtime.worstCase('plan', 'a task')).toMatchObject({ result: 'proved', calls: 8 });
  });
});
