import { describe, expect, it } from 'vitest';
import { type ShippedLoop, shippedLoops, treesOf } from '../../bench/shipped-loops.ts';
import { createRuntime, type Workflow, type WorstCase } from '../../src/index.ts';
import { rounds } from '../support/runtimes.ts';

const prove = async ({ workflow, workflows = [], input, options = {} }: ShippedLoop): Promise<WorstCase> => {
  const all: readonly Workflow[] = [workflow, ...workflows];
  const runtime = await createRuntime({ file: ':memory:', workflows: all, agents: {}, idle: true });
  try {
    return await runtime.worstCase(workflow.name, input, options);
  } finally {
    await runtime.close();
  }
};

/** Requests to agents, calls with retries, turns: what is proved with the limits that a loop has unless others are set. */
const BOUNDS: Readonly<Record<string, readonly [requests: number, calls: number, turns: number]>> = {
  tight: [15, 45, 120],
  repeat: [10, 30, 80],
  'feedback: technical_infeasibility': [8, 24, 64],
  'feedback: constraint_violation': [14, 42, 112],
  'feedback: missing_requirement': [14, 42, 112],
  'feedback: quality_gate': [8, 24, 64],
  'feedback: a type of our own': [8, 24, 64],
  'feedback: inconsistency, between two': [24, 72, 192],
  refinement: [25, 51, 136],
  'seven phases, what runs again makes something new': [29, 87, 232],
  'tree ()': [3, 9, 24],
  'tree (())': [18, 54, 144],
  'tree (()())': [45, 135, 360],
  'tree ((()))': [51, 153, 408],
  'tree (()()())': [84, 252, 672],
  'tree ((())())': [90, 270, 720],
  'tree ((()()))': [108, 324, 864],
  'tree (((())))': [108, 324, 864],
  'tree (()()()())': [135, 405, 1_080],
  'tree ((())()())': [111, 333, 888],
  'tree ((()())())': [99, 297, 792],
  'tree ((())(()))': [87, 261, 696],
  'tree (((()))())': [87, 261, 696],
  'tree ((()()()))': [99, 297, 792],
  'tree (((())()))': [81, 243, 648],
  'tree (((()())))': [75, 225, 600],
  'tree ((((()))))': [63, 189, 504],
  'a plan in a plan': [60, 180, 480],
  'stories and a tight loop in a plan': [106, 294, 784],
  'every kind of loop in a plan': [147, 417, 1112],
};

/** What takes longest is proved before a release, and by `npm run bench`; some of it always. */
const LONG = new Set([
  'tree ((())())',
  'tree ((()()))',
  'tree (((())))',
  'tree (()()()())',
  'tree ((())()())',
  'tree ((()())())',
  'tree ((())(()))',
  'tree (((()))())',
  'tree ((()()()))',
  'tree (((())()))',
  'every kind of loop in a plan',
]);

/** What is proved quickly even so; before a release all but trees of 5 nodes, of which only these. */
const THOROUGHLY = new Set([
  'tight',
  'repeat',
  'feedback: technical_infeasibility',
  'refinement',
  'tree (())',
  'tree ((((()))))',
]);

const isOfFive = (name: string): boolean => /^tree [()]{10}$/.test(name);

const isThorough = ({ name }: ShippedLoop): boolean =>
  THOROUGHLY.has(name) || (rounds(0, 1) === 1 && !isOfFive(name));

const LOOPS = shippedLoops(5).filter(({ name }) => rounds(0, 1) === 1 || !LONG.has(name));

describe('every loop, with the limits that it has unless others are set', () => {
  it('the trees are all that there are', () => {
    expect([1, 2, 3, 4, 5].map((size) => treesOf(size).length)).toEqual([1, 1, 2, 4, 9]);
  });

  it.each(LOOPS.map((loop) => [loop.name, loop] as const))(
    'K5, X8: %s ends or asks a person, whatever its agents do',
    async (name, loop) => {
      const proof = await prove(loop);
      console.log(`${name} (${proof.states} states): ${proof.text}`);
      expect([proof.result, proof.problem, proof.deadEnds]).toEqual(['proved', null, []]);
      expect(proof.verdicts).toContain('verified');
      expect(proof.mayAsk).toBe(true);
      expect([proof.requests, proof.calls, proof.turns]).toEqual(BOUNDS[name]);
    },
  );

  it.each(
    shippedLoops(5)
      .filter(isThorough)
      .map((loop) => [loop.name, loop] as const),
  )('K5, X8: %s has the same bounds if every shortcut is checked everywhere', async (name, loop) => {
    const { result, problem, requests, calls, turns } = await prove({
      ...loop,
      options: { ...loop.options, thorough: true },
    });
    expect([result, problem, requests, calls, turns]).toEqual(['proved', null, ...(BOUNDS[name] ?? [])]);
  });

  it('K5, X4: the most that a loop costs follows from what a call of each agent costs', async () => {
    const [tight] = shippedLoops(0);
    if (!tight) throw new Error('There is a tight loop.');
    const free = await prove(tight);
    expect(Object.keys(free)).not.toContain('costUsd');
    const costUsd = { developer: 2, reviewer: 0.5 };
    const paid = await prove({ ...tight, options: { costUsd } });
    // Five passes, each with three attempts of everyone.
    expect(paid.costUsd).toBe(5 * 3 * 2.5);
    expect(paid.text).toContain('for at most $37.50');
  });

  it('K5: states that nobody comes to without a person are named', async () => {
    const [tight] = shippedLoops(0);
    if (!tight) throw new Error('There is a tight loop.');
    const { unreachable } = await prove(tight);
    // It asks at its limits, so that no run of it ends otherwise without a person.
    expect(unreachable['tight-loop']).toEqual(
      expect.arrayContaining(['accepted', 'cancelled', 'exhausted', 'stalled']),
    );
    expect(unreachable['tight-loop']).not.toContain('verified');
    expect(unreachable['lw.agent']).toEqual(expect.arrayContaining(['paused.resting', 'paused.holding']));
    expect(unreachable['lw.agent']).not.toContain('working.running');
  });
});
