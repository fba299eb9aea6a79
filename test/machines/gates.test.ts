import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import type { Json } from '../../src/events/json.ts';
import type { Severity } from '../../src/events/severity.ts';
import { type Judgement, judge } from '../../src/machines/gates.ts';
import { type IssueRegistry, noteIssues, readIssues } from '../../src/machines/issues.ts';
import { fixPlan, type GateRule, type Step } from '../../src/machines/plan.ts';
import type { StepAnswer } from '../../src/machines/run-state.ts';

const ROLES = ['ann', 'ben', 'cat', 'dan'] as const;

const gateOf = (reviewers: readonly string[], rule: GateRule): Step => {
  const { steps } = fixPlan([
    { id: 'write' },
    { id: 'review', needs: ['write'], gate: { reviewers, rule, corrects: 'write' } },
  ]);
  const gate = steps.at(-1);
  if (!gate) throw new Error('A plan has its steps.');
  return gate;
};

type Answers = Readonly<Record<string, StepAnswer>>;

const judged = (
  reviewers: readonly string[],
  rule: GateRule,
  answers: Answers,
  registry: IssueRegistry = {},
): Judgement => judge(gateOf(reviewers, rule), { answers }, registry);

const output = (value: Json): StepAnswer => ({ output: value });
const issue = (severity: Severity, description = 'x'): Json => ({ severity, category: 'c', description });

/** What a reviewer can say, and what that is: whether it approves, and whether it blocks. */
const SAYINGS: readonly (readonly [said: StepAnswer, approves: boolean, blocks: boolean])[] = [
  [output({ passed: true }), true, false],
  [output({ passed: true, issues: [] }), true, false],
  [output({ passed: true, issues: [issue('low')] }), true, false],
  [output({ passed: true, issues: [issue('critical')] }), true, true],
  [output({ passed: false, issues: [issue('blocking')] }), false, true],
  [output({ passed: false, issues: [issue('critical')] }), false, true],
  [output({ passed: false, issues: [issue('high')] }), false, false],
  [output({ passed: false }), false, true],
  [output({ passed: false, issues: [] }), false, true],
  [output({ issues: [] }), true, false],
  [output({ issues: [issue('medium')] }), false, false],
  [output({ issues: [issue('blocking')] }), false, true],
  [{ output: 'see beside', issues: [] }, true, false],
  [{ output: null, issues: [issue('critical')] }, false, true],
  [{ output: { passed: true, issues: [] }, issues: [issue('critical')] }, true, true],
  [output(true), true, false],
  [output(false), false, true],
  [output({ option: 'approve', note: null }), true, false],
  [output({ decision: 'approved' }), true, false],
  [output({ option: 'reject', note: 'no' }), false, true],
  [output({ option: 'Approve' }), false, true],
  // What says nothing of approval is none.
  [output(null), false, true],
  [output({}), false, true],
  [output('approved'), false, true],
  [output(1), false, true],
  [output([]), false, true],
  [output({ passed: 'true' }), false, true],
  [output({ passed: 1 }), false, true],
  [output({ issues: 'none' }), false, true],
  [output({ issues: {} }), false, true],
];

describe('a review', () => {
  test.each(SAYINGS)('X5: %j: approves %j, blocks %j', (said, approves, blocks) => {
    const { passed, approvals, rejections, absent } = judged(['ann'], 'all', { ann: said });
    expect({ passed, approvals, rejections, absent }).toEqual({
      passed: approves,
      approvals: approves ? ['ann'] : [],
      rejections: approves ? [] : ['ann'],
      absent: [],
    });
    expect(judged(['ann'], 'any-blocker', { ann: said }).passed).toBe(!blocks);
    expect(judged(['ann'], { quorum: 1 }, { ann: said }).passed).toBe(approves);
  });

  it('X5: issues that a person rejected do not count, and a rejection for nothing else is none', () => {
    const found: Json = [issue('critical', 'one'), issue('blocking', 'two')];
    const noted = noteIssues({}, readIssues(found), { gate: 'review', pass: 1 });
    const rejecting = (...keys: readonly (string | undefined)[]): IssueRegistry =>
      Object.fromEntries(
        Object.entries(noted).map(([key, record]) => [
          key,
          keys.includes(record.fingerprint) ? { ...record, status: 'rejected' as const } : record,
        ]),
      );
    const [one, two] = readIssues(found).map(({ fingerprint }) => fingerprint);
    const answers = { ann: output({ passed: false, issues: found }) };
    for (const rule of ['all', 'any-blocker', { quorum: 1 }] as const) {
      expect(judged(['ann'], rule, answers, rejecting(one)).passed).toBe(false);
      expect(judged(['ann'], rule, answers, rejecting(one)).issues).toHaveLength(1);
      expect(judged(['ann'], rule, answers, rejecting(one, two))).toMatchObject({ passed: true, issues: [] });
    }
  });

  it('tells the corrected step every issue with all that was said of it, and by whom', () => {
    const { feedback } = judged(['ann', 'ben'], 'all', {
      ann: output({
        passed: false,
        issues: [{ severity: 'low', description: 'x', line: 3 }],
        feedback: 'again',
      }),
      ben: output({ option: 'reject', note: 'not like this' }),
    });
    expect(feedback).toEqual([
      { severity: 'low', category: '', description: 'x', line: 3, reviewer: 'ann' },
      { reviewer: 'ann', text: 'again' },
      { reviewer: 'ben', text: 'not like this' },
    ]);
  });
});

/** Those who are declared, and what each of them says; some say nothing. */
const somePanel = fc.subarray([...ROLES], { minLength: 1 }).chain((reviewers) =>
  fc.tuple(
    fc.constant(reviewers),
    fc.array(fc.option(fc.constantFrom(...SAYINGS), { freq: 4 }), {
      minLength: reviewers.length,
      maxLength: reviewers.length,
    }),
  ),
);

describe('the rule of a gate', () => {
  // Method: a panel of reviewers whose single answers are known from the table, against counting by hand.
  it('X5: counts against those that are declared: an absent reviewer has never approved', () => {
    fc.assert(
      fc.property(somePanel, ([reviewers, sayings]) => {
        const present = reviewers.flatMap((role, index) => {
          const saying = sayings[index];
          return saying ? [{ role, said: saying[0], approves: saying[1], blocks: saying[2] }] : [];
        });
        const answers = Object.fromEntries(present.map(({ role, said }) => [role, said]));
        const absent = reviewers.filter((role) => !present.some((each) => each.role === role));
        const approving = present.filter(({ approves }) => approves).map(({ role }) => role);

        const all = judged(reviewers, 'all', answers);
        expect(all.passed).toBe(approving.length === reviewers.length);
        expect(all).toMatchObject({ absent, approvals: approving });
        expect([...all.approvals, ...all.rejections, ...all.absent].sort()).toEqual([...reviewers].sort());

        expect(judged(reviewers, 'any-blocker', answers).passed).toBe(
          absent.length === 0 && !present.some(({ blocks }) => blocks),
        );
        for (let quorum = 1; quorum <= reviewers.length; quorum += 1)
          expect(judged(reviewers, { quorum }, answers).passed).toBe(approving.length >= quorum);
      }),
      { numRuns: 500 },
    );
  });

  it('X5: who is not declared has no voice', () => {
    const approval = output({ passed: true });
    const answers = { eve: approval, fay: approval, ann: approval };
    expect(judged(['ann', 'ben'], 'all', answers)).toMatchObject({ passed: false, absent: ['ben'] });
    expect(judged(['ann', 'ben'], 'any-blocker', answers).passed).toBe(false);
    expect(judged(['ann', 'ben'], { quorum: 2 }, answers).passed).toBe(false);
    expect(judged(['ben'], { quorum: 1 }, answers)).toMatchObject({ passed: false, approvals: [] });
    expect(
      judged(['ann'], 'any-blocker', {
        ...answers,
        eve: output({ passed: false, issues: [issue('blocking')] }),
      }).passed,
    ).toBe(true);
  });

  it('X5: nobody has answered: no rule passes', () => {
    for (const rule of ['all', 'any-blocker', { quorum: 1 }] as const)
      expect(judged([...ROLES], rule, {})).toEqual({
        passed: false,
        issues: [],
        approvals: [],
        rejections: [],
        absent: ROLES,
        feedback: [],
      });
  });

  it('X5: whatever reviewers answer, judging does not throw, and garbage does not approve', () => {
    // The log has no -0.
    const anyJson = fc
      .oneof(
        fc.jsonValue({ maxDepth: 4 }),
        fc.record(
          {
            passed: fc.jsonValue(),
            issues: fc.oneof(fc.jsonValue(), fc.array(fc.jsonValue())),
            decision: fc.jsonValue(),
            option: fc.jsonValue(),
            feedback: fc.jsonValue(),
            note: fc.jsonValue(),
          },
          { requiredKeys: [] },
        ),
      )
      .map((value) => JSON.parse(JSON.stringify(value)) as Json);
    const anyAnswer = fc.record({ output: anyJson, issues: anyJson }, { requiredKeys: ['output'] });
    const anyRule = fc.constantFrom<GateRule>('all', 'any-blocker', { quorum: 1 }, { quorum: 2 });
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...ROLES), anyAnswer), anyRule, (answers, rule) => {
        const { approvals, rejections, absent, feedback, passed } = judged([...ROLES], rule, answers);
        expect(approvals.length + rejections.length + absent.length).toBe(ROLES.length);
        expect(JSON.parse(JSON.stringify(feedback))).toEqual(feedback);
        if (passed && rule === 'all') expect(approvals).toEqual(ROLES);
        for (const role of approvals) expect(hasApproved(answers[role])).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});

/** Says in any form that it approves, or at least what it found. */
const hasApproved = (said: StepAnswer | undefined): boolean => {
  const text = JSON.stringify(said);
  return (
    said?.output === true ||
    Array.isArray(said?.issues) ||
    /"passed":true|"(?:decision|option)":"approved?"|"issues":\[/.test(text)
  );
};
