import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FAULT_TABLE,
  joinReviews,
  nextActions,
  phaseAtFault,
  type ReviewResult,
  SEVERITY_OF_STORY,
  STORY_PRIORITIES,
  type StoryCard,
  summaryOfReview,
} from '../../src/index.ts';
import { WORK_PHASES } from '../../src/machines/story-phases.ts';
import { readReview } from '../../src/machines/story-review.ts';

const issue = (severity: string, category = '', description = '') =>
  ({ severity, category, description }) as never;

describe('what a review says', () => {
  it.each([
    [[issue('blocker'), issue('critical'), issue('critical')], 'Review failed: 1 blocker(s), 2 critical'],
    [[issue('critical')], 'Review failed: 1 critical'],
    [[issue('minor'), issue('major')], 'Review failed: 1 major, 1 minor'],
    [[], 'Review failed: no issue was named'],
  ])('R7: is summed up in one line', (issues, summary) => {
    expect(summaryOfReview({ issues })).toBe(summary);
  });

  it.each([
    [{ decision: 'APPROVED', passed: true }, 'approved'],
    [{ decision: 'approved' }, 'approved'],
    [{ passed: true }, 'approved'],
    [true, 'approved'],
    [{ decision: 'REJECTED', passed: false }, 'rejected'],
    [{ passed: false }, 'rejected'],
    [false, 'rejected'],
    // Of two words that contradict each other no counts.
    [{ decision: 'approved', passed: false }, 'rejected'],
    [{ decision: 'rejected', passed: true }, 'rejected'],
    [{ decision: 'FAILED', passed: false }, 'failed'],
    [{ decision: 'failed', passed: true }, 'failed'],
    [{ decision: 'perhaps', passed: true }, 'failed'],
    [{ passed: 'yes' }, 'failed'],
    [{ issues: [] }, 'failed'],
    ['looks good', 'failed'],
    [null, 'failed'],
    [[], 'failed'],
  ] as const)('R7, R9: %j is %s', (output, decision) => {
    expect(readReview({ output })).toMatchObject({ decision, passed: decision === 'approved' });
  });

  it('R7: has every member of an issue, and reads what is not as it should be', () => {
    const issues = [
      { severity: 'major', category: 'code', description: 'd', file: 'f', line: 3, suggestedFix: 's' },
      { severity: 'HIGH', category: 7, suggested_fix: 'x', line: 'three' },
      'just a text',
    ];
    expect(readReview({ output: { passed: false, issues, severity: 'HIGH', feedback: 'f' } })).toEqual({
      passed: false,
      decision: 'rejected',
      severity: 'high',
      feedback: 'f',
      issues: [
        { severity: 'major', category: 'code', description: 'd', file: 'f', line: 3, suggestedFix: 's' },
        { severity: 'major', category: '', description: JSON.stringify(issues[1]), suggestedFix: 'x' },
        { severity: 'major', category: '', description: 'just a text' },
      ],
    });
    expect(SEVERITY_OF_STORY).toEqual({
      blocker: 'blocking',
      critical: 'critical',
      major: 'high',
      minor: 'low',
    });
  });

  const anyReview: fc.Arbitrary<ReviewResult> = fc.record({
    passed: fc.boolean(),
    decision: fc.constantFrom('approved', 'rejected', 'failed'),
    severity: fc.constantFrom('low', 'medium', 'high', 'critical', null),
    issues: fc.array(fc.constantFrom(issue('major', 'a'), issue('minor', 'b')), { maxLength: 3 }),
    feedback: fc.constantFrom('', 'text'),
  });

  it('R14, X5: joined reviews approve only if all do, reject if any does, and keep every issue', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.constantFrom('code', 'security', 'product'), anyReview, { minKeys: 2 }),
        (reviews) => {
          const all = Object.values(reviews);
          const { decision, passed, issues, severity } = joinReviews(reviews);
          expect(passed).toBe(all.every((each) => each.decision === 'approved'));
          expect(decision === 'rejected').toBe(all.some((each) => each.decision === 'rejected'));
          expect(decision === 'approved').toBe(passed);
          expect(issues).toHaveLength(all.reduce((sum, each) => sum + each.issues.length, 0));
          const order = ['low', 'medium', 'high', 'critical'];
          const gravest = Math.max(-1, ...all.map((each) => order.indexOf(each.severity ?? '')));
          expect(severity).toBe(order[gravest] ?? null);
        },
      ),
    );
  });
});

describe('the phase at fault', () => {
  it.each([
    [[issue('major', 'Requirements')], 'research'],
    [[issue('major', 'missing_information')], 'research'],
    [[issue('major', 'ARCHITECTURE')], 'plan'],
    [[issue('major', 'security', 'the design lacks it')], 'implement'],
    [[issue('major', '', 'The requirements were misread')], 'research'],
    [[issue('major', 'other', 'a fault of understanding')], 'research'],
    [[issue('major', '', 'Some MISSING   information!')], 'research'],
    [[issue('major', '', 'the approach is wrong')], 'plan'],
    [[issue('major', '', 'designate a reproach')], 'implement'],
    [[issue('major', 'unknown', 'x')], 'implement'],
    [[issue('minor', 'requirements'), issue('major', 'design'), issue('critical', 'code')], 'plan'],
    [[issue('minor', 'requirements')], 'implement'],
    [[], 'implement'],
  ] as const)('R8: of %j is %s', (issues, phase) => {
    expect(phaseAtFault(issues)).toBe(phase);
  });

  it('R8: is the earliest that any issue above minor points to, in any order', () => {
    const anyIssue = fc.record({
      severity: fc.constantFrom('blocker', 'critical', 'major', 'minor'),
      category: fc.constantFrom('', 'code', 'design', 'requirements'),
      description: fc.constantFrom('', 'the requirements', 'the approach', 'words'),
    });
    fc.assert(
      fc.property(fc.array(anyIssue, { maxLength: 6 }), fc.nat(), (issues, turn) => {
        const each = issues
          .filter(({ severity }) => severity !== 'minor')
          .map((one) => phaseAtFault([one as never]));
        const expected = WORK_PHASES.find((phase) => each.includes(phase)) ?? FAULT_TABLE.otherwise;
        const turned = [...issues.slice(turn % 7), ...issues.slice(0, turn % 7)];
        expect(phaseAtFault(turned as never)).toBe(expected);
      }),
    );
  });
});

describe('the next actions', () => {
  const anyCard = (key: string): fc.Arbitrary<StoryCard> =>
    fc.record({
      key: fc.constant(key),
      id: fc.constant(key),
      title: fc.constant(key),
      stage: fc.constantFrom('unread', 'idle', 'busy', 'asking', 'ended'),
      complete: fc.record({ research: fc.boolean(), plan: fc.boolean(), implement: fc.boolean() }),
      review: fc.constantFrom('none', 'rejected', 'approved'),
      target: fc.constantFrom('research', 'plan', 'implement', null),
      refinements: fc.nat({ max: 4 }),
      max: fc.constantFrom(0, 1, 3, null),
      verdict: fc.constant(null),
      isSkipped: fc.constant(false),
      isFatal: fc.constant(false),
      reason: fc.constant(null),
      spent: fc.constant({ calls: 0, tokens: 0, costUsd: 0 }),
    });

  it('R3: have one action at most for each story, in the order of the table, and never a rework at the limit', () => {
    const cards = fc.tuple(...['a', 'b', 'c', 'd'].map(anyCard));
    const priorities = fc.record(
      Object.fromEntries(Object.keys(STORY_PRIORITIES).map((name) => [name, fc.nat({ max: 5 })])) as Record<
        keyof typeof STORY_PRIORITIES,
        fc.Arbitrary<number>
      >,
    );
    fc.assert(
      fc.property(cards, priorities, (given, table) => {
        const actions = nextActions(given, table);
        expect(new Set(actions.map(({ story }) => story)).size).toBe(actions.length);
        expect(actions).toEqual(actions.toSorted((one, other) => other.priority - one.priority));
        for (const { story, action, priority } of actions) {
          const card = given.find(({ key }) => key === story);
          expect(priority).toBe(table[action]);
          const isAtLimit = card?.max != null && card.refinements >= card.max;
          if (action === 'rework') expect(isAtLimit).toBe(false);
          if (card?.stage === 'idle' && card.review === 'rejected')
            expect(action).toBe(isAtLimit ? 'manual-intervention' : 'rework');
          expect(['busy', 'ended', 'unread']).not.toContain(card?.stage);
        }
        const waiting = given.filter(({ stage }) => stage === 'idle' || stage === 'asking');
        expect(actions).toHaveLength(waiting.length);
      }),
    );
  });

  it('R3: rework is 450 and comes first, a manual intervention last', () => {
    expect(STORY_PRIORITIES.rework).toBe(450);
    const inOrder = Object.entries(STORY_PRIORITIES).toSorted(([, one], [, other]) => other - one);
    expect(inOrder.map(([name]) => name)).toEqual([
      'rework',
      'create-pr',
      'review',
      'implement',
      'plan',
      'research',
      'manual-intervention',
    ]);
  });
});
