import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { replayLog } from '../../src/actors/replay.ts';
import { importLog, type ReplayReport } from '../../src/index.ts';
import { createLoopWorld } from '../simulation/loop-world.ts';
import { LOOPS } from '../simulation/loops.ts';
import { runSchedule } from '../simulation/schedule.ts';
import { temporaryDirectory } from '../store/temporary-directory.ts';
import { type GoldenLoop, goldenFile, loopRegistry } from '../support/golden-loops.ts';
import { rounds } from '../support/runtimes.ts';
import { withoutWorld } from '../support/without-world.ts';
import { startWorker } from '../support/worker-process.ts';

const GOLDEN = join(import.meta.dirname, '../golden/loops');
const golden = JSON.parse(readFileSync(join(GOLDEN, 'index.json'), 'utf8')) as readonly GoldenLoop[]; // Its own words.
const linesOf = (name: string): readonly string[] =>
  readFileSync(join(GOLDEN, goldenFile(name)), 'utf8')
    .trim()
    .split('\n');

interface Said {
  readonly name: string;
  readonly zone: string;
  readonly log: boolean;
  readonly replay: ReplayReport;
  readonly again: ReplayReport;
}

describe('G10: what was recorded of every shipped loop', () => {
  it('G10, G22: there is a log of each', () => {
    expect(golden.map(({ name }) => name)).toEqual(LOOPS.map(({ name }) => name));
  });

  // Method: logs that are kept in the repository are imported, and lived again in processes of other zones and languages, which have no
  // clock, no randomness and no ids.
  it('G10, G22: comes to the same states, byte for byte, twice, and elsewhere', async () => {
    const folder = temporaryDirectory();
    const files = golden.map(({ name }) => join(folder, `${goldenFile(name)}.db`));
    for (const [index, { name, head }] of golden.entries())
      expect(await importLog(linesOf(name), files[index] ?? '')).toEqual(head);
    for (const [TZ, LANG] of [
      ['Pacific/Kiritimati', 'tr_TR.UTF-8'],
      ['America/St_Johns', 'C'],
    ] as const) {
      const worker = startWorker('replay-loops-worker', {
        arguments: golden.flatMap(({ name }, index) => [name, files[index] ?? '']),
        environment: { TZ, LANG, LC_ALL: LANG },
      });
      expect(await worker.ended).toMatchObject({ code: 0, errors: '' });
      const said = worker.lines.map((line) => JSON.parse(line) as Said); // See the worker.
      expect(said.map(({ name, zone, log, replay: { ok } }) => [name, zone, log, ok])).toEqual(
        golden.map(({ name }) => [name, TZ, true, true]),
      );
      expect(said.map(({ replay }) => [replay.actors, replay.states])).toEqual(
        golden.map(({ actors, states }) => [actors, states]),
      );
      expect(said.map(({ again }) => again)).toEqual(said.map(({ replay }) => replay));
    }
  });

  const LOGS = rounds(60, 10_000);
  it(`G10: the logs of ${LOGS} simulated schedules replay twice to the same`, async () => {
    for (const loop of LOOPS) {
      const world = createLoopWorld(loop);
      const registry = loopRegistry(loop);
      for (let seed = 1; seed <= Math.ceil((LOGS * loop.share) / 100); seed += 1) {
        const { log } = await runSchedule(seed, { world });
        const giveBack = withoutWorld();
        const [one, other] = [await replayLog(log, registry), await replayLog(log, registry)];
        giveBack();
        expect([loop.name, seed, one.ok, one.problem]).toEqual([loop.name, seed, true, undefined]);
        expect(other).toEqual(one);
      }
    }
  }, 3_600_000);
});
