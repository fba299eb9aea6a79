import { describe, expect, it } from 'vitest';
import {
  answer,
  type GivenPhase,
  GUIDELINE,
  PIPELINE,
  phaseRun,
  RuntimeError,
  type StandardSchema,
  type Workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { decide, fail, failing, foundIn, play, readBack, toldIn } from '../support/phases.ts';
import { open, refusal } from '../support/runtimes.ts';

const delivery = phaseRun('delivery') as Workflow;
const ALL = PIPELINE.map(({ id }) => id);
const panel = phaseRun('delivery', { reviewers: { 'design-review': ['security', 'speed'] } }) as Workflow;

/** A schema that says what is wrong, if something is. */
const schema = (problemsOf: (value: unknown) => readonly string[]): StandardSchema => ({
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value) => {
      const issues = problemsOf(value).map((message) => ({ message }));
      return issues.length > 0 ? { issues } : { value };
    },
  },
});

const refusedPlan = (make: () => unknown): readonly string[] => {
  try {
    make();
  } catch (error) {
    if (error instanceof RuntimeError && error.code === 'BAD_PLAN')
      return (error as RuntimeError<'BAD_PLAN'>).fields.problems;
    throw error;
  }
  throw new Error('It was not refused.');
};

describe('issues and reports', () => {
  it('P1: an issue keeps its id, category, severity, description, evidence, impact and affected phases', async () => {
    const issue = {
      id: 'SEC-7',
      category: 'security',
      severity: 'critical',
      description: 'Anybody may delete users.',
      evidence: 'DELETE /users/{id} has no check',
      impact: 'all accounts can be lost',
      affected_phase: 'Both',
    };
    const played = await play(delivery, {
      'design-review': (_, nth) => (nth === 1 ? { overall_assessment: 'FAIL', issues: [issue] } : 'PASS'),
    });
    const { facts, telemetry } = await readBack(played);
    const [opened] = facts('correction.opened');
    expect(opened?.['defects']).toMatchObject([
      {
        id: 'SEC-7',
        category: 'security',
        severity: 'critical',
        description: issue.description,
        details: { evidence: issue.evidence, impact: issue.impact },
        phases: ['planning', 'design'],
        injected: 'planning',
      },
    ]);
    for (const phase of ['planning', 'design'])
      expect(played.requests[phase]?.[1]?.feedback).toMatchObject([
        { from: 'design-review', issues: [{ id: 'SEC-7', evidence: issue.evidence, impact: issue.impact }] },
      ]);
    expect(telemetry.defects).toMatchObject([
      { id: 'SEC-7', injected: 'planning', detected: 'design-review' },
    ]);
  });

  it.each([
    ['Desing', 'names the phase "Desing", which is not in the pipeline (planning, design, design-review,'],
    [['Planning', 'Deployment'], 'names the phase "Deployment", which is not in the pipeline'],
    ['code', 'names the phase "code", which does not come before "design-review"'],
    [7, 'names 7, which is not the name of a phase'],
  ])('P1: the phase %j is refused by name, and only its reviewer writes again', async (named, problem) => {
    const played = await play(panel, {
      security: (_, nth) => (nth === 1 ? fail(['no login', named]) : 'PASS'),
      speed: () => ({ assessment: 'pass', issues: [] }),
    });
    const { result, facts } = await readBack(played);
    expect(result.verdict).toBe('verified');
    expect(played.calls.slice(0, 6)).toEqual(['planning', 'design', 'security', 'speed', 'security', 'code']);
    const [told] = toldIn(played, 'security', 2);
    expect(told?.description).toContain(problem);
    expect(facts('correction.opened')).toMatchObject([
      { finding: 'report', detected: 'design-review', failed: 1 },
    ]);
  });

  it.each([
    ['what is not one', 'looks fine to me'],
    ['nothing', null],
    ['an assessment that there is not', { assessment: 'MAYBE', issues: [] }],
  ])('P2: a report that is %s does not pass, and is written again', async (_, output) => {
    const played = await play(delivery, { 'code-review': (__, nth) => (nth === 1 ? output : 'PASS') });
    const { result } = await readBack(played);
    expect(result.verdict).toBe('verified');
    expect(played.calls.filter((role) => role === 'code-review')).toHaveLength(2);
    expect(played.calls.filter((role) => role === 'code')).toHaveLength(1);
  });

  it('P2: a report has an assessment, all issues, and the same by phase, of all reviewers', async () => {
    const played = await play(panel, {
      security: (_, nth) => (nth === 1 ? fail(['no login', 'Planning'], ['weak hash', 'design']) : 'PASS'),
      speed: (_, nth) =>
        nth === 1
          ? {
              overall_assessment: 'NEEDS_IMPROVEMENT',
              design_phase_issues: [{ severity: 'low', category: 'speed', description: 'no index' }],
            }
          : 'PASS',
    });
    const { facts } = await readBack(played);
    const [report] = facts('review.reported');
    expect(report).toMatchObject({ phase: 'design-review', pass: 1, assessment: 'fail', passed: false });
    const groups = report?.['byPhase'] as Record<string, { description: string }[]>;
    const words = (list: unknown) =>
      (list as { description: string }[]).map(({ description }) => description);
    expect(words(report?.['issues'])).toEqual(['no login', 'weak hash', 'no index']);
    expect(words(groups['planning'])).toEqual(['no login']);
    expect(words(groups['design'])).toEqual(['weak hash', 'no index']);
  });

  it.each([
    ['PASS', 'fail', 'pass', 1],
    ['FAIL', 'fail', 'fail', 2],
    ['NEEDS_IMPROVEMENT', 'fail', 'needs_improvement', 2],
    ['needs improvement', 'pass', 'needs_improvement', 1],
    ['FAIL', 'pass', 'fail', 2],
  ] as const)(
    'P2: %s, if improvement counts as %s, is %s and leads to %i designs',
    async (said, counts, meant, designs) => {
      const declared = phaseRun('delivery', { needsImprovement: counts }) as Workflow;
      const played = await play(declared, {
        'design-review': (_, nth) =>
          nth === 1 ? { assessment: said, issues: [{ description: 'names', severity: 'low' }] } : 'PASS',
      });
      const { facts, result } = await readBack(played);
      expect(result.verdict).toBe('verified');
      expect(facts('review.reported')[0]).toMatchObject({ assessment: meant, passed: designs === 1 });
      expect(played.calls.filter((role) => role === 'design')).toHaveLength(designs);
    },
  );
});

describe('routing', () => {
  it('P3: an issue goes to the earliest phase at fault, and what depends on it follows, up to the review', async () => {
    const played = await play(delivery, { 'code-review': failing(1, ['design', 'planning', 'code']) });
    const { facts } = await readBack(played);
    expect(facts('correction.routed')).toMatchObject([
      { id: 'c1', earliest: 'planning', phases: ['planning', 'design', 'code'] },
    ]);
    const first = ['planning', 'design', 'design-review', 'code', 'code-review'];
    expect(played.calls).toEqual([...first, ...first, 'test', 'postmortem']);
  });

  it('P3: only the phase at fault gets the feedback; those after it see what it has made of it', async () => {
    const played = await play(delivery, { 'design-review': failing(1, 'planning') });
    await readBack(played);
    expect(played.requests['planning']?.[1]?.feedback).toMatchObject([
      { from: 'design-review', pass: 1, issues: [{ description: 'beta is missing' }] },
    ]);
    expect(played.requests['planning']?.[1]?.history).toMatchObject([{ output: { made: 'planning 1' } }]);
    expect(played.requests['design']?.[1]?.feedback).toEqual([]);
    expect(played.requests['design']?.[1]?.input.inputs).toEqual({ planning: { made: 'planning 2' } });
  });

  it.each([
    ['unknown', fail(['odd', 'unknown'])],
    ['not said', fail(['odd'])],
    ['empty', fail(['odd', []])],
    ['null', fail(['odd', null])],
  ])(
    'P4: if the phase is %s, the last one before the review is corrected, and why is on record',
    async (_, report) => {
      const played = await play(delivery, { 'code-review': (__, nth) => (nth === 1 ? report : 'PASS') });
      const { facts, telemetry } = await readBack(played);
      expect(facts('correction.routed')).toMatchObject([{ phases: ['code'] }]);
      const reason = 'No phase was named: "code" is the last one before "code-review".';
      expect(telemetry.defects).toMatchObject([{ injected: 'code', reason }]);
      expect(played.requests['code']?.[1]?.feedback).toMatchObject([{ issues: [{ reason }] }]);
    },
  );

  it.each([['FAIL'], [false], [{ passed: false }], [{ assessment: 'fail', issues: [] }]])(
    'P4: %j without issues goes to the last phase before the review',
    async (output) => {
      const played = await play(delivery, { test: (_, nth) => (nth === 1 ? output : 'PASS') });
      const { facts, telemetry } = await readBack(played);
      expect(facts('correction.routed')).toMatchObject([{ phases: ['code'] }]);
      expect(telemetry.defects).toMatchObject([
        {
          injected: 'code',
          category: 'unnamed',
          reason: 'No issue was named: "code" is the last phase before "test".',
        },
      ]);
    },
  );

  it('P4: a person puts an issue to another phase while it is corrected, which is in the audit', async () => {
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const played = await play(delivery, {
      'design-review': failing(1, 'design'),
      design: async ({ input, signal }, nth) => {
        if (nth === 2) {
          begin();
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        }
        return { made: `design ${nth}`, of: input.inputs['planning'] };
      },
    });
    await begun;
    const [defect] = await foundIn(played);
    await played.run.send(
      {
        type: 'issue.reclassify',
        issue: defect?.id ?? '',
        phases: ['planning'],
        note: 'never planned',
        by: 'ada',
      },
      { by: 'ada' },
    );
    const { result, facts, telemetry } = await readBack(played);
    expect(result.verdict).toBe('verified');
    expect(played.requests['planning']?.[1]?.feedback).toMatchObject([
      { issues: [{ description: 'beta is missing' }] },
    ]);
    // The work that was under way was taken back, and the next one is not told what is not its own.
    expect(played.requests['design']?.map(({ feedback }) => feedback.length)).toEqual([0, 1, 0]);
    expect(facts('issue.reclassified')).toMatchObject([
      { from: ['design'], phases: ['planning'], note: 'never planned', by: 'ada' },
    ]);
    expect(telemetry.defects).toMatchObject([{ injected: 'planning', reason: 'A person has put it there.' }]);
  });

  it('P4: put elsewhere while a person is asked, it goes there; and the same issue goes there from then on', async () => {
    const declared = phaseRun('delivery', { limits: { rounds: 2 }, phases: oneFailure() }) as Workflow;
    const same = fail(['no login', 'design', { id: 'S1' }]);
    const played = await play(declared, { 'design-review': (_, nth) => (nth <= 2 ? same : 'PASS') });
    await played.run.settled();
    await played.run.send({
      type: 'issue.reclassify',
      issue: 'S1',
      phases: ['Planning'],
      note: null,
    });
    await decide(played, 'continue');
    const { result, facts } = await readBack(played);
    expect(result.verdict).toBe('verified');
    expect(facts('correction.routed')).toMatchObject([{ phases: ['planning'] }, { phases: ['planning'] }]);
    expect(played.requests['design']?.every(({ feedback }) => feedback.length === 0)).toBe(true);
  });

  it('P4: what cannot be put there stays where it is', async () => {
    const played = await play(phaseRun('delivery', { phases: oneFailure() }) as Workflow, {
      'design-review': failing(1, 'design'),
    });
    await played.run.settled();
    for (const message of [
      { issue: 'design-review-1-1', phases: ['code'] },
      { issue: 'design-review-1-1', phases: ['nowhere'] },
      { issue: 'design-review-1-1', phases: [] },
      { issue: 'design-review-1-1', phases: 'x' as never },
      { issue: 'nobody', phases: ['planning'] },
    ])
      await played.run.send({ type: 'issue.reclassify', note: null, ...message });
    await decide(played, 'continue');
    const { facts } = await readBack(played);
    expect(facts('issue.reclassified')).toEqual([]);
    expect(facts('correction.routed')).toMatchObject([{ phases: ['design'] }]);
  });

  it('P8: issues in two phases correct both, earliest first, each with its own feedback, in one pass', async () => {
    const played = await play(delivery, {
      'code-review': (_, nth) =>
        nth === 1 ? fail(['no index', 'design'], ['no login', 'planning'], ['no export', 'Both']) : 'PASS',
    });
    const { facts, result, telemetry } = await readBack(played);
    const words = (role: string) => toldIn(played, role, 2).map(({ description }) => description);
    // The original dropped what was found wrong with the design as soon as the plan had an issue too.
    expect(words('planning')).toEqual(['no login', 'no export']);
    expect(words('design')).toEqual(['no index', 'no export']);
    expect(played.requests['code']?.[1]?.feedback).toEqual([]);
    expect(facts('correction.opened')).toHaveLength(1);
    const first = ['planning', 'design', 'design-review', 'code', 'code-review'];
    expect(played.calls).toEqual([...first, ...first, 'test', 'postmortem']);
    expect(telemetry.corrections).toMatchObject([
      { attempts: { planning: 1, design: 1, code: 1 }, reviews: { runs: 2 } },
    ]);
    expect(result.output?.spent.calls).toBe(12);
  });

  it('P8, P12: what is corrected beside each other runs once each, and what did not change not at all', async () => {
    const phases = [
      { id: 'server' },
      { id: 'client' },
      { id: 'docs', needs: ['client'] },
      { id: 'review', kind: 'review', needs: ['server', 'client', 'docs'] },
    ] as const satisfies readonly GivenPhase[];
    const played = await play(phaseRun('web', { phases }) as Workflow, {
      review: (_, nth) => (nth === 1 ? fail(['slow', 'client'], ['wrong', 'server']) : 'PASS'),
      client: (_, nth) => (nth === 1 ? 'client' : 'client'),
    });
    await readBack(played);
    expect(played.calls).toEqual(['server', 'client', 'docs', 'review', 'server', 'client', 'review']);
  });

  it('P12: several issues of one phase are one run of it', async () => {
    const played = await play(panel, {
      security: (_, nth) => (nth === 1 ? fail(['no login', 'planning'], ['no logout', 'planning']) : 'PASS'),
      speed: (_, nth) => (nth === 1 ? fail(['no cache', 'planning'], ['No login.', 'planning']) : 'PASS'),
    });
    const { telemetry } = await readBack(played);
    expect(played.calls.filter((role) => role === 'planning')).toHaveLength(2);
    const told = toldIn(played, 'planning', 2);
    // What both have found is one.
    expect(told.map(({ foundBy }) => foundBy)).toEqual([['security', 'speed'], ['security'], ['speed']]);
    expect(telemetry.metrics.correctionsByPhase).toEqual({ planning: 1, design: 1 });
  });

  it('P12: a phase whose input did not change does not run again, although one before it has', async () => {
    const played = await play(delivery, {
      'code-review': (_, nth) => (nth === 1 ? fail(['no login', 'planning'], ['typo', 'code']) : 'PASS'),
      design: () => ({ made: 'the same design' }),
      planning: () => 'the same plan',
    });
    const { result } = await readBack(played);
    expect(result.verdict).toBe('verified');
    const first = ['planning', 'design', 'design-review', 'code', 'code-review'];
    expect(played.calls).toEqual([...first, 'planning', 'code', 'code-review', 'test', 'postmortem']);
  });

  it('P12: if nothing has changed the review is not called again: a person is asked', async () => {
    const played = await play(delivery, {
      'design-review': failing(1, 'planning'),
      planning: () => 'the same plan',
    });
    await played.run.settled();
    expect(played.calls).toEqual(['planning', 'design', 'design-review', 'planning']);
    await decide(played, 'continue');
    const { result, facts } = await readBack(played);
    expect(facts('run.halted')).toMatchObject([{ verdict: 'stalled', met: { limit: 'unchanged' } }]);
    expect(result.verdict).toBe('verified');
    expect(played.calls.slice(4, 5)).toEqual(['design-review']);
  });
});

describe('pipelines', () => {
  it('P5: seven phases unless others are declared', async () => {
    const played = await play(delivery);
    const { result, events } = await readBack(played);
    expect(result.verdict).toBe('verified');
    expect(played.calls).toEqual(ALL);
    expect(ALL).toEqual(['planning', 'design', 'design-review', 'code', 'code-review', 'test', 'postmortem']);
    const started = events.find(({ type }) => type === 'pipeline.started')?.data['phases'] as {
      id: string;
      passes: number;
    }[];
    expect(started.map(({ passes }) => passes)).toEqual([3, 3, 3, 3, 3, 2, 3]);
  });

  it('P5: any other can be declared, in any order, with its dependencies', async () => {
    const phases = [
      { id: 'check', reviewers: ['ann', 'ben'], rule: { quorum: 1 }, needs: ['b', 'a'] },
      { id: 'b', needs: ['a'], agent: 'worker', with: { tone: 'short' } },
      { id: 'a', agent: 'worker' },
    ] as const satisfies readonly GivenPhase[];
    const played = await play(phaseRun('own', { phases }) as Workflow, {
      ann: () => fail(['no', 'a']),
      worker: ({ input }) => input.phase,
    });
    const { result } = await readBack(played);
    expect(result.verdict).toBe('verified');
    expect(played.calls).toEqual(['worker', 'worker', 'ann', 'ben']);
    expect(played.requests['worker']?.map(({ input }) => [input.phase, input.with])).toEqual([
      ['a', null],
      ['b', { tone: 'short' }],
    ]);
  });

  it('P5: all that is wrong with a declaration is told at once', () => {
    expect(
      refusedPlan(() =>
        phaseRun('x', {
          phases: [
            { id: 'a', needs: ['b'] },
            { id: 'b', needs: ['a', 'c'] },
          ],
        }),
      ),
    ).toEqual([
      'step "b" needs "c", which is neither a step nor a group',
      'the steps a, b wait for each other',
    ]);
    const phases: readonly GivenPhase[] = [
      { id: 'r', kind: 'review' },
      { id: 'a', reviewers: ['x'], kind: 'work', passes: -1 },
      { id: 'b', needs: ['a', 'q'], input: { a: 'missing', q: 'fine', z: 'fine' } },
      { id: 'q', kind: 'test', needs: ['a'], agent: 'y', reviewers: ['x'], output: 'fine' },
      { id: 'k', kind: 'odd' as never, output: lazy },
    ];
    expect(refusedPlan(() => phaseRun('x', { phases, functions: { fine: () => [] } }))).toEqual([
      'phase "r" comes after no phase that makes something',
      'phase "a" has reviewers, but makes something: choose one',
      'phase "a" may fail -1 passes: give an integer from 0, or null',
      'phase "q" has an agent and reviewers: choose one',
      'phase "q" gives a report, whose shape is fixed: leave `output` out',
      'phase "b" checks "q", which is a review: its report has a fixed shape',
      'phase "b" checks "z", which it does not need',
      'phase "b" checks a with the function "missing", which is not among `functions`',
      'phase "k" is of the kind "odd": choose work, review or test',
      'phase "k" comes after no phase that makes something',
      'phase "k" gives a report, whose shape is fixed: leave `output` out',
      'phase "k" checks output with an asynchronous schema: it has to answer at once',
    ]);
    expect(refusedPlan(() => phaseRun('x', { reviewers: { code: ['ann'], nobody: ['ben'] } }))).toEqual([
      '"code" has reviewers, but is neither a review nor a test of the pipeline',
      '"nobody" has reviewers, but is neither a review nor a test of the pipeline',
    ]);
  });

  it('P14: the postmortem is given the whole history of corrections as data', async () => {
    const played = await play(delivery, {
      'design-review': failing(1, 'planning'),
      test: failing(1, 'code'),
    });
    const { result } = await readBack(played);
    const [asked] = played.requests['postmortem'] ?? [];
    expect(asked?.input.history).toMatchObject({
      failedPasses: 2,
      runs: { planning: 2, design: 2, 'design-review': 2, code: 2, 'code-review': 2, test: 2, postmortem: 1 },
      corrections: [
        { id: 'c1', detected: 'design-review', attempts: { planning: 1, design: 1 }, outcome: 'verified' },
        { id: 'c2', detected: 'test', attempts: { code: 1 }, reviews: { runs: 2 }, outcome: 'verified' },
      ],
    });
    expect(asked?.input.history).toHaveProperty('corrections', result.output?.corrections);
    expect(played.requests['test']?.[0]?.input.history).toBeUndefined();
  });

  it('P15: a phase that works may return issues in place of an output, with the same routing and limits', async () => {
    const played = await play(delivery, {
      code: (_, nth) =>
        nth <= 2
          ? answer(null, {
              issues: [
                { description: `${nth === 1 ? 'sizes' : 'names'} are wrong`, affectedPhases: 'planning' },
              ],
            })
          : 'code',
    });
    const { result, facts, telemetry } = await readBack(played);
    expect(result.verdict).toBe('verified');
    const upTo = ['planning', 'design', 'design-review', 'code'];
    expect(played.calls).toEqual([...upTo, ...upTo, ...upTo, 'code-review', 'test', 'postmortem']);
    expect(facts('correction.opened')).toMatchObject([
      { detected: 'code', finding: 'work', pass: 1, failed: 1 },
      { detected: 'code', finding: 'work', pass: 2, failed: 2 },
    ]);
    expect(telemetry.corrections.map(({ outcome }) => outcome)).toEqual(['repeated', 'verified']);
  });

  it('P15: it is bounded like a review, and cannot blame a later phase, or nobody', async () => {
    const blames = (phases: unknown) => (_: unknown, nth: number) =>
      answer(null, { issues: [{ description: `${nth}${nth} is wrong`, affectedPhases: phases } as never] });
    const stop = phaseRun('delivery', { onLimit: 'stop' }) as Workflow;
    const bounded = await readBack(await play(stop, { code: blames('design') }));
    expect([bounded.result.verdict, bounded.result.output?.reason]).toEqual([
      'exhausted',
      '"code" has failed 3 passes, and may fail 3.',
    ]);
    const later = await play(stop, {
      design: (request, nth) => (nth === 1 ? blames('code')(request, nth) : 'design'),
    });
    expect((await readBack(later)).facts('correction.opened')).toMatchObject([
      { finding: 'report', detected: 'design' },
    ]);
    const first = await readBack(await play(stop, { planning: blames('unknown') }));
    expect([first.result.verdict, first.result.output?.reason]).toEqual([
      'failed',
      'The phase "planning" failed: it has found issues, but no phase before it could have made them',
    ]);
  });

  it('P16: reviewers are given the guideline as data, and a user can replace it', async () => {
    const usual = await play(delivery);
    await readBack(usual);
    expect(usual.requests['design-review']?.[0]?.input.attribution).toEqual({
      phases: ['planning', 'design', 'design-review'],
      guideline: GUIDELINE,
    });
    expect(usual.requests['planning']?.[0]?.input.attribution).toBeUndefined();
    const own = await play(phaseRun('delivery', { guideline: { planning: ['ours'] } }) as Workflow);
    const { facts } = await readBack(own);
    expect(own.requests['code-review']?.[0]?.input.attribution?.guideline).toEqual({ planning: ['ours'] });
    expect(facts('pipeline.started')).toMatchObject([{ guideline: { planning: ['ours'] } }]);
  });
});

describe('shapes', () => {
  const hasUnits = (value: unknown): readonly string[] =>
    Array.isArray((value as { units?: unknown }).units) ? [] : ['units: there are none'];
  const shaped = (phase: Partial<GivenPhase>, of: string) =>
    PIPELINE.map((each): GivenPhase => (each.id === of ? { ...each, ...phase } : each));

  it.each([
    ['a schema', schema(hasUnits)],
    ['a function of the workflow', 'hasUnits'],
  ])('P7: %s refuses an input: its maker mends it, and nobody else is called', async (_, shape) => {
    const declared = phaseRun('delivery', {
      phases: shaped({ input: { planning: shape } }, 'design'),
      functions: { hasUnits: (value) => hasUnits(value) },
    }) as Workflow;
    const played = await play(declared, {
      planning: (__, nth) => (nth === 1 ? { unit: 1 } : { units: [1] }),
    });
    const { result, facts, telemetry } = await readBack(played);
    expect(result.verdict).toBe('verified');
    expect(played.calls.slice(0, 3)).toEqual(['planning', 'planning', 'design']);
    expect(played.requests['planning']?.[1]?.feedback).toMatchObject([
      { from: 'design', issues: [{ category: 'structure', description: 'units: there are none' }] },
    ]);
    expect(facts('correction.opened')).toMatchObject([
      { finding: 'structure', detected: 'design', failed: 1, defects: [{ injected: 'planning' }] },
    ]);
    expect(telemetry.corrections).toMatchObject([{ attempts: { planning: 1 }, outcome: 'verified' }]);
  });

  it('P7: two makers are told at once, each of its own', async () => {
    const phases = [
      { id: 'a' },
      { id: 'b' },
      { id: 'c', needs: ['a', 'b'], input: { a: 'isTwo', b: 'isTwo' } },
    ] as const satisfies readonly GivenPhase[];
    const functions = { isTwo: (value: unknown) => (value === 2 ? [] : [`${String(value)} is not two`]) };
    const played = await play(phaseRun('two', { phases, functions }) as Workflow, {
      a: (_, nth) => nth,
      b: (_, nth) => nth,
    });
    const { facts } = await readBack(played);
    expect(played.calls).toEqual(['a', 'b', 'a', 'b', 'c']);
    expect(facts('correction.opened')).toHaveLength(1);
  });

  it('P7: what a phase makes is looked at too, before anybody is given it', async () => {
    const declared = phaseRun('delivery', {
      phases: shaped({ output: schema(hasUnits) }, 'planning'),
    }) as Workflow;
    const played = await play(declared, { planning: (_, nth) => (nth === 1 ? {} : { units: [] }) });
    const { result } = await readBack(played);
    expect([result.verdict, played.calls.slice(0, 3)]).toEqual([
      'verified',
      ['planning', 'planning', 'design'],
    ]);
  });

  it('P6, P7: structural rejections count for the phase and for the run; then a person is asked', async () => {
    const declared = phaseRun('delivery', {
      phases: shaped({ input: { planning: 'odd' } }, 'design'),
      functions: { odd: (value) => [`${JSON.stringify(value)} is odd`] },
    }) as Workflow;
    const played = await play(declared);
    await decide(played, 'cancel');
    const { result, facts } = await readBack(played);
    expect(result.verdict).toBe('cancelled');
    expect(played.calls).toEqual(['planning', 'planning', 'planning']);
    expect(facts('run.halted')).toMatchObject([
      {
        verdict: 'exhausted',
        met: { limit: 'passes', bound: 3, used: 3 },
        reason: '"design" has failed 3 passes, and may fail 3.',
      },
    ]);
  });

  it("P7: a large text is one; a task of the wrong shape is refused; a function that throws is nobody's defect", async () => {
    const isText = schema((value) =>
      typeof value === 'string' && value.length > 2_000 ? [] : ['no long text'],
    );
    const declared = phaseRun('delivery', {
      phases: shaped({ output: isText }, 'planning'),
      task: schema((value) => (value === 'a task' ? [] : ['not the task'])),
    }) as Workflow;
    const played = await play(declared, { planning: () => 'x'.repeat(300_000) });
    expect((await readBack(played)).facts('correction.opened')).toEqual([]);
    const runtime = await open<Workflow>({
      file: temporaryFile(),
      workflows: [declared],
      agents: {},
    });
    const refused = await refusal(runtime.start('delivery', 'another'), 'BAD_OPTION');
    expect(refused.message).toContain('not the task');
    const throwing = phaseRun('delivery', {
      onLimit: 'stop',
      phases: shaped({ input: { planning: 'bad' } }, 'design'),
      functions: {
        bad: () => {
          throw new Error('oh');
        },
      },
    }) as Workflow;
    const { result } = await readBack(await play(throwing));
    expect([result.verdict, result.output?.reason]).toEqual([
      'failed',
      'The phase "design" failed: "bad" cannot be checked: oh',
    ]);
  });
});

const lazy: StandardSchema = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: () => Promise.reject(new Error('too late')),
  },
};

/** The usual pipeline, whose design review may fail once. */
function oneFailure(): readonly GivenPhase[] {
  return PIPELINE.map((phase) => (phase.id === 'design-review' ? { ...phase, passes: 1 } : phase));
}
