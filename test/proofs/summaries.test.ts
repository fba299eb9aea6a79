import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assign, emit, setup } from 'xstate';
import { nodesOf } from '../../bench/shipped-loops.ts';
import {
  type AgentOutcome,
  agentCall,
  createRuntime,
  type GivenLimits,
  planRun,
  startActor,
  storyLoop,
  tightLoop,
  treeRun,
  type Workflow,
  type WorstCase,
  workflow,
} from '../../src/index.ts';
import { rounds } from '../support/runtimes.ts';

interface Explored {
  readonly workflows: readonly [Workflow, ...Workflow[]];
  readonly input?: unknown;
  readonly outcomes?: (agent: string) => readonly AgentOutcome[];
}

const explore = async ({ workflows, input = null, outcomes }: Explored, summaries: boolean) => {
  const runtime = await createRuntime({ file: ':memory:', workflows, agents: {}, idle: true });
  try {
    const statesMax = 50_000;
    return await runtime.worstCase(workflows[0].name, input, {
      summaries,
      statesMax,
      ...(outcomes && { outcomes }),
      costUsd: { developer: 0.5, worker: 2 },
    });
  } finally {
    await runtime.close();
  }
};

/** All that a proof says, but how many states it took. */
const said = ({ endless, ...rest }: WorstCase) => ({
  ...rest,
  isEndless: endless !== null,
  states: null,
  transitions: null,
});

const expectSame = async (explored: Explored): Promise<{ short: WorstCase; long: WorstCase }> => {
  const short = await explore(explored, true);
  const long = await explore(explored, false);
  expect(said(short)).toEqual(said(long));
  return { short, long };
};

const pair = (attempts: number) =>
  planRun('pair', {
    steps: [{ id: 'a' }, { id: 'b' }, { id: 'c', needs: ['a', 'b'] }],
    roles: { a: { attempts }, b: { attempts, timeLimitMs: 1_000 }, c: { attempts } },
  }) as Workflow;

/** A tree whose nodes have agents that are tried once, but for those that are named. */
const tree = (
  parents: readonly number[],
  attempts: Readonly<Record<string, number>>,
  limits: GivenLimits = {},
): Explored => {
  const nodes = nodesOf(parents);
  const roles = Object.fromEntries(nodes.map(({ id }) => [id, { attempts: attempts[id] ?? 1 }]));
  return {
    workflows: [treeRun('t', { nodes, limits: { pairRounds: 1, ...limits }, roles }) as Workflow],
    input: { task: null },
  };
};

describe('what actors do by themselves, as one step', () => {
  it.each<[string, Explored, number]>([
    ['the tight loop', { workflows: [tightLoop() as Workflow], input: 'x' }, 2],
    ['agents side by side, with retries', { workflows: [pair(2)] }, 4],
    [
      'the refinement loop',
      { workflows: [storyLoop('s', { mode: 'auto' }) as Workflow], input: { stories: [{ id: 'a' }] } },
      2,
    ],
    ['a tree', tree([0, 0], { n1: 2 }), 2],
    ['a chain', tree([0, 1], {}), 2],
    ['a tree whose time is limited', tree([0], { n1: 2 }, { timeMs: 60_000 }), 2],
  ])('K5: %s has the same bounds as step by step, in fewer states', async (_, explored, factor) => {
    const { short, long } = await expectSame(explored);
    expect(short.result).toBe('proved');
    expect(short.states * factor).toBeLessThan(long.states);
  });

  it('K5: a call that is called off counts with all that was tried before', async () => {
    // The second of two runs out of time while the first is still at it.
    const racing = planRun('race', {
      steps: [{ id: 'a' }],
      limits: { timeMs: 60_000 },
      onLimit: 'stop',
      roles: { a: { attempts: 3 } },
    }) as Workflow;
    const { short } = await expectSame({ workflows: [racing] });
    expect(short).toMatchObject({ result: 'proved', calls: 3 });
    expect(short.verdicts).toContain('exhausted');
  });

  // Method: a parent starts children that call an agent, with machines made at random; each child tries some times, in one of
  // several shapes, and the parent may stop the others when the first has ended. With summaries and without, the proof says the same.
  it('K5: machines made at random', async () => {
    const results = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            tries: fc.integer({ min: 1, max: 3 }),
            isStuck: fc.boolean(),
            isEndless: fc.boolean(),
          }),
          {
            minLength: 1,
            maxLength: 2,
          },
        ),
        fc.boolean(),
        async (shapes, stopsOthers) => {
          const children = shapes.map((shape, nth) => child(`child-${nth}`, shape));
          const outcomes = () => [
            { name: 'good', output: true },
            { name: 'bad', output: false },
            { name: 'fails', fails: true },
          ];
          const names = children.map(({ name }) => name);
          const { short } = await expectSame({
            workflows: [parent(names, stopsOthers), ...children],
            outcomes,
          });
          results.add(short.result);
        },
      ),
      { numRuns: rounds(16, 300), seed: 7 },
    );
    expect([...results].sort()).toEqual(['not proved', 'proved']);
  });
});

const child = (
  name: string,
  { tries, isStuck, isEndless }: { tries: number; isStuck: boolean; isEndless: boolean },
): Workflow =>
  workflow(
    name,
    setup({
      types: { context: {} as { tries: number } },
      actors: { worker: agentCall<null, boolean>({ announce: true }) },
      guards: { isGood: (_, good: boolean) => good, isOver: ({ context }) => context.tries >= tries },
    }).createMachine({
      context: { tries: 0 },
      initial: 'working',
      states: {
        working: {
          entry: assign({ tries: ({ context }) => (isEndless ? 0 : context.tries + 1) }),
          invoke: {
            src: 'worker',
            input: null,
            onDone: [
              { guard: { type: 'isGood', params: ({ event }) => event.output }, target: 'done' },
              { target: 'deciding' },
            ],
            onError: 'resting',
          },
        },
        resting: { after: { 1_000: 'deciding' } },
        deciding: {
          always: [{ guard: 'isOver', target: isStuck ? 'stuck' : 'done' }, { target: 'working' }],
        },
        stuck: {},
        done: { type: 'final' },
      },
    }),
  ) as Workflow;

/** Ends when all children have told it, or when the first has. */
const parent = (children: readonly string[], stopsOthers: boolean): Workflow =>
  workflow(
    'parent',
    setup({
      types: { context: {} as { ended: number } },
      guards: { isOver: ({ context }) => context.ended >= (stopsOthers ? 1 : children.length) },
    }).createMachine({
      context: { ended: 0 },
      initial: 'waiting',
      entry: children.map((machine) => emit(startActor({ id: machine, machine, input: null }))),
      states: {
        waiting: {
          always: { guard: 'isOver', target: 'done' },
          on: Object.fromEntries(
            children.map((name) => [
              `xstate.done.actor.${name}`,
              {
                actions: assign({
                  ended: ({ context }: { context: { ended: number } }) => context.ended + 1,
                }),
              },
            ]),
          ),
        },
        done: { type: 'final' },
      },
    }),
  ) as Workflow;
