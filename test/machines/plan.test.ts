import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { fixPlan, type GivenStep, needsOf, workersOf } from '../../src/machines/plan.ts';
import { somePlan } from '../support/random-plan.ts';
import { refused } from '../support/refused.ts';

const problemsOf = (steps: readonly GivenStep[]): readonly string[] =>
  refused(() => fixPlan(steps), 'BAD_PLAN').fields.problems;

const write: GivenStep = { id: 'write' };
const gate = { reviewers: ['critic'], corrects: 'write' };
const review: GivenStep = { id: 'review', needs: ['write'], gate };

/** Names that every object has, or that a path or an address could not hold. */
const BAD_IDS = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'hasOwnProperty',
  '',
  ' ',
  'a b',
  'a/b',
  'a#b',
  '.a',
  '-a',
  'ä',
  'a\n',
  'x'.repeat(101),
];

describe('fixPlan', () => {
  test.each<[string, readonly GivenStep[], readonly RegExp[]]>([
    ['no steps', [], [/no steps/]],
    ['a step twice', [write, write], [/"write" is there twice/]],
    ['a need that there is not', [{ ...write, needs: ['plan'] }], [/"write" needs "plan"/]],
    ['a step that needs itself', [{ ...write, needs: ['write'] }], [/write wait for each other/]],
    [
      'a cycle',
      [{ ...write, needs: ['b'] }, { id: 'b', needs: ['c'] }, { id: 'c', needs: ['write'] }, { id: 'd' }],
      [/steps write, b, c wait for each other/],
    ],
    [
      'a cycle through a group',
      [
        { id: 'a', group: 'g', needs: ['c'] },
        { id: 'b', group: 'g' },
        { id: 'c', needs: ['g'] },
      ],
      [/steps a, c wait for each other/],
    ],
    ['a step that needs its own group', [{ ...write, group: 'g', needs: ['g'] }], [/needs its own group/]],
    ['a group named like a step', [write, { id: 'b', group: 'write' }], [/"write" has the name of a group/]],
    ['a gate without reviewers', [write, { ...review, gate: { ...gate, reviewers: [] } }], [/no reviewers/]],
    [
      'a reviewer twice',
      [write, { ...review, gate: { ...gate, reviewers: ['critic', 'critic'] } }],
      [/a reviewer twice/],
    ],
    [
      'a gate with an agent',
      [write, { ...review, agent: 'critic' }],
      [/"review" has more than one of agent, gate and run/],
    ],
    [
      'a gate that corrects nothing',
      [write, { ...review, gate: { ...gate, corrects: 'plan' } }],
      [/corrects "plan"/],
    ],
    [
      'a gate that corrects itself',
      [write, { ...review, gate: { ...gate, corrects: 'review' } }],
      [/corrects "review"/],
    ],
    [
      'a gate that corrects a step beside it',
      [write, { id: 'other' }, { ...review, gate: { ...gate, corrects: 'other' } }],
      [/"review" corrects "other", which is not a step before it/],
    ],
    [
      'a gate that corrects a step after it',
      [write, { ...review, gate: { ...gate, corrects: 'after' } }, { id: 'after', needs: ['review'] }],
      [/corrects "after"/],
    ],
    [
      'a gate that corrects a group',
      [
        { ...write, group: 'g' },
        { ...review, needs: ['g'], gate: { ...gate, corrects: 'g' } },
      ],
      [/corrects "g"/],
    ],
    [
      'a path that there cannot be',
      [{ ...write, reads: ['a.b', 'a..b', '__proto__'] }],
      [/"a\.\.b"/, /"__proto__"/],
    ],
  ])('refuses %s, and names it', (_, steps, expected) => {
    const problems = problemsOf(steps);
    for (const pattern of expected) expect(problems.join('\n')).toMatch(pattern);
  });

  test.each([0, -1, 3, 1.5, Number.NaN, Number.POSITIVE_INFINITY])(
    'X5: refuses a quorum of %j of two reviewers',
    (quorum) => {
      const panel = { ...gate, reviewers: ['critic', 'judge'] };
      expect(problemsOf([write, { ...review, gate: { ...panel, rule: { quorum } } }])).toHaveLength(1);
      for (const fits of [1, 2]) fixPlan([write, { ...review, gate: { ...panel, rule: { quorum: fits } } }]);
    },
  );

  test.each(BAD_IDS)('S16: refuses %j as the id of a step, of an agent and of a reviewer', (bad) => {
    for (const steps of [
      [{ id: bad }],
      [{ ...write, agent: bad }],
      [write, { ...review, gate: { ...gate, reviewers: ['critic', bad] } }],
    ])
      expect(problemsOf(steps).join()).toContain(`"${bad}"`);
  });

  it('names every fault that a plan has, not only the first', () => {
    const problems = problemsOf([
      write,
      write,
      { id: '__proto__' },
      { id: 'lost', needs: ['nowhere'] },
      { id: 'a', needs: ['b'] },
      { id: 'b', needs: ['a'] },
      { id: 'g', needs: ['write'] },
      { id: 'h', group: 'g' },
      { id: 'empty', needs: ['write'], gate: { reviewers: [], corrects: 'write' } },
      { id: 'wrong', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'h' } },
      { id: 'many', needs: ['write'], gate: { ...gate, rule: { quorum: 2 } } },
    ]).join('\n');
    for (const pattern of [
      /"write" is there twice/,
      /"__proto__"/,
      /"lost" needs "nowhere"/,
      /steps a, b wait for each other/,
      /"g" has the name of a group/,
      /"empty" has no reviewers/,
      /"wrong" corrects "h"/,
      /"many" has 1 reviewers, of whom 2 cannot approve/,
    ])
      expect(problems).toMatch(pattern);
  });

  it('fills in what is not said', () => {
    expect(fixPlan([write, review])).toEqual({
      steps: [
        {
          id: 'write',
          agent: 'write',
          check: null,
          gate: null,
          nested: null,
          needs: [],
          group: null,
          with: null,
          reads: [],
        },
        {
          id: 'review',
          agent: null,
          check: null,
          gate: { reviewers: ['critic'], rule: 'all', corrects: 'write' },
          nested: null,
          needs: ['write'],
          group: null,
          with: null,
          reads: [],
        },
      ],
    });
  });

  it('accepts every plan in which all needs come before, with groups and gates', () => {
    fc.assert(
      fc.property(somePlan({ stepsMax: 8 }), (steps) => {
        const plan = fixPlan(steps);
        expect(plan.steps.map(({ id }) => id)).toEqual(steps.map(({ id }) => id));
        for (const step of plan.steps) {
          expect(workersOf(step).length).toBeGreaterThan(0);
          // Whoever needs a group needs all of it.
          const members = plan.steps.filter(
            ({ id, group }) => step.needs.includes(id) || (group !== null && step.needs.includes(group)),
          );
          expect(needsOf(plan, step)).toEqual(members);
        }
      }),
      { numRuns: 500 },
    );
  });

  it('accepts the steps of a plan in any order', () => {
    fc.assert(
      fc.property(
        somePlan({ stepsMax: 8 }).chain((steps) =>
          fc.shuffledSubarray([...steps], { minLength: steps.length }),
        ),
        (steps) => {
          fixPlan(steps);
        },
      ),
    );
  });

  // Method: a valid plan whose first step is made to need its last one, which follows from it.
  it('refuses every plan in which a step comes before itself', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 8 }), fc.nat(), fc.nat(), (length, from, to) => {
        const [low, high] = [from % length, to % length].sort((a, b) => a - b) as [number, number];
        const steps = Array.from(
          { length },
          (_, index): GivenStep => ({
            id: `s${index}`,
            needs: [...(index === 0 ? [] : [`s${index - 1}`]), ...(index === low ? [`s${high}`] : [])],
          }),
        );
        expect(problemsOf(steps).join()).toContain(`s${low}`);
      }),
    );
  });
});
