import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { temporaryFile } from '../store/temporary-directory.ts';
import { rounds } from '../support/runtimes.ts';
import {
  approve,
  cannotReview,
  factsIn,
  play,
  rejectFor,
  reread,
  storyFile,
  type Work,
} from '../support/stories.ts';

/** Whatever an agent may come up with. */
const anyAnswer = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(approve, rejectFor('code'), rejectFor('design'), cannotReview),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom<unknown>(
      undefined,
      null,
      '',
      7,
      [],
      {},
      { passed: 'yes' },
      { decision: {} },
      { issues: 'many', passed: false },
      { passed: false, issues: [null, 3, { severity: [], category: {}, description: { a: 1 } }] },
      { passed: false, feedback: { $loopwright: 1 } },
      Number.NaN,
      () => 1,
      'x'.repeat(20_000),
    ),
  },
  { weight: 1, arbitrary: fc.constant<unknown>('throw') },
);

const anyCommand = fc.constantFrom(
  { type: 'stories.next' },
  { type: 'stories.next', story: 'a' },
  { type: 'stories.next', story: 'nobody' },
  { type: 'stories.next', story: 3 },
  { type: 'stories.mode', mode: 'manual' },
  { type: 'stories.mode', mode: 'auto' },
  { type: 'stories.mode', mode: 'x' },
  { type: 'story.reset', story: 'a' },
  { type: 'story.reset', story: 'b', max: 1 },
  { type: 'story.reset', story: 7 },
  { type: 'story.card', card: { key: 'a', stage: 'ended', verdict: 'verified' } },
  { type: 'story.card', card: null },
  { type: 'story.card' },
  { type: 'run.pause', reason: 'x' },
  { type: 'run.resume', reason: 'x' },
  { type: 'run.resume', reason: 'y' },
);

// Method: agents that answer anything and a host that sends anything. Whatever they do, the run ends or waits, it replays, nobody
// is refined more often than is allowed, and the file is in order with all that its author wrote.
it('R4, R9, R11, G14: whatever agents answer and hosts send, a board ends or waits within its limits', async () => {
  const answers = fc.array(anyAnswer, { minLength: 1, maxLength: 12 });
  const cases = fc.sample(fc.record({ answers, commands: fc.array(anyCommand, { maxLength: 10 }) }), {
    numRuns: rounds(6, 1_000),
    seed: 5,
  });
  for (const { answers: given, commands } of cases) {
    let calls = 0;
    const answering: Work = () => {
      const answer = given[calls % given.length];
      calls += 1;
      if (answer === 'throw') throw new Error('no');
      return answer;
    };
    const log = temporaryFile();
    const story = storyFile(log, 'a', '---\ntitle: A\nowner: ada\n---\nBody\n');
    const quick = { attempts: 2, backoffMs: 0 };
    const played = await play({
      file: log,
      stories: [story, { id: 'b' }, { id: 'c', max_refinement_attempts: 1 }],
      options: {
        onFailure: 'stop',
        refinement: { escalateOnMaxAttempts: 'skip', maxIterations: 2 },
        roles: {
          research: quick,
          plan: quick,
          implement: quick,
          'create-pr': quick,
          review: { backoffMs: 0 },
        },
      },
      agents: {
        research: answering,
        plan: answering,
        implement: answering,
        review: answering,
        'create-pr': answering,
      },
    });
    // It may have ended by then.
    for (const command of commands) await played.run.send(command as never).catch(() => undefined);
    await played.run.resume('x').catch(() => undefined);
    await played.run.send({ type: 'stories.mode', mode: 'auto' }).catch(() => undefined);
    await played.run.settled();
    const { events, stories, verdict } = await reread(played);
    expect(verdict).not.toBeNull();
    for (const [key, bound] of [
      ['a', 2],
      ['b', 2],
      ['c', 1],
    ] as const) {
      const resets = factsIn(events, 'story.reset', key).length;
      expect(factsIn(events, 'rework.begun', key).length).toBeLessThanOrEqual(bound * (resets + 1));
      expect(stories[key]?.verdict).toMatch(/verified|exhausted|failed/);
    }
    expect(events.filter(({ kind }) => kind === 'failed')).toEqual([]);
    const text = readFileSync(story, 'utf8');
    expect(text).toMatch(/^---\ntitle: A\nowner: ada\n/);
    expect(text).toContain('\nBody\n');
    expect(text).toMatch(/\nstatus: (?:done|failed|skipped)\n/);
  }
});
