import { describe, expect, it } from 'vitest';
import { answer, type FeedbackRequest, type GivenCheck } from '../../src/index.ts';
import { play, type Request, rosterPlan } from '../support/roster.ts';

const BREAKPOINTS: GivenCheck = {
  id: 'breakpoints',
  compare: ['agents.ux-expert.outputs.ui_spec.base', 'agents.architect.outputs.architecture.base'],
};

/** Says what it is told to, once it is told anything. */
const says =
  (first: unknown) =>
  ({ input, feedback }: Request) => {
    const agreed = input.decisions?.at(-1)?.value ?? null;
    return { base: agreed ?? first, version: feedback.length + 1 };
  };

const SIDES = { 'ux-expert': says('320px'), architect: says('1024px') };
const toValue = (value: string) => () => ({ value });

describe('two results that contradict each other', () => {
  it('B5, B13, B14: both sides are asked to align, agree in the second round, and both artifacts change', async () => {
    const gives = ({ nth }: FeedbackRequest) => ({ value: nth === 1 ? '1024px' : '320px' });
    const { verdict, calls, asked, loops, context } = await play(
      { steps: SIDES, decides: { 'ux-expert': toValue('320px'), architect: gives } },
      { checks: [BREAKPOINTS] },
    );
    expect(verdict).toBe('verified');
    expect(asked.map(({ ask, nth, from }) => [ask, nth, from])).toEqual([
      ['align', 1, 'orchestrator'],
      ['align', 1, 'orchestrator'],
      ['align', 2, 'orchestrator'],
      ['align', 2, 'orchestrator'],
    ]);
    expect(asked[0]?.details['values']).toEqual({
      'agents.architect.outputs.architecture.base': '1024px',
      'agents.ux-expert.outputs.ui_spec.base': '320px',
    });
    // Each sees what the other said.
    expect(asked[2]?.answers.map(({ value }) => value).toSorted()).toEqual(['1024px', '320px']);
    expect(calls.slice(8).toSorted()).toEqual(['architect', 'developer', 'qa', 'ux-expert']);
    // The next group starts when group and loops are done.
    expect(calls.indexOf('developer')).toBeGreaterThan(calls.lastIndexOf('architect'));
    expect(loops).toMatchObject([
      { type: 'inconsistency', subject: 'breakpoints', status: 'resolved', resolution: { value: '320px' } },
    ]);
    expect(context).toMatchObject({
      agents: {
        architect: { outputs: { architecture: { base: '320px', version: 2 } } },
        'ux-expert': { outputs: { ui_spec: { base: '320px', version: 2 } } },
      },
    });
  });

  it('B5: two that disagree twice have a person decide', async () => {
    const { verdict, loops, calls } = await play(
      { steps: SIDES, decides: { 'ux-expert': toValue('320px'), architect: toValue('1024px') } },
      { checks: [BREAKPOINTS] },
    );
    expect(verdict).toBeNull();
    expect(calls).not.toContain('developer');
    expect(loops).toMatchObject([{ status: 'escalated', escalationReason: 'the targets do not agree' }]);
  });

  it('B5, B14: a critical one pauses the run until they agree on one of its options', async () => {
    const options = ['drop_ie11', 'use_polyfills', 'downgrade', 'two_builds'].map((option) => ({ option }));
    const { verdict, loops, context } = await play(
      {
        steps: {
          pm: ({ input }) => ({ browsers: input.decisions ? ['chrome'] : ['chrome', 'ie11'] }),
          architect: ({ input }) => ({ supports: ['chrome'], knows: input.decisions?.length ?? 0 }),
        },
      },
      {
        checks: [
          {
            id: 'browsers',
            compare: ['agents.pm.outputs.prd.browsers', 'agents.architect.outputs.architecture.supports'],
            by: 'subset',
            severity: 'critical',
            options,
          },
        ],
      },
    );
    expect(verdict).toBe('verified');
    expect(loops).toMatchObject([{ severity: 'critical', resolution: { option: 'drop_ie11' } }]);
    expect(context).toMatchObject({
      run: { paused: false },
      agents: { pm: { outputs: { prd: { browsers: ['chrome'] } } } },
    });
  });

  it('B5: what they agreed on and did not keep to is the next round; a person takes it as it is', async () => {
    const { loops, verdict } = await play(
      {
        steps: { 'ux-expert': () => ({ base: Math.random() }), architect: () => ({ base: 'other' }) },
        decides: { 'ux-expert': toValue('x'), architect: toValue('x') },
      },
      { checks: [BREAKPOINTS], limits: { unchanged: null, oscillations: null } },
    );
    expect(verdict).toBeNull();
    expect(loops[0]?.rounds).toHaveLength(3);
    expect(loops[0]?.escalationReason).toBe('The limit "rounds" of 3 was met.');
  });

  it.each([
    ['a function', { function: 'close' }],
    ['an agent', { agent: 'qa' }],
  ])('B5: %s may compare', async (_, by) => {
    const compares = ({ context }: Request) =>
      context === null ? { report: 'good' } : { consistent: true, seen: context };
    const { verdict, calls } = await play(
      { steps: { ...SIDES, qa: compares } },
      {
        checks: [{ ...BREAKPOINTS, by: by as never }],
        functions: { close: (a, b) => typeof a === typeof b },
      },
    );
    expect(verdict).toBe('verified');
    expect(calls.filter((call) => call === 'architect')).toHaveLength(1);
  });

  it('B5: a function that throws fails its step, and a person is asked', async () => {
    const { verdict, loops, calls } = await play(
      { steps: SIDES },
      {
        checks: [{ ...BREAKPOINTS, by: { function: 'bad' } }],
        functions: {
          bad: () => {
            throw new Error('no comparison');
          },
        },
      },
    );
    expect([verdict, loops, calls.includes('developer')]).toEqual([null, [], false]);
  });

  it('B5: a check that cannot work is refused when the plan is declared, with everything that is wrong', () => {
    const declare = (checks: readonly GivenCheck[]) => () => rosterPlan({ checks });
    expect(declare([{ id: 'x', compare: ['agents.pm.outputs.prd.a', 'agents.pm.outputs.prd.b'] }])).toThrow(
      /must be of two agents/,
    );
    expect(declare([{ ...BREAKPOINTS, id: 'prd' }])).toThrow(/step "prd" is there twice/);
    expect(declare([{ ...BREAKPOINTS, by: { function: 'none' } }])).toThrow(/calls the function "none"/);
    expect(
      declare([{ id: 'x', metric: 'agents.qa.outputs.nothing', by: { max: 0 }, responsible: ['boss'] }]),
    ).toThrow(/no step is of the agent "boss".*is not in the output of a step/);
  });
});

describe('a quality gate', () => {
  const fixes = ({ feedback }: Request) => ({
    violations: feedback.length === 0 ? ['contrast', 'keyboard'] : [],
  });

  it('B6, B14: accessibility: the responsible agent fixes the artifact, what depends on it waits', async () => {
    const { verdict, calls, loops, requests } = await play(
      { steps: { 'ux-expert': fixes } },
      {
        checks: [
          {
            id: 'wcag',
            metric: 'agents.ux-expert.outputs.ui_spec.violations',
            by: { max: 0 },
            responsible: ['ux-expert'],
            artifact: 'ui_spec',
            description: 'There are accessibility violations.',
          },
        ],
      },
    );
    expect(verdict).toBe('verified');
    expect(calls.slice(4)).toEqual(['ux-expert', 'developer', 'qa']);
    expect(loops).toMatchObject([
      {
        type: 'quality_gate',
        subject: 'wcag',
        status: 'resolved',
        details: {
          gate: 'wcag',
          artifact: 'ui_spec',
          threshold: 'at most 0',
          actual: 2,
          violations: ['contrast', 'keyboard'],
        },
        rounds: [{ validated: true }],
      },
    ]);
    expect(requests.at(-3)?.feedback).toMatchObject([
      { from: 'orchestrator', issues: [{ artifact: 'ui_spec', violations: ['contrast', 'keyboard'] }] },
    ]);
  });

  it('B6, B14: performance: each of several responsible agents gets its request; measured again when all fixes are in', async () => {
    const better = ({ feedback }: Request) => ({ fixed: feedback.length > 0 });
    const measured: number[] = [];
    const { verdict, calls, loops, requests } = await play(
      {
        steps: {
          architect: better,
          'ux-expert': better,
          developer: better,
          qa: ({ input }) => {
            const { fixed } = input.inputs['code'] as { fixed: boolean };
            measured.push(fixed ? 95 : 67);
            return { score: fixed ? 95 : 67 };
          },
        },
      },
      {
        checks: [
          {
            id: 'lighthouse',
            metric: 'agents.qa.outputs.report.score',
            by: { min: 90 },
            responsible: {
              architect: 'review the choice of technology',
              developer: 'split the code',
              'ux-expert': 'smaller images',
            },
            severity: 'high',
          },
        ],
      },
    );
    expect(verdict).toBe('verified');
    expect(measured).toEqual([67, 95]);
    expect(calls.slice(6).toSorted()).toEqual(['architect', 'developer', 'qa', 'ux-expert']);
    expect(calls.at(-1)).toBe('qa');
    expect(loops).toMatchObject([{ status: 'resolved', details: { actual: 67, threshold: 'at least 90' } }]);
    expect(Object.keys(loops[0]?.rounds[0]?.responses ?? {})).toEqual([
      'architect',
      'developer',
      'ux-expert',
    ]);
    const asked = requests.flatMap(({ feedback }) => feedback as { issues: { requests: object }[] }[]);
    expect(asked[0]?.issues[0]?.requests).toMatchObject({ developer: 'split the code' });
  });

  it('B6: an agent may measure, and say what is behind it', async () => {
    const rootCauses = [{ name: 'bundle', actual: '2.5 MB', target: '500 KB' }];
    const { verdict, requests } = await play({
      steps: {
        qa: ({ feedback }) =>
          feedback.length > 0
            ? { score: 95 }
            : answer(null, {
                feedback: [
                  {
                    type: 'quality_gate',
                    targets: ['developer'],
                    severity: 'high',
                    description: 'The bundle is too large.',
                    details: { gate: 'budget', metric: 'score', threshold: 90, actual: 67, rootCauses },
                  },
                ],
              }),
      },
    });
    expect(verdict).toBe('verified');
    expect(requests.at(-2)?.feedback).toMatchObject([{ issues: [{ rootCauses }] }]);
  });
});
