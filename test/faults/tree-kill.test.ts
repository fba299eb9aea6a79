import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { temporaryFile } from '../store/temporary-directory.ts';
import { effectsOf } from '../support/effects.ts';
import { rounds } from '../support/runtimes.ts';
import { workerPath } from '../support/workers.ts';

const play = (file: string, ...kill: readonly string[]) =>
  spawnSync(process.execPath, [workerPath('tree-worker'), '--file', file, ...kill], { encoding: 'utf8' });

const endOf = ({ stdout, stderr }: { stdout: string; stderr: string }) => {
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as { result: unknown; events: number; audit: unknown; rounds: unknown };
};

// Method: the run is killed after the nth event, for every nth there is (some of them in every run), and taken up by another
// process. It must end like the one that was left alone: in the same rounds, with the same feedback, once each.
it('C16, G1, G13: killed in the middle of a round, it goes on in that round', async () => {
  const file = temporaryFile();
  const whole = endOf(play(file));
  expect(whole.result).toMatchObject({ verdict: 'verified', output: { replans: 1, added: 1 } });
  expect(whole.rounds).toEqual([
    ['FB-001', 2, 'resolved'],
    ['FB-002', 1, 'resolved'],
  ]);
  const each = rounds(29, 1);
  let kills = 0;
  for (let killAt = 1; killAt < whole.events; killAt += each) {
    const other = temporaryFile();
    expect(play(other, '--kill-at', `${killAt}`).signal).toBe('SIGKILL');
    kills += 1;
    const { events: _, ...taken } = endOf(play(other));
    const { events: __, ...left } = whole;
    expect({ killAt, ...taken }).toEqual({ killAt, ...left });
    expect((await effectsOf(other, { restarts: 1 })).problems).toEqual([]);
  }
  expect(kills).toBeGreaterThan(3);
});

// Method: agents note the key of each call when they act. The process dies right after the nth effect, before anybody hears of it:
// the next one must act again under that key, and the log have one answer for each.
it('C16, G13: killed right after an agent has acted, it acts again under the same key, and one answer counts', async () => {
  const file = temporaryFile();
  play(file);
  const { counts, problems } = await effectsOf(file, { restarts: 0 });
  expect(problems).toEqual([]);
  for (let nth = 1; nth <= counts.size; nth += rounds(6, 1)) {
    const other = temporaryFile();
    expect(play(other, '--kill-at-effect', `${nth}`).signal).toBe('SIGKILL');
    endOf(play(other));
    const found = await effectsOf(other, { restarts: 1 });
    expect({ nth, problems: found.problems, keys: found.counts.size }).toEqual({
      nth,
      problems: [],
      keys: counts.size,
    });
    expect([...found.counts.values()]).toContain(2);
  }
});
