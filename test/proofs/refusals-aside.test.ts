import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nodesOf } from '../../bench/shipped-loops.ts';
import { treeRun, type Workflow } from '../../src/index.ts';
import type { TreeRunInput } from '../../src/machines/tree-state.ts';
import { longestOf } from '../../src/proofs/choices.ts';
import type { ExploredSystem } from '../../src/proofs/explored-system.ts';
import { askedAgain, refusedInPlace } from '../../src/proofs/refusals-aside.ts';
import { settled } from '../../src/proofs/rounds-aside.ts';
import { outcomesInTree } from '../../src/proofs/tree-outcomes.ts';
import { rounds } from '../support/runtimes.ts';
import { explorationOf } from './begun.ts';

const TREES = [[0], [0, 0], [0, 1], [0, 0, 1], [0, 1, 1], [0, 1, 2], [0, 0, 1, 1], [0, 1, 1, 2]];

/** A tree run that has just begun, and what drives it. */
const begun = (parents: readonly number[]) => {
  const workflow = treeRun('tree', { nodes: nodesOf(parents) }) as Workflow;
  const prepared = workflow.options.prepare?.({ task: null });
  const exploration = explorationOf(workflow, outcomesInTree(prepared as TreeRunInput));
  return { ...exploration, system: exploration.start() };
};

type Begun = ReturnType<typeof begun>;

/** What an agent may do, and what comes of each, as if no round had been used. */
const choicesIn = ({ own, stepper }: Begun, system: ExploredSystem, agent: string) =>
  longestOf(own.placesOf(system, agent)).flatMap(({ place, possible, label }) => {
    if (!possible) return [];
    const { system: after } = stepper.step(system.withPart(place), possible);
    return [{ label, after: settled(after, { pairs: [], used: 0 })?.system ?? after }];
  });

// Method: agents do whatever they like, and in every state that this leads to each is refused once more. What the rules of the tree tell of
// that beforehand must be what comes of it.
describe('an agent that is refused', () => {
  it('K5: is asked again at once, with all else as it was, wherever that is foretold', () => {
    const seen = { foretold: 0, back: 0, elsewhere: 0 };
    const walk = fc.record({
      parents: fc.constantFrom(...TREES),
      picks: fc.array(fc.nat(), { minLength: 20, maxLength: 40 }),
    });
    fc.assert(
      fc.property(walk, ({ parents, picks }) => {
        const tree = begun(parents);
        let { system } = tree;
        for (const pick of picks) {
          const next: ExploredSystem[] = [];
          for (const agent of system.open.keys()) {
            const times = refusedInPlace(system, agent)?.times;
            for (const { label, after } of choicesIn(tree, system, agent)) {
              if (!label.endsWith('reports what cannot be taken')) {
                next.push(after);
                continue;
              }
              const again = askedAgain(system, after);
              const isBack = again !== undefined && tree.keys.keyOf(again.after) === tree.keys.keyOf(system);
              if (times !== undefined) expect([isBack, again?.times]).toEqual([true, times]);
              seen[times !== undefined ? 'foretold' : isBack ? 'back' : 'elsewhere'] += 1;
              if (again) next.push(again.after);
            }
          }
          const chosen = next[pick % next.length];
          if (!chosen || chosen.verdict() !== null) break;
          system = chosen;
        }
      }),
      { numRuns: rounds(60, 2_000) },
    );
    // Most of those that are asked again at once are foretold, and there are others: how many is up to chance.
    expect(seen.foretold).toBeGreaterThan(seen.back);
    expect(seen.elsewhere).toBeGreaterThan(0);
  });
});
