import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { temporaryFile } from '../store/temporary-directory.ts';
import { rounds } from '../support/runtimes.ts';
import { workerPath } from '../support/workers.ts';

const play = (file: string, killAt = 0) =>
  spawnSync(process.execPath, [workerPath('tree-worker'), '--file', file, '--kill-at', `${killAt}`], {
    encoding: 'utf8',
  });

const endOf = ({ stdout, stderr }: { stdout: string; stderr: string }) => {
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as { result: unknown; events: number; audit: unknown; rounds: unknown };
};

// Method: the run is killed after the nth event, for every nth there is (some of them in every run), and taken up by another
// process. It must end like the one that was left alone: in the same rounds, with the same feedback, once each.
it('C16, G1, G13: killed in the middle of a round, it goes on in that round', () => {
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
    expect(play(other, killAt).signal).toBe('SIGKILL');
    kills += 1;
    const { events: _, ...taken } = endOf(play(other));
    const { events: __, ...left } = whole;
    expect({ killAt, ...taken }).toEqual({ killAt, ...left });
  }
  expect(kills).toBeGreaterThan(3);
});
