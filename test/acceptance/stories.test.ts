import { describe, expect, it } from 'vitest';
import {
  nextActions,
  refinementRanking,
  STORY_PRIORITIES,
  showStory,
  storyAnalytics,
  storyLines,
  storyLoop,
} from '../../src/index.ts';
import { createFakeClock, open, refusal } from '../support/runtimes.ts';
import {
  approve,
  cannotReview,
  factsIn,
  type Play,
  play,
  rejectFor,
  reread,
  saying,
  statusesOf,
} from '../support/stories.ts';

const ALL = ['research', 'plan', 'implement', 'review'];
/** The machine may be busy. */
const PATIENT = { timeout: 30_000 };
const skip = { refinement: { escalateOnMaxAttempts: 'skip' } } as const;

/** Plays to the end, or until persons are asked, and reads it all back. */
const playOut = async (given: Play) => {
  const played = await play(given);
  await played.run.settled();
  const read = await reread(played);
  return { ...played, ...read };
};

describe('a story', () => {
  it('R1: goes from ready to done, and nothing is done twice', async () => {
    const { verdict, events, rolesCalled, stories } = await playOut({});
    expect(verdict).toBe('verified');
    expect(rolesCalled()).toEqual([...ALL, 'create-pr']);
    expect(statusesOf(events)).toEqual(['ready', ...ALL, 'create-pr', 'done']);
    expect(stories['a']).toMatchObject({ status: 'done', verdict: 'verified', refinements: 0, reviews: 1 });
  });

  it.each([
    ['requirements', ALL],
    ['design', ['plan', 'implement', 'review']],
    ['code quality', ['implement', 'review']],
  ])(
    'R1, R8: rejected for %s it goes back to the phase at fault, and through the following ones',
    async (category, again) => {
      const { verdict, requests, rolesCalled } = await playOut({
        agents: { review: saying(rejectFor(category), approve) },
      });
      expect(verdict).toBe('verified');
      expect(rolesCalled()).toEqual([...ALL, ...again, 'create-pr']);
      const sent = requests[ALL.length]?.request;
      expect(sent?.feedback).toEqual([
        {
          severity: 'critical',
          category,
          description: 'a fault',
          file: 'a.ts',
          line: 3,
          suggestedFix: 'mend it',
        },
        { text: 'not good' },
      ]);
      expect(sent?.input).toMatchObject({
        iteration: 1,
        maxIterations: 3,
        refinement: { iteration: 1, target: again[0], summary: 'Review failed: 1 critical' },
      });
    },
  );

  it('R2: the rework is an actor of its own, which records, checks, resets and notes', async () => {
    const { events } = await playOut({ agents: { review: saying(rejectFor('design'), approve) } });
    const of = events.filter(({ machine }) => machine === 'lw.rework');
    expect(new Set(of.map(({ actor }) => actor))).toEqual(new Set(['r/story:a/rework']));
    expect(
      of.filter(({ kind }) => kind === 'fact').map(({ type, data }) => [type, data['flag'] ?? null]),
    ).toEqual([
      ['rework.begun', null],
      ['rework.recorded', null],
      ['rework.noted', null],
      ['rework.reset', 'plan_complete'],
      ['rework.reset', 'implement_complete'],
    ]);
    expect(factsIn(of, 'rework.recorded')[0]?.['record']).toMatchObject({
      iteration: 1,
      agentType: 'plan',
      reviewFeedback: 'Review failed: 1 critical',
      result: 'in_progress',
    });
  });

  it('R2: the rework packs the feedback and the original work', async () => {
    const { requests } = await playOut({ agents: { review: saying(rejectFor('code'), approve) } });
    const sent = requests[ALL.length];
    expect(sent?.role).toBe('implement');
    expect(sent?.request.input.work).toEqual({
      research: 'research 0',
      plan: 'plan 0',
      implement: 'implement 0',
    });
    expect(sent?.request.input.refinement).toMatchObject({
      issues: [{ category: 'code' }],
      feedback: 'not good',
    });
  });

  it('R13: whoever reworks gets every earlier attempt, each with what was said of it', async () => {
    const { requests } = await playOut({
      agents: { review: saying(rejectFor('code'), rejectFor('design'), rejectFor('tests'), approve) },
    });
    const histories = requests
      .filter(({ role }) => role === 'implement')
      .map(({ request }) => request.history);
    expect(histories.map((history) => history.length)).toEqual([0, 1, 2, 3]);
    expect(histories.at(-1)).toMatchObject([
      { iteration: 0, output: 'implement 0', review: { issues: [{ category: 'code' }] } },
      { iteration: 1, output: 'implement 1', review: { issues: [{ category: 'design' }] } },
      { iteration: 2, output: 'implement 2', review: { issues: [{ category: 'tests' }] } },
    ]);
    // The plan was at fault once only.
    const plans = requests.filter(({ role }) => role === 'plan').map(({ request }) => request.history);
    expect(plans).toMatchObject([[], [{ iteration: 0, review: { issues: [{ category: 'design' }] } }]]);
  });

  it('R7: findings that are too large for the log reach the agent word for word', async () => {
    const large = 'the design is wrong. '.repeat(2_000);
    const { requests } = await playOut({
      agents: { review: saying({ ...rejectFor('x', 'major', large), feedback: large }, approve) },
    });
    const again = requests[ALL.length];
    // Its words cannot be seen where it is decided, so that it is the rest.
    expect(again?.role).toBe('implement');
    expect(again?.request.feedback).toMatchObject([{ description: large }, { text: large }]);
  });
});

describe('the limit of refinements', () => {
  it('R4: by default there are 3 reworks and 4 reviews, and then a person is asked', async () => {
    const played = await play({ agents: { review: saying(rejectFor('code')) } });
    await played.run.settled();
    expect(played.rolesCalled().filter((role) => role === 'review')).toHaveLength(4);
    expect(played.rolesCalled().filter((role) => role === 'implement')).toHaveLength(4);
    const { second, stories, events, verdict } = await reread(played);
    expect(verdict).toBeNull();
    const [question] = await second.questions();
    expect(question).toMatchObject({
      run: 'r',
      options: [{ id: 'continue' }, { id: 'accept' }, { id: 'cancel' }],
    });
    expect(question?.details).toMatchObject({ story: 'a', refinements: 3, max: 3 });
    // The error at the limit is saved.
    expect(stories['a']).toMatchObject({
      refinements: 3,
      max: 3,
      lastError: expect.stringContaining('3 of 3'),
    });
    expect(factsIn(events, 'story.limit')).toEqual([
      { story: 'a', refinements: 3, max: 3, policy: 'manual' },
    ]);
  });

  it.each([
    ['continue', undefined, 'verified', 4 + 2],
    ['accept', undefined, 'accepted', 4],
    ['cancel', undefined, 'cancelled', 4],
    ['continue', 1, null, 4 + 1],
  ] as const)('R4, X6: a person may %s (%s)', async (option, value, expected, reviews) => {
    const rejected = rejectFor('code');
    const results = [rejected, rejected, rejected, rejected, rejected, approve];
    const played = await play({ agents: { review: saying(...results) } });
    await played.run.settled();
    const [question] = await played.runtime.questions();
    await played.runtime.answer(question?.id ?? '', option, {
      by: 'ada',
      note: 'so be it',
      ...(value !== undefined && { value }),
    });
    await played.run.settled();
    const { verdict, events, stories } = await reread(played);
    expect(verdict).toBe(expected);
    expect(played.rolesCalled().filter((role) => role === 'review')).toHaveLength(reviews);
    expect(factsIn(events, 'story.decided')).toMatchObject([{ option, by: 'ada', note: 'so be it' }]);
    if (expected === 'accepted') {
      // What is open is debt, and it is taken: the last phase runs.
      expect(factsIn(events, 'story.ended')).toMatchObject([
        { debt: [{ category: 'code' }], decidedBy: 'ada' },
      ]);
      expect(played.rolesCalled().at(-1)).toBe('create-pr');
      expect(stories['a']?.status).toBe('accepted');
    }
  });

  it('R4: error ends the run failed, with the error on record; nothing new begins', async () => {
    const { verdict, events, stories, rolesCalled } = await playOut({
      options: { refinement: { escalateOnMaxAttempts: 'error', maxIterations: 1 }, concurrency: 1 },
      agents: { review: saying(rejectFor('code')) },
      stories: [{ id: 'a' }, { id: 'b' }],
    });
    expect(verdict).toBe('failed');
    expect(stories['a']).toMatchObject({
      verdict: 'failed',
      status: 'failed',
      lastError: expect.stringContaining('1 of 1'),
    });
    expect(rolesCalled('b')).toEqual([]);
    expect(factsIn(events, 'stories.stopping')).toMatchObject([{ story: 'a' }]);
  });

  it('R4: skip ends the story exhausted, marked skipped, and the others go on', async () => {
    const { verdict, stories, run } = await playOut({
      options: { ...skip, concurrency: 1 },
      agents: { review: ({ input }) => (input.story.id === 'a' ? rejectFor('code') : approve) },
      stories: [{ id: 'a' }, { id: 'b' }],
    });
    expect(verdict).toBe('exhausted');
    expect(run.id).toBe('r');
    expect(stories['a']).toMatchObject({
      verdict: 'exhausted',
      isSkipped: true,
      status: 'skipped',
      refinements: 3,
    });
    expect(stories['b']).toMatchObject({ verdict: 'verified', isSkipped: false, status: 'done' });
  });

  it('R5: a story sets a limit of its own, and 0 is one: enforced, and told as 0 of 0', async () => {
    const { stories, events, rolesCalled } = await playOut({
      options: skip,
      agents: { review: saying(rejectFor('code')) },
      stories: [
        { id: 'none', max_refinement_attempts: 0 },
        { id: 'five', max_refinement_attempts: 5 },
        { id: 'usual' },
      ],
    });
    const reviews = (story: string) => rolesCalled(story).filter((role) => role === 'review').length;
    expect([reviews('none'), reviews('five'), reviews('usual')]).toEqual([1, 6, 4]);
    expect(stories['none']).toMatchObject({
      refinements: 0,
      max: 0,
      lastError: expect.stringContaining('0 of 0'),
    });
    expect(stories['five']).toMatchObject({ refinements: 5, max: 5 });
    const lines = events.flatMap(storyLines).filter((line) => line.startsWith('■ none'));
    expect(lines).toEqual(['■ none: 0 of 0 refinements used']);
  });

  it('R4, X8: without a breaker a reason in words is needed', () => {
    const off = { enableCircuitBreaker: false };
    expect(() => storyLoop('s', { refinement: off })).toThrow(/unbounded/);
    expect(() => storyLoop('s', { refinement: off, limits: { unbounded: ' ' } })).toThrow(/unbounded/);
    expect(() =>
      storyLoop('s', { refinement: off, limits: { unbounded: 'a person watches' } }),
    ).not.toThrow();
    expect(() => storyLoop('s', { limits: { reworks: null } })).toThrow(/unbounded/);
  });

  it('R4: without a breaker it goes on beyond any limit', async () => {
    const rejected = rejectFor('code');
    const { verdict, stories, events } = await playOut({
      options: { refinement: { enableCircuitBreaker: false }, limits: { unbounded: 'a person watches' } },
      stories: [{ id: 'a', max_refinement_attempts: 1 }],
      agents: { review: saying(...Array.from({ length: 8 }, () => rejected), approve) },
    });
    expect(verdict).toBe('verified');
    expect(stories['a']).toMatchObject({ refinements: 8, max: null });
    expect(events.flatMap(storyLines)).toContain('⟳ a: refinement 8, back to implement');
  });

  it('R4: options that make no sense are refused with what is wrong', () => {
    expect(() => storyLoop('s', { refinement: { maxIterations: -1 } })).toThrow(/from 0/);
    expect(() => storyLoop('s', { refinement: { maxIterations: 1.5 } })).toThrow(/whole/);
    expect(() => storyLoop('s', { refinement: { maxIterations: 2 }, limits: { reworks: 3 } })).toThrow(
      /one value/,
    );
    expect(() => storyLoop('s', { refinement: { escalateOnMaxAttempts: 'maybe' as never } })).toThrow(
      /"skip"/,
    );
    expect(() => storyLoop('s', { mode: 'fast' as never })).toThrow(/"auto"/);
    expect(() => storyLoop('s', { concurrency: 0 })).toThrow(/from 1/);
    expect(() => storyLoop('s', { reviewers: [] })).toThrow(/review/);
    expect(() => storyLoop('s', { reviewers: ['plan', 'x', 'x'] })).toThrow(/"x" twice, "plan"/);
    expect(() => storyLoop('s', { roles: { nobody: {} } })).toThrow(/nobody/);
    expect(() => storyLoop('s', { roles: { review: { attempts: 2 } } })).toThrow(/reviewRetries/);
    expect(() => storyLoop('s', { priorities: { rework: Number.NaN } })).toThrow(/priorities/);
    expect(() => storyLoop('s', { faults: { words: { x: 'review' as never } } })).toThrow(/x: review/);
    expect(() => storyLoop('s', { limits: { timeMs: 5 } })).toThrow(/timeLimitMs/);
  });

  it('R4: stories that cannot be run are refused with everything that is wrong, and nothing is written', async () => {
    const runtime = await open({ file: ':memory:', workflows: [storyLoop('s')], agents: {} as never });
    const stories = [
      { id: 'a' },
      { id: 'a' },
      { id: 'x/y' },
      { id: 'b', body: 3, color: 'red' },
      7,
      { file: '' },
      { file: 'a.md', title: 'A' },
      { id: 'constructor' },
    ];
    const { fields } = await refusal(runtime.start('s', { stories: stories as never }), 'BAD_STORIES');
    expect(fields.problems).toEqual([
      expect.stringContaining('story 3: "x/y"'),
      'story 4: its body is no text, "color" is not known',
      'story 5: it is neither a path nor an object',
      'story 6: its file is no path',
      expect.stringContaining('story 7: beside its file, title'),
      'story 8: "constructor" is a name that every object has',
      'there are two stories "a"',
    ]);
    await refusal(runtime.start('s', { stories: [] }), 'BAD_STORIES');
    await refusal(runtime.start('s', { stories: [{ id: 'a' }], mode: 'fast' as never }), 'BAD_STORIES');
    expect(await runtime.runs()).toEqual([]);
  });
});

describe('a review of a story', () => {
  it.each([
    ['says that it failed', () => cannotReview],
    ['says neither yes nor no', () => ({ text: 'hm' })],
    [
      'throws',
      () => {
        throw new Error('no model');
      },
    ],
  ])('R9: one that %s is no rejection: 2 retries, then a question', async (_, review) => {
    const clock = createFakeClock();
    const played = await play({ agents: { review }, clock });
    const settled = played.run.settled();
    for (let waits = 0; waits < 2; waits += 1) {
      await expect.poll(() => clock.waiting, PATIENT).toBeGreaterThan(0);
      await expect
        .poll(() => played.rolesCalled().filter((role) => role === 'review').length, PATIENT)
        .toBe(waits + 1);
      await expect
        .poll(async () => (await played.runtime.actor('r/story:a')).value, PATIENT)
        .toBe('backingOff');
      clock.advance(60_000);
    }
    await settled;
    expect(played.rolesCalled().filter((role) => role === 'review')).toHaveLength(3);
    const { second, stories, events } = await reread(played);
    expect(stories['a']).toMatchObject({ refinements: 0, status: 'review' });
    expect(factsIn(events, 'rework.begun')).toEqual([]);
    expect(factsIn(events, 'story.reviewed')).toEqual([]);
    expect(await second.questions()).toMatchObject([
      { options: [{ id: 'retry' }, { id: 'stop' }, { id: 'cancel' }] },
    ]);
  });

  it('R9: one that works at the second try counts once, and a retry by a person starts anew', async () => {
    const options = { roles: { review: { backoffMs: 0 } } };
    const once = await playOut({
      options,
      agents: { review: saying(cannotReview, rejectFor('code'), approve) },
    });
    expect(once.verdict).toBe('verified');
    expect(once.stories['a']).toMatchObject({ refinements: 1, reviews: 2 });

    const failed = [cannotReview, cannotReview, cannotReview];
    const played = await play({ options, agents: { review: saying(...failed, cannotReview, approve) } });
    await played.run.settled();
    const [question] = await played.runtime.questions();
    await played.runtime.answer(question?.id ?? '', 'retry');
    expect((await played.run.result()).verdict).toBe('verified');
    expect(played.rolesCalled().filter((role) => role === 'review')).toHaveLength(5);
  });

  it('R14, X5: several reviews are joined into one result: all must approve, and every finding is told with its finder', async () => {
    const { verdict, requests, events, rolesCalled } = await playOut({
      options: { reviewers: ['code', 'security', 'product'] },
      agents: {
        code: saying(rejectFor('code', 'major'), approve),
        security: saying(approve),
        product: saying(rejectFor('requirements', 'blocker'), approve),
      },
    });
    expect(verdict).toBe('verified');
    const [first] = factsIn(events, 'story.reviewed');
    expect(first).toMatchObject({
      decision: 'rejected',
      summary: 'Review failed: 1 blocker(s), 1 major',
      target: 'research',
      issues: [
        { reviewer: 'code', category: 'code' },
        { reviewer: 'product', category: 'requirements' },
      ],
    });
    expect(rolesCalled().slice(3, 6).toSorted()).toEqual(['code', 'product', 'security']);
    expect(rolesCalled()[6]).toBe('research');
    expect(requests[6]?.request.feedback).toMatchObject([
      { reviewer: 'code' },
      { reviewer: 'product' },
      { reviewer: 'code', text: 'not good' },
      { reviewer: 'security', text: 'good' },
      { reviewer: 'product', text: 'not good' },
    ]);
  });

  it('R9, R14: of several reviews only the one that failed is tried again, and without it nothing is approved', async () => {
    const { rolesCalled, second } = await playOut({
      options: { reviewers: ['code', 'security'], roles: { security: { backoffMs: 0 } } },
      agents: { code: saying(approve), security: saying(cannotReview) },
    });
    expect(rolesCalled().filter((role) => role === 'code')).toHaveLength(1);
    expect(rolesCalled().filter((role) => role === 'security')).toHaveLength(3);
    expect(await second.questions()).toHaveLength(1);
  });

  it('R9, R14: what one reviewer rejects is reworked although another one failed for good', async () => {
    const { verdict, rolesCalled, stories } = await playOut({
      options: { reviewers: ['code', 'security'], roles: { security: { backoffMs: 0 } } },
      agents: {
        code: saying(rejectFor('code'), approve),
        security: saying(cannotReview, cannotReview, cannotReview, approve),
      },
    });
    expect(verdict).toBe('verified');
    expect(stories['a']).toMatchObject({ refinements: 1, reviews: 2 });
    expect(rolesCalled().filter((role) => role === 'code')).toHaveLength(2);
  });

  it('R8: the table of phases is the user’s to replace', async () => {
    const { rolesCalled } = await playOut({
      options: {
        faults: { categories: { style: 'plan' }, words: { 'no test': 'research' }, otherwise: 'implement' },
      },
      agents: { review: saying(rejectFor('style'), rejectFor('?', 'major', 'There is no test!'), approve) },
    });
    expect(rolesCalled()).toEqual([...ALL, 'plan', 'implement', 'review', ...ALL, 'create-pr']);
  });
});

describe('the actions of a board', () => {
  it('R10, R3: in manual mode, the default, each command does one action; a rework and its phase are one', async () => {
    const played = await play({
      options: { mode: 'manual' },
      agents: { review: saying(rejectFor('code'), approve) },
      stories: [{ id: 'a' }, { id: 'b' }],
    });
    const { run, rolesCalled } = played;
    expect((await run.settled()).value).toBe('waiting');
    expect(rolesCalled()).toEqual([]);
    const next = async (story?: string) => {
      const { taken } = await run.send({ type: 'stories.next', ...(story !== undefined && { story }) });
      await run.settled();
      return taken;
    };
    // The most urgent one comes first: what is nearest to its end.
    for (const called of [1, 2, 3, 4, 5]) {
      expect(await next()).toBe(true);
      expect(rolesCalled()).toHaveLength(called);
    }
    expect(rolesCalled('a')).toEqual([...ALL, 'implement']);
    expect(await next('b')).toBe(true);
    expect(rolesCalled('b')).toEqual(['research']);
    expect(await next('nobody')).toBe(false);
    await next();
    await next();
    expect(rolesCalled('a')).toEqual([...ALL, 'implement', 'review', 'create-pr']);
    const { events, verdict, stories } = await reread(played);
    expect(verdict).toBeNull();
    expect(stories['a']?.verdict).toBe('verified');
    expect(factsIn(events, 'stories.granted', 'a').map(({ action }) => action)).toEqual([
      ...ALL,
      'rework',
      'review',
      'create-pr',
    ]);
    expect(storyLoop('s').options.prepare?.({ stories: [{ id: 'a' }] })).toMatchObject({ mode: 'manual' });
  });

  it('R10: a manual run can be told to go on by itself, and be taken up after a restart', async () => {
    const played = await play({
      options: { mode: 'manual' },
      agents: { review: saying(rejectFor('code'), approve) },
    });
    await played.run.send({ type: 'stories.next' });
    await played.run.settled();
    await played.runtime.close();
    const work = () => 'work';
    const second = await open({
      file: played.file,
      workflows: [played.loop],
      agents: {
        research: work,
        plan: work,
        implement: work,
        review: () => approve,
        'create-pr': work,
      },
    });
    const run = await second.run('r', 'stories');
    expect((await run.send({ type: 'stories.mode', mode: 'auto' })).taken).toBe(true);
    expect(await run.result()).toMatchObject({
      verdict: 'verified',
      output: { stories: { a: { verdict: 'verified' } } },
    });
  });

  it('R3: with one at a time the order follows from the priorities, which a user can replace', async () => {
    const stories = [{ id: 'a' }, { id: 'b' }];
    const agents = { review: saying(rejectFor('code'), approve) };
    const usual = await playOut({ options: { concurrency: 1 }, agents, stories });
    expect(usual.requests.map(({ role, request }) => `${request.input.story.id} ${role}`)).toEqual(
      ['a', 'b'].flatMap((id) => [...ALL, 'implement', 'review', 'create-pr'].map((role) => `${id} ${role}`)),
    );
    const breadth = { research: 900, plan: 800, implement: 700, review: 600, rework: 500, 'create-pr': 100 };
    const other = await playOut({
      options: { concurrency: 1, priorities: breadth },
      agents: { review: saying(rejectFor('code'), approve) },
      stories,
    });
    expect(other.rolesCalled().slice(0, 8)).toEqual(ALL.flatMap((role) => [role, role]));
    expect(other.verdict).toBe('verified');
  });

  it('R3: at the limit the list has a manual intervention of low priority in place of a rework', async () => {
    const played = await play({
      agents: { review: saying(rejectFor('code')) },
      stories: [{ id: 'a' }, { id: 'b' }],
    });
    await played.run.settled();
    const { second } = await reread(played);
    const { context } = await second.run('r').then((run) => run.state());
    const { cards } = context as { cards: Record<string, Parameters<typeof nextActions>[0][number]> };
    expect(nextActions(Object.values(cards))).toMatchObject([
      { story: 'a', action: 'manual-intervention', priority: STORY_PRIORITIES['manual-intervention'] },
      { story: 'b', action: 'manual-intervention' },
    ]);
  });

  it('R11: a story that waits for a person does not hold up the others', async () => {
    const { stories, verdict, second } = await playOut({
      agents: {
        implement: ({ input }) => {
          if (input.story.id === 'bad') throw new Error('broken');
          return 'code';
        },
      },
      options: { roles: { implement: { attempts: 1 } } },
      stories: [{ id: 'bad' }, { id: 'good' }],
    });
    expect(verdict).toBeNull();
    expect(stories['good']?.verdict).toBe('verified');
    expect(stories['bad']).toMatchObject({
      verdict: null,
      lastError: 'The phase "implement" failed: broken',
    });
    expect(await second.questions()).toHaveLength(1);
  });

  it('X1: the verdict of a run is the worst of its stories, and a limit is never shown as success', async () => {
    const { verdict, second } = await playOut({
      options: { ...skip, onFailure: 'stop', roles: { plan: { attempts: 1 } } },
      agents: {
        plan: ({ input }) => {
          if (input.story.id === 'f') throw new Error('broken');
          return 'plan';
        },
        review: ({ input }) => (input.story.id === 'x' ? rejectFor('code') : approve),
      },
      stories: [{ id: 'v' }, { id: 'x' }, { id: 'f' }],
    });
    expect(verdict).toBe('failed');
    const run = await second.run('r');
    expect((await run.result()).output).toMatchObject({
      verdict: 'failed',
      stories: {
        v: { verdict: 'verified' },
        x: { verdict: 'exhausted', isSkipped: true },
        f: { verdict: 'failed' },
      },
    });
  });

  it('pauses with its stories and their agents, and goes on', async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const played = await play({
      agents: {
        research: async () => {
          await held;
          return 'r';
        },
      },
    });
    await expect.poll(() => played.rolesCalled(), PATIENT).toEqual(['research']);
    await played.run.pause('lunch');
    release();
    await expect.poll(async () => (await played.runtime.actor('r/story:a')).value, PATIENT).toBe('idle');
    expect(played.rolesCalled()).toEqual(['research']);
    await played.run.resume('lunch');
    expect((await played.run.result()).verdict).toBe('verified');
  });
});

describe('what people see of stories', () => {
  it('R12: each rework and the limit have their lines', async () => {
    const { events } = await playOut({
      options: { refinement: { maxIterations: 1 } },
      agents: { review: saying(rejectFor('design')) },
    });
    expect(events.flatMap(storyLines)).toEqual([
      '⟳ a: refinement 1 of 1, back to plan',
      '  · attempt 1 is on record',
      '  · notes on refinement 1 added',
      '  · plan_complete set back',
      '  · implement_complete set back',
      '  ↳ plan called again',
      '■ a: 1 of 1 refinements used',
      '  a person is needed',
    ]);
  });

  it('R12: show has the history of a story, and nothing in it can move the cursor', async () => {
    const clock = createFakeClock();
    const { stories } = await playOut({
      clock,
      options: skip,
      stories: [{ id: 'a', title: 'Export\u001b[2J' }],
      agents: { review: saying(rejectFor('design'), rejectFor('code')) },
    });
    const view = stories['a'];
    expect(view && showStory(view)).toEqual([
      'Export [2J [a]',
      'status: skipped (exhausted, skipped)',
      'refinements: 3 of 3',
      'last error: 3 of 3 refinements are used, and the review still rejects.',
      '  2026-01-01T00:00:00.000Z Review failed: 1 critical; at fault: plan',
      '  2026-01-01T00:00:00.000Z refinement 1 of 3, back to plan',
      ...[2, 3].flatMap((nth) => [
        '  2026-01-01T00:00:00.000Z Review failed: 1 critical; at fault: implement',
        `  2026-01-01T00:00:00.000Z refinement ${nth} of 3, back to implement`,
      ]),
      '  2026-01-01T00:00:00.000Z Review failed: 1 critical; at fault: implement',
      '  2026-01-01T00:00:00.000Z 3 of 3 refinements used',
      '  2026-01-01T00:00:00.000Z exhausted, skipped',
    ]);
  });

  it('R12: the reset of the count is a command that is in the audit, and lets the story go on', async () => {
    const rejected = rejectFor('code');
    const played = await play({
      options: { refinement: { maxIterations: 1 } },
      agents: { review: saying(rejected, rejected, rejected, approve) },
    });
    await played.run.settled();
    const [question] = await played.runtime.questions();
    const { taken } = await played.run.send(
      { type: 'story.reset', story: 'a', by: 'ada', note: 'mended by hand', max: 2 },
      { by: 'ada' },
    );
    expect(taken).toBe(true);
    await refusal(played.runtime.answer(question?.id ?? '', 'continue'), 'QUESTION_CLOSED');
    expect((await played.run.result()).verdict).toBe('verified');
    const { events, stories } = await reread(played);
    expect(factsIn(events, 'story.reset')).toEqual([
      { story: 'a', was: 1, max: 2, by: 'ada', note: 'mended by hand' },
    ]);
    expect(stories['a']).toMatchObject({ refinements: 2, max: 2 });
    expect(stories['a']?.history.map(({ text }) => text)).toContain(
      'count of refinements set back from 1 by ada: mended by hand',
    );
  });

  it('R12: a reset of nobody, of a story that has ended, or with a wrong limit is not taken', async () => {
    const played = await play({ stories: [{ id: 'a' }, { id: 'b' }], options: { mode: 'manual' } });
    await played.run.settled();
    const reset = (message: object) => played.run.send({ type: 'story.reset', ...message } as never);
    expect((await reset({ story: 'nobody' })).taken).toBe(false);
    expect((await reset({ story: 'constructor' })).taken).toBe(false);
    expect((await reset({ story: 'a', max: -1 })).taken).toBe(false);
    expect((await reset({})).taken).toBe(false);
    // Nothing was counted yet.
    expect((await reset({ story: 'a' })).taken).toBe(false);
    await played.run.send({ type: 'stories.next' });
    await played.run.settled();
    expect((await reset({ story: 'a', max: -1 })).taken).toBe(false);
    expect((await reset({ story: 'a', by: 7 })).taken).toBe(false);
    expect((await reset({ story: 'a' })).taken).toBe(true);
    expect((await played.run.settled()).value).toBe('waiting');
  });

  it('R14: analytics tell which stories and phases need most refinement', async () => {
    const played = await play({
      stories: [{ id: 'easy' }, { id: 'hard' }, { id: 'soso' }],
      options: skip,
      agents: {
        review: ({ input: { story, iteration } }) => {
          const needed = { easy: 0, soso: 1, hard: 3 }[story.id] ?? 0;
          return iteration >= needed ? approve : rejectFor(iteration === 0 ? 'design' : 'code');
        },
      },
    });
    await played.run.result();
    const { second } = await reread(played);
    const analytics = await second.read(storyAnalytics, 'r');
    expect(refinementRanking(analytics)).toEqual({
      stories: [
        { name: 'hard', count: 3 },
        { name: 'soso', count: 1 },
        { name: 'easy', count: 0 },
      ],
      phases: [
        { name: 'implement', count: 2 },
        { name: 'plan', count: 2 },
      ],
      categories: [
        { name: 'code', count: 2 },
        { name: 'design', count: 2 },
      ],
    });
    expect(analytics.stories['hard']).toEqual({
      refinements: 3,
      reviews: 4,
      rejections: 3,
      phases: { plan: 1, implement: 2 },
    });
  });
});

describe('messages that are not believed', () => {
  it('R11, K1: nobody but the board lets a story act, and nobody but the story tells of it', async () => {
    const played = await play({ options: { mode: 'manual' } });
    await played.run.settled();
    await played.run.send({ type: 'stories.next' });
    await played.run.settled();
    expect(
      (await played.runtime.send('r/story:a', { type: 'story.act', action: 'create-pr' } as never)).taken,
    ).toBe(false);
    const { context } = await played.run.state();
    const card = { ...context.cards['a'], review: 'approved' };
    expect((await played.run.send({ type: 'story.card', card } as never)).taken).toBe(false);
    expect(played.rolesCalled()).toEqual(['research']);
  });
});

describe('the worst case of stories', () => {
  it('R4, X4, K5: it is proved: 25 calls for a story, and as many for each further one', async () => {
    const agents = {
      research: () => 1,
      plan: () => 1,
      implement: () => 1,
      review: () => 1,
      'create-pr': () => 1,
    };
    const runtime = await open({
      file: ':memory:',
      workflows: [storyLoop('s', { mode: 'auto', concurrency: 1 })],
      agents,
    });
    const one = await runtime.worstCase('s', { stories: [{ id: 'a' }] });
    expect(one).toMatchObject({
      result: 'proved',
      requests: 25,
      calls: 51,
      deadEnds: [],
      verdicts: ['verified'],
    });
    expect(one.callsByAgent).toMatchObject({ review: 12, research: 12, 'create-pr': 3 });
    const withFile = await runtime.worstCase('s', { stories: ['/stories/a.md'] });
    expect(withFile).toMatchObject({ result: 'proved', requests: 25, calls: 51, deadEnds: [] });
    const three = await runtime.worstCase('s', {
      stories: [{ id: 'a' }, { id: 'b' }, { id: 'c', max_refinement_attempts: 0 }],
    });
    expect(three).toMatchObject({ result: 'proved', requests: 2 * 25 + 7, calls: 2 * 51 + 15 });
  });

  it('K5: what several stories take together is what they take apart: both at once, explored', async () => {
    const agents = {
      research: () => 1,
      plan: () => 1,
      implement: () => 1,
      review: () => 1,
      'create-pr': () => 1,
    };
    const roles = Object.fromEntries(
      ['research', 'plan', 'implement', 'create-pr'].map((role) => [role, { attempts: 1 }]),
    );
    const refinement = { maxIterations: 1 };
    const loop = storyLoop('s', { mode: 'auto', concurrency: 2, refinement, onFailure: 'stop', roles });
    const runtime = await open({ file: ':memory:', workflows: [loop], agents });
    const stories = [{ id: 'a' }, { id: 'b' }];
    const apart = await runtime.worstCase('s', { stories });
    // With outcomes of one's own nothing is taken apart.
    const outcomes = (agent: string) =>
      agent === 'review'
        ? [
            { name: 'approves', output: approve },
            { name: 'rejects', output: rejectFor('requirements') },
            { name: 'cannot', output: cannotReview },
          ]
        : [{ name: 'works', output: 'work' }];
    const together = await runtime.worstCase('s', { stories }, { outcomes });
    expect(together).toMatchObject({
      result: 'proved',
      requests: apart.requests,
      calls: apart.calls,
      turns: apart.turns,
    });
    expect(together.states).toBeGreaterThan(apart.states);
  });

  it('X8, R4: without a breaker the endless way is shown', async () => {
    const agents = {
      research: () => 1,
      plan: () => 1,
      implement: () => 1,
      review: () => 1,
      'create-pr': () => 1,
    };
    const loop = storyLoop('s', {
      mode: 'auto',
      refinement: { enableCircuitBreaker: false },
      limits: { unbounded: 'a person watches' },
    });
    const runtime = await open({ file: ':memory:', workflows: [loop], agents });
    const { result, endless, text } = await runtime.worstCase('s', { stories: [{ id: 'a' }, { id: 'b' }] });
    expect(result).toBe('not proved');
    expect(endless?.cycle.at(-1)).toMatch(/review: rejects/);
    expect(text).toContain('it need not end');
  });
});
