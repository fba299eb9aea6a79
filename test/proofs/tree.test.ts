import { describe, expect, it } from 'vitest';
import { nodesOf, treesOf } from '../../bench/shipped-loops.ts';
import {
  type AgentOutcome,
  type GivenLimits,
  type GivenNode,
  type Json,
  type JsonObject,
  treeRun,
  type WorstCase,
} from '../../src/index.ts';
import { freshArtifact } from '../../src/proofs/reduce.ts';
import { never } from '../support/draft-plan.ts';
import { open, rounds } from '../support/runtimes.ts';

const item = (from: string, to: string | null, kind: string): Json => ({
  from_node: from,
  to_node: to,
  feedback_type: kind,
  message: 'm',
  suggested_fix: 'f',
  suggested_action: 'a',
  priority: 'high',
});

const MAKES: AgentOutcome = { name: 'makes', output: ({ nth }) => freshArtifact(nth) };
const FAILS: AgentOutcome = { name: 'fails', fails: true };
const NONSENSE: AgentOutcome = { name: 'talks nonsense', output: null, feedback: [{ from_node: 7 }] };
const reports = (from: string, to: string, kind = 'FIX_REQUEST'): AgentOutcome => ({
  name: `reports ${kind}`,
  output: { passed: false },
  feedback: [item(from, to, kind)],
});

interface Proved {
  readonly nodes: readonly GivenNode[];
  readonly outcomes: (node: GivenNode) => readonly AgentOutcome[];
  readonly limits?: GivenLimits;
  readonly onLimit?: 'ask' | 'stop';
}

const prove = async ({ nodes, outcomes, limits = {}, onLimit = 'ask' }: Proved): Promise<WorstCase> => {
  const roles = Object.fromEntries(nodes.map(({ id }) => [id, { attempts: 1 }]));
  const tree = treeRun('tree', { nodes, limits, roles, onLimit });
  const agents = Object.fromEntries(nodes.map(({ id }) => [id, never]));
  const runtime = await open({ file: ':memory:', workflows: [tree], agents });
  const proof = await runtime.worstCase(
    'tree',
    { task: null },
    {
      outcomes: (agent) => outcomes(nodes.find(({ id }) => id === agent) ?? { id: agent }),
      statesMax: rounds(40_000, 1_000_000),
    },
  );
  await runtime.close();
  return proof;
};

/** Makes something new, asks the node above for a fix, or fails. */
const working = ({ id, parent }: GivenNode): readonly AgentOutcome[] => [
  MAKES,
  ...(parent == null ? [] : [reports(id, parent)]),
  FAILS,
];

describe('every tree', () => {
  it('C5, C8, K5: of up to 3 nodes ends within its limits, or waits for a person, whatever its agents do', async () => {
    expect([1, 2, 3].map((size) => treesOf(size).length)).toEqual([1, 1, 2]);
    for (const onLimit of ['ask', 'stop'] as const) {
      const sizes = onLimit === 'ask' ? [1, 2, 3] : [1, 2, ...(rounds(0, 1) === 1 ? [3] : [])];
      for (const parents of sizes.flatMap(treesOf)) {
        const isSmall = parents.length < rounds(2, 3);
        const outcomes = (node: GivenNode) => [...working(node), ...(isSmall ? [NONSENSE] : [])];
        const proof = await prove({ nodes: nodesOf(parents), outcomes, onLimit });
        expect(proof).toMatchObject({ result: 'proved', deadEnds: [], problem: null });
        expect(proof.mayAsk).toBe(onLimit === 'ask');
        // Nothing that looks like a standstill is among the ends.
        if (onLimit === 'stop') expect(proof.verdicts).not.toContain('stalled');
      }
    }
  });

  it('C5, C8, K5: of 4 and 5 nodes, too', async () => {
    expect([4, 5].map((size) => treesOf(size).length)).toEqual([4, 9]);
    for (const parents of [4, 5].flatMap(treesOf)) {
      // Each feedback more multiplies the states by about ten.
      const isLarge = parents.length === 4 && rounds(1, 0) === 1;
      const limits = { feedbacks: rounds(1, 2), pairRounds: rounds(1, 2) };
      const outcomes = (node: GivenNode) => working(node).filter((outcome) => !isLarge || outcome !== FAILS);
      const proof = await prove({ nodes: nodesOf(parents), outcomes, limits });
      expect(proof).toMatchObject({ result: 'proved', deadEnds: [], problem: null, verdicts: ['verified'] });
    }
  });

  it('C6, K5: a chain of 5 nodes in which each may ask the one above ends, or waits for a person', async () => {
    const proof = await prove({
      nodes: nodesOf([0, 1, 2, 3]),
      outcomes: working,
      limits: { pairRounds: rounds(1, 2) },
    });
    expect(proof).toMatchObject({ result: 'proved', deadEnds: [], verdicts: ['verified'], mayAsk: true });
  });

  it('C12, C13, C17, K5: with a planner that adds, moves and removes nodes', async () => {
    const nodes = [
      { id: 'n0', plans: true },
      { id: 'n1', parent: 'n0' },
    ];
    const plans = (name: string, plan: Json): AgentOutcome => ({
      name,
      output: ({ nth }) => ({ ...(freshArtifact(nth) as JsonObject), plan }),
    });
    const outcomes = ({ id }: GivenNode): readonly AgentOutcome[] =>
      id === 'n0'
        ? [
            MAKES,
            plans('adds', { add: [{ id: 'n2', agent: 'n1' }] }),
            plans('moves', {
              nodes: [
                { id: 'n2', agent: 'n1' },
                { id: 'n1', parent: 'n2' },
              ],
            }),
            plans('removes', { nodes: [{ id: 'n2', agent: 'n1' }] }),
            plans('is confused', { add: 'n3' }),
          ]
        : [MAKES, reports(id, 'n0', 'DEPENDENCY_MISSING'), reports(id, 'n0', 'ARCHITECTURE_ISSUE'), FAILS];
    const proof = await prove({ nodes, outcomes, limits: { replans: 2, feedbacks: 3 } });
    expect(proof).toMatchObject({ result: 'proved', deadEnds: [], problem: null, mayAsk: true });
    expect(proof.states).toBeGreaterThan(50);
  });
});
