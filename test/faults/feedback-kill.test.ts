import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { temporaryFile } from '../store/temporary-directory.ts';
import { effectsOf } from '../support/effects.ts';
import { rounds } from '../support/runtimes.ts';
import { workerPath } from '../support/workers.ts';

const play = (file: string, ...kill: readonly string[]) =>
  spawnSync(process.execPath, [workerPath('feedback-worker'), '--file', file, ...kill], { encoding: 'utf8' });

const endOf = ({ stdout, stderr }: { stdout: string; stderr: string }) => {
  if (stdout === '') throw new Error(stderr);
  const { events, ...end } = JSON.parse(stdout) as { events: number; result: object; loops: unknown };
  return { events, end };
};

// Method: the run is killed after the nth event, for every nth there is (some of them in every run), and taken up by another
// process. It must end like the one that was left alone, loops and all.
it('B7, B11, G1, G13: killed between any two steps, feedback comes to the same resolution', async () => {
  const whole = endOf(play(temporaryFile()));
  expect(whole.end).toMatchObject({ result: { verdict: 'verified' } });
  expect(whole.end.loops).toEqual([
    ['architect', 'technical_infeasibility', 'resolved', 1, null],
    ['orchestrator', 'inconsistency', 'resolved', 1, 'both'],
    ['developer', 'constraint_violation', 'resolved', 2, 'revise_requirement'],
  ]);
  const each = rounds(29, 1);
  let kills = 0;
  for (let killAt = 3; killAt < whole.events; killAt += each) {
    const file = temporaryFile();
    expect(play(file, '--kill-at', `${killAt}`).signal).toBe('SIGKILL');
    kills += 1;
    expect(endOf(play(file)).end).toEqual(whole.end);
    expect((await effectsOf(file, { restarts: 1 })).problems).toEqual([]);
  }
  expect(kills).toBeGreaterThan(5);
});

// Method: agents note the key of each call when they act. The process dies right after the nth effect, before anybody hears of it:
// the next one must act again under that key, and the log have one answer for each.
it('B11, G13: killed right after an agent has acted, it acts again under the same key, and one answer counts', async () => {
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
