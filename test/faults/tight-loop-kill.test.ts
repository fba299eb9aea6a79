import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFile } from '../store/temporary-directory.ts';
import { effectsOf } from '../support/effects.ts';
import { rounds } from '../support/runtimes.ts';
import { workerPath } from '../support/workers.ts';

const play = (file: string, ...kill: readonly string[]) =>
  spawnSync(process.execPath, [workerPath('tight-worker'), '--file', file, ...kill], { encoding: 'utf8' });

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
it('T8, G1, G13: killed between any two steps, it ends with the same outcome and the same files', async () => {
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
    expect(play(other, '--kill-at', `${killAt}`).signal).toBe('SIGKILL');
    kills += 1;
    if (kills % 2 === 0) rmSync(`${other}.runs`, { recursive: true, force: true });
    const { result, files } = endOf(other, play(other));
    expect({ killAt, result, files }).toEqual({ killAt, result: whole.result, files: whole.files });
    expect((await effectsOf(other, { restarts: 1 })).problems).toEqual([]);
  }
  expect(kills).toBeGreaterThan(5);
});

// Method: agents note the key of each call when they act. The process dies right after the nth effect, before anybody hears of it:
// the next one must act again under that very key, and the log have one answer for each.
it('T8, G13: killed right after an agent has acted, it acts again under the same key, and one answer counts', async () => {
  const file = temporaryFile();
  const whole = endOf(file, play(file));
  const { counts, problems } = await effectsOf(file, { restarts: 0 });
  expect(problems).toEqual([]);
  const keys = [...counts.keys()];
  expect(keys.length).toBe(9);
  for (let nth = 1; nth <= keys.length; nth += rounds(4, 1)) {
    const other = temporaryFile();
    expect(play(other, '--kill-at-effect', `${nth}`).signal).toBe('SIGKILL');
    expect(endOf(other, play(other)).result).toEqual(whole.result);
    const found = await effectsOf(other, { restarts: 1 });
    expect(found.problems).toEqual([]);
    const repeated = [...found.counts].flatMap(([key, count]) => (count > 1 ? [key] : []));
    expect([nth, repeated]).toEqual([nth, [keys[nth - 1]]]);
    expect([...found.counts.keys()]).toEqual(keys);
  }
});

// The control: what the tests above must notice, made on purpose.
it('G13: an effect that nobody recorded, one without a call, and one too many would be found', async () => {
  const file = temporaryFile();
  play(file);
  const notes = `${file}.effects`;
  const lines = readFileSync(notes, 'utf8').trim().split('\n');
  const [first = '', ...rest] = lines;
  const problemsWith = async (keys: readonly string[]) => {
    writeFileSync(notes, `${keys.join('\n')}\n`);
    return (await effectsOf(file, { restarts: 1 })).problems;
  };
  expect(await problemsWith(lines)).toEqual([]);
  expect(await problemsWith(rest)).toEqual([`${first} is recorded, and nobody acted`]);
  expect(await problemsWith([...lines, 'another/1'])).toEqual(['another/1 is recorded 0 times']);
  expect(await problemsWith([...lines, first, first])).toEqual([`${first} was acted under 3 times`]);
});
