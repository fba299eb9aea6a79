import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFile } from '../store/temporary-directory.ts';
import { rounds } from '../support/runtimes.ts';
import { workerPath } from '../support/workers.ts';

const play = (file: string, killAt = 0) =>
  spawnSync(process.execPath, [workerPath('tight-worker'), '--file', file, '--kill-at', `${killAt}`], {
    encoding: 'utf8',
  });

const endOf = (file: string, { stdout, stderr }: { stdout: string; stderr: string }) => {
  if (stdout === '') throw new Error(stderr);
  const folder = `${file}.runs/r`;
  const files = ['feedback-scratchpad.md', 'progress.json'].map((name) =>
    readFileSync(join(folder, name), 'utf8'),
  );
  return { ...(JSON.parse(stdout) as { result: unknown; events: number }), files };
};

// Method: the loop is killed after the nth event, for every nth there is (some of them in every run), and taken up by another
// process; every other time its files are gone as well. It must end like the one that was left alone.
it('T8, G1, G13: killed between any two steps, it ends with the same outcome and the same files', () => {
  const file = temporaryFile();
  const whole = endOf(file, play(file));
  expect(whole.result).toMatchObject({
    verdict: 'verified',
    output: { iterations: 3, spent: { calls: 9 } },
  });
  const each = rounds(7, 1);
  let kills = 0;
  for (let killAt = 1; killAt < whole.events; killAt += each) {
    const other = temporaryFile();
    expect(play(other, killAt).signal).toBe('SIGKILL');
    kills += 1;
    if (kills % 2 === 0) rmSync(`${other}.runs`, { recursive: true, force: true });
    const { result, files } = endOf(other, play(other));
    expect({ killAt, result, files }).toEqual({ killAt, result: whole.result, files: whole.files });
  }
  expect(kills).toBeGreaterThan(5);
});
