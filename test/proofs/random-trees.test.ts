import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodesOf } from '../../bench/shipped-loops.ts';
import { treeRun, type Workflow, type WorstCase, type WorstCaseOptions } from '../../src/index.ts';
import { open, rounds } from '../support/runtimes.ts';

const aTree = fc.record({
  parents: fc.constantFrom<readonly number[]>([], [0], [0, 0], [0, 1]),
  attempts: fc.array(fc.constantFrom(1, 1, 2), { minLength: 3, maxLength: 3 }),
  hasTimeLimit: fc.boolean(),
  isShared: fc.boolean(),
  onLimit: fc.constantFrom('ask' as const, 'stop' as const),
  pairRounds: fc.constantFrom(1, 2),
  calls: fc.option(fc.integer({ min: 2, max: 12 }), { nil: undefined }),
});

type Tree = typeof aTree extends fc.Arbitrary<infer Value> ? Value : never;

const SMALL: Tree = {
  parents: [0],
  attempts: [1, 1, 1],
  hasTimeLimit: false,
  isShared: true,
  onLimit: 'stop',
  pairRounds: 1,
  calls: 6,
};

const treeOf = (given: Tree): Workflow => {
  const { parents, attempts, hasTimeLimit, isShared, onLimit, pairRounds, calls } = given;
  const nodes = nodesOf(parents).map((node, index) => ({
    ...node,
    // The first and the last have one agent.
    agent: isShared && index === parents.length ? 'n0' : node.id,
  }));
  const roles = Object.fromEntries(
    nodes.map(({ agent }, index) => [
      agent,
      { attempts: attempts[index] ?? 1, ...(hasTimeLimit && { timeLimitMs: 1_000 }) },
    ]),
  );
  const limits = { pairRounds, ...(calls !== undefined && { calls }) };
  return treeRun('tree', { nodes, roles, onLimit, limits }) as Workflow;
};

const prove = async (workflow: Workflow, options: WorstCaseOptions): Promise<WorstCase> => {
  const runtime = await open({ file: ':memory:', workflows: [workflow], agents: {}, idle: true });
  const proof = await runtime.worstCase('tree', { task: null }, options);
  await runtime.close();
  return proof;
};

const boundsOf = ({ turns, calls, requests, callsByAgent }: WorstCase) => ({
  turns: turns ?? 0,
  calls: calls ?? 0,
  requests: requests ?? 0,
  ...callsByAgent,
});

// Method: trees of all sorts, proved with every shortcut and with none. What is told with shortcuts may be more than it takes, and is never less.
describe('trees made at random', () => {
  it('K5: are never told to take less than they do, and end no otherwise', async () => {
    let compared = 0;
    await fc.assert(
      fc.asyncProperty(aTree, async (given) => {
        const workflow = treeOf(given);
        const plain = await prove(workflow, { summaries: false, statesMax: rounds(800, 6_000) });
        if (plain.result === 'inconclusive') return;
        compared += 1;
        const usual = await prove(workflow, {});
        expect(usual.result).toBe(plain.result);
        expect([usual.mayAsk, usual.verdicts]).toEqual([plain.mayAsk, plain.verdicts]);
        const told = boundsOf(usual);
        const less = Object.entries(boundsOf(plain)).filter(
          ([name, most]) => !((told[name as never] ?? 0) >= most),
        );
        expect(less).toEqual([]);
      }),
      // Always the same few, and others before a release: each may take seconds.
      { numRuns: rounds(8, 150), examples: [[SMALL]], ...(rounds(0, 1) === 0 && { seed: 11 }) },
    );
    expect(compared).toBeGreaterThan(rounds(0, 60));
  });
});
