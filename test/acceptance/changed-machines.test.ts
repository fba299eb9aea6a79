import { describe, expect, it } from 'vitest';
import { type AnyStateMachine, assign, initialTransition, setup, transition } from 'xstate';
import { createRuntime, type RecordedEvent, workflow } from '../../src/index.ts';
import { Random } from '../simulation/random.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { rounds } from '../support/runtimes.ts';

/** A chart as data, so that each part of it can be changed. */
interface Move {
  readonly from: string;
  readonly on: string;
  readonly to: string;
  readonly guard: 'always' | 'below' | 'reached' | 'unlessBelow' | 'unlessReached' | 'never';
  readonly actions: readonly ('add' | 'reset' | 'note')[];
}

interface Chart {
  readonly initial: string;
  readonly limit: number;
  readonly step: number;
  readonly moves: readonly Move[];
}

const STATES = ['idle', 'working', 'checking', 'waiting', 'closed'];
const EVENTS = ['ADD', 'CHECK', 'PASS', 'FAIL', 'AGAIN', 'NOTE'];

const CHART: Chart = {
  initial: 'idle',
  limit: 3,
  step: 1,
  moves: [
    { from: 'idle', on: 'ADD', to: 'working', guard: 'always', actions: ['add'] },
    { from: 'idle', on: 'NOTE', to: 'idle', guard: 'always', actions: ['note'] },
    { from: 'working', on: 'ADD', to: 'working', guard: 'below', actions: ['add'] },
    { from: 'working', on: 'ADD', to: 'waiting', guard: 'reached', actions: [] },
    { from: 'working', on: 'CHECK', to: 'checking', guard: 'always', actions: [] },
    { from: 'checking', on: 'PASS', to: 'closed', guard: 'reached', actions: ['note'] },
    { from: 'checking', on: 'PASS', to: 'idle', guard: 'below', actions: ['add'] },
    { from: 'checking', on: 'FAIL', to: 'working', guard: 'always', actions: ['add'] },
    { from: 'waiting', on: 'AGAIN', to: 'working', guard: 'always', actions: ['reset'] },
    { from: 'waiting', on: 'NOTE', to: 'waiting', guard: 'always', actions: ['note'] },
    { from: 'closed', on: 'AGAIN', to: 'idle', guard: 'always', actions: ['reset'] },
  ],
};

const machineOf = ({ initial, limit, step, moves }: Chart): AnyStateMachine => {
  const on = (state: string) =>
    Object.fromEntries(
      EVENTS.map((event) => [
        event,
        moves
          .filter((move) => move.from === state && move.on === event)
          .map(({ to, guard, actions }) => ({ target: to, guard, actions, reenter: true })),
      ]).filter(([, found]) => found?.length !== 0),
    );
  return setup({
    types: { context: {} as { count: number; notes: number } },
    guards: {
      always: () => true,
      never: () => false,
      below: ({ context }) => context.count < limit,
      reached: ({ context }) => context.count >= limit,
      unlessBelow: ({ context }) => !(context.count < limit),
      unlessReached: ({ context }) => !(context.count >= limit),
    },
    actions: {
      add: assign({ count: ({ context }) => context.count + step }),
      reset: assign({ count: 0 }),
      note: assign({ notes: ({ context }) => context.notes + 1 }),
    },
  }).createMachine({
    context: { count: 0, notes: 0 },
    initial,
    states: Object.fromEntries(STATES.map((state) => [state, { on: on(state) }])),
  } as never) as unknown as AnyStateMachine; // It is put together from data, of which the types know nothing.
};

const NEGATED: Readonly<Record<Move['guard'], Move['guard']>> = {
  always: 'never',
  never: 'always',
  below: 'unlessBelow',
  reached: 'unlessReached',
  unlessBelow: 'below',
  unlessReached: 'reached',
};

/** The chart with one thing changed: a state, a transition, a guard, a limit, an action. */
const mutantsOf = (chart: Chart): readonly (readonly [what: string, mutant: Chart])[] => {
  const withMove = (index: number, move: Move | undefined): Chart => ({
    ...chart,
    moves: chart.moves.flatMap((each, at) => (at === index ? (move ? [move] : []) : [each])),
  });
  const ofMoves = chart.moves.flatMap((move, index) => {
    const name = `${move.from} ${move.on} ${move.to}`;
    return [
      [`${name}: taken out`, withMove(index, undefined)] as const,
      ...STATES.filter((state) => state !== move.to).map(
        (to) => [`${name}: to ${to}`, withMove(index, { ...move, to })] as const,
      ),
      [`${name}: negated`, withMove(index, { ...move, guard: NEGATED[move.guard] })] as const,
      ...(['add', 'reset'] as const).map((action) => {
        const actions = move.actions.includes(action)
          ? move.actions.filter((each) => each !== action)
          : [...move.actions, action];
        return [`${name}: ${action}`, withMove(index, { ...move, actions })] as const;
      }),
    ];
  });
  return [
    ...ofMoves,
    ...[1, 2, 4, 5].map((limit) => [`limit ${limit}`, { ...chart, limit }] as const),
    ...[0, 2].map((step) => [`step ${step}`, { ...chart, step }] as const),
    ...STATES.slice(1).map((initial) => [`begins ${initial}`, { ...chart, initial }] as const),
  ];
};

/** Where a machine leaves the way that the log tells of, by XState alone. */
const firstDifference = (machine: AnyStateMachine, rows: readonly RecordedEvent[]): number | undefined => {
  let [snapshot] = initialTransition(machine);
  for (const { type, kind, position, state } of rows) {
    if (kind === 'message') [snapshot] = transition(machine, snapshot, { type });
    else if (kind !== 'started') continue;
    if (JSON.stringify(snapshot.value) !== JSON.stringify(state)) return position;
  }
  return undefined;
};

const chartOf = (chart: Chart) => workflow('chart', machineOf(chart));

const record = async (seed: number): Promise<{ file: string; rows: readonly RecordedEvent[] }> => {
  const file = temporaryFile();
  const random = new Random(seed);
  const runtime = await createRuntime({ file, workflows: [chartOf(CHART)], agents: {} });
  const run = await runtime.start('chart', null, { id: 'r' });
  for (let left = 60; left > 0; left -= 1) await run.send({ type: random.pick(EVENTS) ?? 'ADD' });
  const rows = await runtime.audit({ run: 'r', limit: Number.POSITIVE_INFINITY });
  await runtime.close();
  return { file, rows };
};

const LOGS = rounds(1, 4);

// Method: a chart is changed in every way there is, one at a time, under the same version, and meets a log of the original. XState
// alone says where the changed one leaves the way: there, and nowhere else, must the replay say so.
describe('G11: a machine that was changed without a new version', () => {
  it('G11: is found at the first event that it handles differently, whatever was changed', async () => {
    let found = 0;
    let harmless = 0;
    for (let seed = 1; seed <= LOGS; seed += 1) {
      const { file, rows } = await record(seed);
      for (const [what, mutant] of mutantsOf(CHART)) {
        const runtime = await createRuntime({ file, workflows: [chartOf(mutant)], agents: {}, idle: true });
        const { log, replay } = await runtime.verify();
        await runtime.close();
        const position = firstDifference(machineOf(mutant), rows);
        expect([what, log.ok, replay.ok, replay.problem?.position]).toEqual([
          what,
          true,
          position === undefined,
          position,
        ]);
        if (position === undefined) harmless += 1;
        else found += 1;
      }
    }
    expect(found).toBeGreaterThanOrEqual(rounds(30, 200));
    // One that leads to the same states is none that anybody could find.
    expect(harmless).toBeGreaterThan(0);
  });
});
