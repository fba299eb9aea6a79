import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { temporaryFile } from '../store/temporary-directory.ts';
import { rounds } from '../support/runtimes.ts';
import { workerPath } from '../support/workers.ts';

const play = (file: string, killAt = 0) =>
  spawnSync(process.execPath, [workerPath('feedback-worker'), '--file', file, '--kill-at', `${killAt}`], {
    encoding: 'utf8',
  });

const endOf = ({ stdout, stderr }: { stdout: string; stderr: string }) => {
  if (stdout === '') throw new Error(stderr);
  const { events, ...end } = JSON.parse(stdout) as { events: number; result: object; loops: unknown };
  return { events, end };
};

// Method: the run is killed after the nth event, for every nth there is (some of them in every run), and taken up by another
// process. It must end like the one that was left alone, loops and all.
it('B7, B11, G1, G13: killed between any two steps, feedback comes to the same resolution', () => {
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
    expect(play(file, killAt).signal).toBe('SIGKILL');
    kills += 1;
    expect(endOf(play(file)).end).toEqual(whole.end);
  }
  expect(kills).toBeGreaterThan(5);
});
