import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { openLog } from '../../src/index.ts';
import { createRandom } from '../store/seeded-random.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { rounds } from '../support/runtimes.ts';
import { storyFile } from '../support/stories.ts';
import { workerPath } from '../support/workers.ts';

const STORY = '---\ntitle: Export # short\nowner: ada\n---\n# Export\n\nRows as CSV, please.\n';

const setting = (names: readonly string[] = ['a']) => {
  const file = temporaryFile();
  const stories = names.map((name) => storyFile(file, name, STORY));
  return { file, stories, args: [workerPath('story-worker'), '--file', file, ...stories] };
};

const hashOf = (file: string): string => createHash('sha256').update(readFileSync(file)).digest('hex');

/** Every version of any file that the log knows of: what was found, and what was to be written. */
const versionsIn = async (file: string): Promise<ReadonlySet<unknown>> => {
  const log = await openLog(file);
  const events = await log.events({
    types: ['story.intended', 'story.read'],
    limit: Number.POSITIVE_INFINITY,
  });
  await log.close();
  return new Set([
    createHash('sha256').update(STORY).digest('hex'),
    ...events.flatMap(({ data }) => [data['hash'], data['base']]),
  ]);
};

/** What may differ from one run to another. */
const withoutTimes = (text: string): string => text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME');

const endOf = (stories: readonly string[], { stdout, stderr }: { stdout: string; stderr: string }) => {
  if (stdout === '') throw new Error(stderr);
  const { result, events } = JSON.parse(stdout) as { result: unknown; events: number };
  return { result, events, texts: stories.map((story) => withoutTimes(readFileSync(story, 'utf8'))) };
};

// Method: killed by itself after the nth event, for many n, and taken up by another process. Each file must be a version that
// the log knows, whole, and in the end the same as if nothing had happened.
it('R6, G1: killed between any two steps a file is the old or the new version, and the run ends the same', async () => {
  const alone = setting();
  const whole = endOf(alone.stories, spawnSync(process.execPath, alone.args, { encoding: 'utf8' }));
  expect(whole.result).toMatchObject({ verdict: 'verified', output: { stories: { a: { refinements: 3 } } } });
  let kills = 0;
  for (let killAt = 3; killAt < whole.events; killAt += rounds(Math.ceil(whole.events / 5), 3)) {
    const { file, stories, args } = setting();
    expect(spawnSync(process.execPath, [...args, '--kill-at', `${killAt}`]).signal).toBe('SIGKILL');
    kills += 1;
    const versions = await versionsIn(file);
    for (const story of stories) expect(versions.has(hashOf(story))).toBe(true);
    const { result, texts } = endOf(stories, spawnSync(process.execPath, args, { encoding: 'utf8' }));
    expect({ killAt, result, texts }).toEqual({ killAt, result: whole.result, texts: whole.texts });
    // Nothing of what it made ready is left.
    expect(readdirSync(dirname(file)).filter((name) => /loopwright-(?:new|kept)$/.test(name))).toEqual([]);
  }
  expect(kills).toBeGreaterThan(4);
});

it('R6, G1: killed from outside at any moment, in the middle of a write too, a file is the old or the new version', async () => {
  const { below } = createRandom(11);
  for (let round = 0; round < rounds(1, 200); round += 1) {
    const { file, stories, args } = setting(['a', 'b']);
    for (let kill = 0; kill < 3; kill += 1) {
      const worker = spawn(process.execPath, args, { stdio: 'ignore' });
      const ended = once(worker, 'exit');
      // From when it has begun until it would be done, or nearly so.
      await Promise.race([sleep(150 + below(600)), ended]);
      worker.kill('SIGKILL');
      await ended;
      const versions = await versionsIn(file).catch(() => undefined);
      for (const story of versions ? stories : []) expect(versions?.has(hashOf(story))).toBe(true);
    }
    const { result } = endOf(stories, spawnSync(process.execPath, args, { encoding: 'utf8' }));
    expect(result).toMatchObject({ verdict: 'verified' });
  }
});
