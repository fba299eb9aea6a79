import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { temporaryFile } from '../store/temporary-directory.ts';
import { createFakeClock } from '../support/runtimes.ts';
import { approve, factsIn, play, rejectFor, reread, saying, storyFile } from '../support/stories.ts';

const ALL = ['research', 'plan', 'implement', 'review'];

const failing = () => {
  throw new Error('broken');
};

describe('limits of a story', () => {
  it.each([
    ['manual', null],
    ['skip', 'exhausted'],
    ['error', 'failed'],
  ] as const)(
    'X4, R4: a budget that is used up is a limit like the other one: %s',
    async (policy, verdict) => {
      const played = await play({
        options: { limits: { calls: 2 }, refinement: { escalateOnMaxAttempts: policy } },
        stories: [{ id: 'a' }],
      });
      await played.run.settled();
      expect(played.rolesCalled()).toEqual(['research', 'plan']);
      const { stories, second, verdict: ended } = await reread(played);
      expect(ended).toBe(verdict);
      expect(stories['a']).toMatchObject({
        isSkipped: policy === 'skip',
        lastError: 'The limit "calls" of 2 was met.',
      });
      const questions = await second.questions();
      expect(questions.map(({ options }) => options.map(({ id }) => id))).toEqual(
        policy === 'manual' ? [['continue', 'stop', 'cancel']] : [],
      );
    },
  );

  it('X4: a person may give more of a budget, and the story goes on where it was', async () => {
    const played = await play({ options: { limits: { calls: 2 } } });
    for (const value of [1, 50]) {
      await played.run.settled();
      const [question] = await played.runtime.questions();
      await played.runtime.answer(question?.id ?? '', 'continue', { value });
    }
    expect((await played.run.result()).verdict).toBe('verified');
    expect(played.rolesCalled()).toEqual([...ALL, 'create-pr']);
  });

  it.each([
    ['retry', 'verified'],
    ['stop', 'failed'],
    ['cancel', 'cancelled'],
  ] as const)('R9, X6: when a phase has failed for good a person may %s', async (option, verdict) => {
    let calls = 0;
    const played = await play({
      options: { roles: { plan: { attempts: 2, backoffMs: 0 } } },
      agents: {
        plan: () => {
          calls += 1;
          if (calls <= 2) throw new Error('broken');
          return 'plan';
        },
      },
    });
    await played.run.settled();
    for (const { id } of await played.runtime.questions()) await played.runtime.answer(id, option);
    expect((await played.run.result()).verdict).toBe(verdict);
    await reread(played);
  });

  it('R4: with `onFailure: stop` nobody is asked: the story ends failed, and the others go on', async () => {
    const played = await play({
      options: { onFailure: 'stop', roles: { plan: { attempts: 1 } } },
      agents: { plan: ({ input }) => (input.story.id === 'a' ? failing() : 'plan') },
      stories: [{ id: 'a' }, { id: 'b' }],
    });
    expect((await played.run.result()).verdict).toBe('failed');
    const { stories } = await reread(played);
    expect(stories['a']).toMatchObject({ verdict: 'failed', lastError: 'The phase "plan" failed: broken' });
    expect(stories['b']).toMatchObject({ verdict: 'verified' });
  });

  it.each([
    ['cancel', 'cancelled'],
    ['stop', 'exhausted'],
  ] as const)('R4, X6: a question that expires never lets it go on: %s', async (onExpiry, verdict) => {
    const clock = createFakeClock();
    const played = await play({
      clock,
      options: { refinement: { maxIterations: 0 }, ask: [{ to: 'ada', expiresMs: 1_000 }], onExpiry },
      agents: { review: saying(rejectFor('code')) },
    });
    await played.run.settled();
    clock.advance(1_000);
    expect((await played.run.result()).verdict).toBe(verdict);
    const { events } = await reread(played);
    expect(factsIn(events, 'story.decided')).toMatchObject([{ option: 'expired', onExpiry }]);
  });

  it('R11: what one story has too much of is its own trouble', async () => {
    const many = Array.from({ length: 9_000 }, (_, nth) => `line ${nth} of what was made`);
    const played = await play({
      agents: { implement: ({ input }) => (input.story.id === 'a' ? many : 'code') },
      stories: [{ id: 'a' }, { id: 'b' }],
    });
    await played.run.settled();
    const { stories } = await reread(played);
    expect(stories['a']?.lastError).toContain('too large');
    expect(stories['b']?.verdict).toBe('verified');
  });

  it('R7, R13: a flood of findings, again and again, is cut to what an event holds; the gist and the count stay', async () => {
    const issues = Array.from({ length: 900 }, (_, nth) => ({
      severity: 'major',
      category: 'code',
      description: `${nth} ${'x'.repeat(900)}`,
    }));
    const log = temporaryFile();
    const story = storyFile(log, 'a', '---\ntitle: A\n---\nBody\n');
    const played = await play({
      file: log,
      stories: [story, { id: 'b' }],
      options: {
        reviewers: ['code', 'security'],
        refinement: { maxIterations: 5, escalateOnMaxAttempts: 'skip' },
      },
      agents: {
        implement: () => Array.from({ length: 900 }, () => 'z'.repeat(100)),
        code: () => ({ passed: false, issues, feedback: 'y'.repeat(15_000) }),
        security: () => ({ passed: false, issues, feedback: 'y'.repeat(15_000) }),
      },
    });
    expect((await played.run.result()).verdict).toBe('exhausted');
    const { stories } = await reread(played);
    expect(stories['a']).toMatchObject({ verdict: 'exhausted', refinements: 5 });
    expect(stories['b']).toMatchObject({ verdict: 'exhausted', refinements: 5 });
    expect(readFileSync(story, 'utf8')).toContain('more issues were left out');
    const last = played.requests.findLast(({ role }) => role === 'implement')?.request;
    expect(last?.history).toHaveLength(5);
    expect(last?.feedback.length).toBeGreaterThan(30);
  });

  it('R6: a large story reaches its agents word for word, from a file or not', async () => {
    const body = `# Long\n\n${'All of it matters. '.repeat(3_000)}`.trim();
    const log = temporaryFile();
    const story = storyFile(log, 'a', `---\ntitle: Long\n---\n${body}\n`);
    const played = await play({ file: log, stories: [story, { id: 'b', body }] });
    expect((await played.run.result()).verdict).toBe('verified');
    for (const { request } of played.requests) expect(request.input.story.body).toBe(body);
    expect(readFileSync(story, 'utf8')).toContain(body);
    await reread(played);
  });

  it('R4, X1: a run with many stories that wait for persons can be cancelled', async () => {
    const played = await play({
      options: { refinement: { maxIterations: 0 }, concurrency: 16 },
      agents: { review: () => rejectFor('code') },
      stories: Array.from({ length: 150 }, (_, nth) => ({ id: `s${nth}` })),
    });
    await played.run.settled();
    expect(await played.runtime.questions()).toHaveLength(150);
    await played.run.cancel({ reason: 'enough' });
    expect((await played.run.result()).verdict).toBe('cancelled');
    expect(await played.runtime.questions()).toEqual([]);
  });

  it('R1: an approval with remarks goes on, and the remarks are noted', async () => {
    const remark = { ...approve, issues: [{ severity: 'minor', category: 'style', description: 'a name' }] };
    const played = await play({ agents: { review: saying(remark) } });
    expect((await played.run.result()).verdict).toBe('verified');
    const { events } = await reread(played);
    expect(factsIn(events, 'story.reviewed')).toMatchObject([
      { decision: 'approved', issues: [{ severity: 'minor' }] },
    ]);
    expect(played.rolesCalled()).toEqual([...ALL, 'create-pr']);
  });
});
