import fc from 'fast-check';
import { expect, it } from 'vitest';
import { refinementRanking, storyAnalytics, type WorkPhase } from '../../src/index.ts';
import { rounds } from '../support/runtimes.ts';
import { approve, cannotReview, factsIn, play, rejectFor, reread } from '../support/stories.ts';

const CATEGORY = { research: 'requirements', plan: 'design', implement: 'code' } as const;
type Said = WorkPhase | 'approve' | 'fail';

/** How a story must go, computed from what its reviews say and nothing else. */
const expected = (said: readonly Said[], max: number) => {
  const left = [...said];
  const calls = ['research', 'plan', 'implement'];
  let refinements = 0;
  let failures = 0;
  for (;;) {
    const next = left.shift() ?? 'approve';
    calls.push('review');
    if (next === 'fail') {
      failures += 1;
      // After three in a row a person is asked, who says that it ends.
      if (failures === 3) return { calls, refinements, verdict: 'failed' };
      continue;
    }
    failures = 0;
    if (next === 'approve') return { calls: [...calls, 'create-pr'], refinements, verdict: 'verified' };
    if (refinements >= max) return { calls, refinements, verdict: 'exhausted' };
    refinements += 1;
    calls.push(...['research', 'plan', 'implement'].slice(['research', 'plan', 'implement'].indexOf(next)));
  }
};

const anyStory = fc.record({
  max: fc.constantFrom(0, 1, 3, 5),
  said: fc.array(
    fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom<Said>('research', 'plan', 'implement') },
      { weight: 2, arbitrary: fc.constant<Said>('approve') },
      { weight: 1, arbitrary: fc.constant<Said>('fail') },
    ),
    { maxLength: 9 },
  ),
});

const STORIES = rounds(200, 200, 50);

// Method: many stories on one board, each with reviews of its own; a model that knows one story alone says how each must go. If
// one touched another, some story would not go as if it were alone.
it(`R11, R4, R9: ${STORIES} stories with random reviews: each ends as if it were alone, and all counts are right`, async () => {
  const given = fc.sample(fc.array(anyStory, { minLength: STORIES, maxLength: STORIES }), {
    numRuns: rounds(1, 20),
    seed: 42,
  });
  for (const stories of given) {
    const scripts = new Map(stories.map(({ said }, index) => [`s${index}`, [...said]]));
    const played = await play({
      options: {
        refinement: { escalateOnMaxAttempts: 'skip' },
        onFailure: 'stop',
        concurrency: 8,
        roles: { review: { backoffMs: 0 } },
      },
      stories: stories.map(({ max }, index) => ({ id: `s${index}`, max_refinement_attempts: max })),
      agents: {
        review: ({ input }) => {
          const next = scripts.get(input.story.id)?.shift() ?? 'approve';
          if (next === 'approve') return approve;
          return next === 'fail' ? cannotReview : rejectFor(CATEGORY[next]);
        },
      },
    });
    const { output } = await played.run.result();
    const { events, second, stories: views } = await reread(played);
    const analytics = await second.read(storyAnalytics, 'r');
    const reworks = factsIn(events, 'rework.begun');
    let calls = 0;
    for (const [index, { said, max }] of stories.entries()) {
      const key = `s${index}`;
      const model = expected(said, max);
      calls += model.calls.length;
      expect([key, played.rolesCalled(key)]).toEqual([key, model.calls]);
      const { verdict, refinements } = model;
      expect(output?.stories[key]).toMatchObject({
        verdict,
        refinements,
        isSkipped: verdict === 'exhausted',
      });
      expect(views[key]).toMatchObject({ verdict, refinements });
      expect(reworks.filter(({ story }) => story === key)).toHaveLength(refinements);
      expect(analytics.stories[key]?.refinements ?? 0).toBe(refinements);
    }
    expect(await second.deadLetters()).toEqual([]);
    expect(output?.spent.calls).toBe(calls);
    expect(played.requests).toHaveLength(calls);
    const { phases } = refinementRanking(analytics);
    expect(phases.reduce((sum, { count }) => sum + count, 0)).toBe(reworks.length);
    // Whatever a story is given is its own.
    for (const { request } of played.requests) {
      const { id } = request.input.story;
      expect(request.actor).toContain(`/story:${id}/`);
      expect(request.history.length).toBeLessThanOrEqual(request.input.iteration);
    }
  }
});
