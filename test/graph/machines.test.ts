import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { temporaryFile } from '../store/temporary-directory.ts';
import { play } from './play.ts';
import { nameOf, type Report, reportOn } from './report.ts';
import { SCENES } from './scenes.ts';
import { UNCOVERED } from './uncovered.ts';
import { type Walked, walk } from './walk.ts';

// Each machine that comes with the package is put into small scenes, in which everything that may happen is tried by @xstate/graph.
// What it comes to is written down in expected.json (scripts/record-graphs.mjs writes it anew), and the shortest way to each state is
// played to a real runtime on a file.

const EXPECTED = JSON.parse(readFileSync(new URL('expected.json', import.meta.url), 'utf8')) as Readonly<
  Record<string, Report>
>;

const MACHINES = [...new Set(SCENES.map(({ machine }) => machine))];

/** What all scenes of a machine have found together. */
const missingOf = (walked: readonly Walked[]): readonly string[] => {
  const all = new Set(walked.flatMap((each) => [...each.all.states, ...each.all.transitions]));
  for (const { taken } of walked)
    for (const name of [...taken.states, ...taken.transitions]) all.delete(name);
  return [...all].sort();
};

describe('the graph of each machine', () => {
  it('X8: every machine that comes with the package is in some scene, and nothing else is written down', () => {
    expect(Object.keys(EXPECTED).sort()).toEqual(SCENES.map(nameOf).sort());
    expect(Object.keys(UNCOVERED).every((machine) => MACHINES.includes(machine))).toBe(true);
  });

  for (const machine of MACHINES) {
    it(`X8: of "${machine}" is as written down, and the shortest way to each state leads there in the runtime, too`, async () => {
      const walked = SCENES.filter((scene) => scene.machine === machine).map(walk);
      for (const each of walked)
        expect(reportOn(each), nameOf(each.scene)).toEqual(EXPECTED[nameOf(each.scene)]);
      // Whatever is not taken is on the list, and whatever is on the list is not taken.
      expect(missingOf(walked)).toEqual(Object.keys(UNCOVERED[machine] ?? {}).sort());
      const played = new Set<string>();
      for (const each of walked.filter(({ scene }) => scene.unplayed === undefined))
        for (const way of each.ways()) {
          if (played.has(way.state)) continue;
          played.add(way.state);
          await play(each.scene, way, temporaryFile());
        }
      const reached = new Set(walked.flatMap(({ rests }) => Object.keys(rests)));
      const unplayed = walked.flatMap(({ scene, rests }) =>
        scene.unplayed === undefined ? [] : Object.keys(rests),
      );
      for (const state of reached) expect(played.has(state) || unplayed.includes(state), state).toBe(true);
    });
  }
});
