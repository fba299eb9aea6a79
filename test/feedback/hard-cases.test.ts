import { expect, it } from 'vitest';
import {
  type AgentRequest,
  answer,
  type FeedbackRequest,
  type GivenFeedback,
  type GivenStep,
  isFeedbackRequest,
  planRun,
  type StepInput,
  type Workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { createGate } from '../support/draft-plan.ts';
import { expectReplays, open, refusal } from '../support/runtimes.ts';

type Request = AgentRequest<StepInput>;
type Work = (request: Request, nth: number) => unknown;
type Choose = (request: FeedbackRequest, nth: number) => unknown;
type PlanOptions = Omit<Parameters<typeof planRun>[1], 'steps'>;

interface Case {
  readonly steps: readonly GivenStep[];
  /** By agent: what it makes; undefined for something new. */
  readonly works?: Readonly<Record<string, Work>>;
  /** By agent: what it chooses; undefined for the first option. */
  readonly chooses?: Readonly<Record<string, Choose>>;
  readonly options?: PlanOptions;
  readonly others?: readonly Workflow[];
}

/** Starts a run of a plan. It is closed, and its log replayed, when `end` is called. */
const begin = async ({ steps, works = {}, chooses = {}, options = {}, others = [] }: Case) => {
  const file = temporaryFile();
  const calls: string[] = [];
  const requests: (Request & { readonly role: string })[] = [];
  const counts = new Map<string, number>();
  const nthOf = (name: string) => {
    const nth = (counts.get(name) ?? 0) + 1;
    counts.set(name, nth);
    return nth;
  };
  const agentOf = (role: string) => async (request: Request) => {
    const { input } = request;
    if (isFeedbackRequest(input)) {
      calls.push(`${role}?`);
      const choice = await chooses[role]?.(input, nthOf(`${role}?`));
      return choice ?? { option: input.options[0]?.option ?? null };
    }
    calls.push(role);
    requests.push({ ...request, role });
    const nth = nthOf(role);
    return (await works[role]?.(request, nth)) ?? { by: role, nth };
  };
  const roles = [
    ...new Set([
      ...steps.flatMap(({ id, agent, gate, run }) => (run ? [] : gate ? gate.reviewers : [agent ?? id])),
      ...Object.keys(works),
    ]),
  ];
  const persons = Object.keys(options.persons ?? {});
  const settings = Object.fromEntries(
    roles
      .filter((role) => steps.some(({ id, agent }) => (agent ?? id) === role))
      .map((role) => [role, { attempts: 1 }]),
  );
  const plan = planRun('p', { roles: settings, ...options, steps });
  const workflows: readonly Workflow[] = [plan as Workflow, ...others];
  const agents = Object.fromEntries(
    roles.filter((role) => !persons.includes(role)).map((role) => [role, agentOf(role)]),
  );
  const runtime = await open({ file, workflows, agents, printEscalations: false });
  const run = await runtime.start('p', 'task', { id: 'r' });
  /** How it stands when it has ended or waits for a person; a run that does neither is stuck. */
  const settled = async () => {
    const stuck = new Promise<'stuck'>((resolve) => setTimeout(() => resolve('stuck'), 15_000).unref());
    const state = await Promise.race([run.settled(), stuck]);
    if (state === 'stuck') return { verdict: 'stuck', asked: [] };
    const [record] = await runtime.runs();
    return { verdict: record?.verdict ?? null, asked: (await runtime.questions()).map(({ text }) => text) };
  };
  const answerFirst = async (option: string) => {
    const [question] = await runtime.questions();
    await runtime.answer(question?.id ?? '', option, { by: 'ann' });
  };
  const count = (name: string) => calls.filter((call) => call === name).length;
  const end = async () => {
    await runtime.close();
    await expectReplays(file, workflows);
  };
  return { runtime, run, calls, requests, settled, answerFirst, count, end };
};

const says = (...feedback: readonly GivenFeedback[]) => answer(null, { feedback });
const once =
  (...feedback: readonly GivenFeedback[]): Work =>
  (_, nth) =>
    nth === 1 ? says(...feedback) : undefined;

const CHAIN: readonly GivenStep[] = [
  { id: 'pm' },
  { id: 'arch', needs: ['pm'] },
  { id: 'dev', needs: ['arch'] },
  { id: 'qa', needs: ['dev'] },
];
const constraint = (more: Partial<GivenFeedback> = {}): GivenFeedback => ({
  type: 'constraint_violation',
  targets: ['arch', 'pm'],
  severity: 'blocking',
  description: 'no',
  requirement: 'R1',
  options: [{ option: 'x', rerun: ['arch'] }, { option: 'y' }],
  ...more,
});
const infeasible = (more: Partial<GivenFeedback> = {}): GivenFeedback => ({
  type: 'technical_infeasibility',
  targets: ['pm'],
  severity: 'high',
  description: 'too slow',
  requirement: 'R2',
  ...more,
});
const disagree = { arch: () => 'x', pm: () => 'y' };

it('X1, B2: with onLimit stop a constraint on which nobody agrees ends the run, although it was paused', async () => {
  const { settled, end } = await begin({
    steps: CHAIN,
    works: { dev: once(constraint()) },
    chooses: disagree,
    options: { onLimit: 'stop' },
  });
  expect(await settled()).toEqual({ verdict: 'stalled', asked: [] });
  await end();
});

it('B7: after a fix that failed a person has it tried again, and the targets choose something else', async () => {
  const { settled, answerFirst, end } = await begin({
    steps: CHAIN,
    works: {
      dev: once(constraint()),
      arch: (_, nth) => {
        if (nth === 2) throw new Error('boom');
      },
    },
    chooses: { arch: (_, nth) => (nth === 1 ? 'x' : 'y'), pm: (_, nth) => (nth === 1 ? 'x' : 'y') },
  });
  expect((await settled()).asked).toHaveLength(1);
  await answerFirst('retry');
  expect((await settled()).verdict).toBe('verified');
  await end();
});

it.each([
  ['stop', 'stalled'],
  ['proposed:stop', 'verified'],
  ['proposed:proposed:stop', 'verified'],
])('B7, S8: of options that are called like ours, "%s" ends the run %s', async (option, verdict) => {
  const options = ['stop', 'retry', 'proposed:stop'].map((each) => ({ option: each }));
  const { runtime, settled, answerFirst, end } = await begin({
    steps: CHAIN,
    works: { dev: once(constraint({ options })) },
    chooses: { arch: () => 'stop', pm: () => 'retry' },
  });
  await settled();
  const [asked] = await runtime.questions();
  expect(asked?.options.map(({ id, isProposed = false }) => [id, isProposed])).toEqual([
    ['retry', false],
    ['accept', false],
    ['resolve', false],
    ['stop', false],
    ['proposed:stop', true],
    ['proposed:retry', true],
    ['proposed:proposed:stop', true],
  ]);
  await answerFirst(option);
  expect((await settled()).verdict).toBe(verdict);
  await end();
});

it('B2: what runs again may need a step that comes after it as well', async () => {
  const gate = createGate();
  const { settled, end } = await begin({
    steps: [{ id: 't' }, { id: 's', needs: ['t'] }, { id: 'e', needs: ['t'] }, { id: 'd', needs: ['e'] }],
    works: {
      s: async (_, nth) => {
        await gate.opened();
        return nth === 1
          ? says(constraint({ targets: ['t'], options: [{ option: 'x', rerun: ['t', 'd'] }] }))
          : undefined;
      },
      d: () => gate.open(),
    },
  });
  expect((await settled()).verdict).toBe('verified');
  await end();
});

it('B12: steps that wait for each other through what they need have a person find the way out', async () => {
  const { settled, end } = await begin({
    steps: [{ id: 'a' }, { id: 'c' }, { id: 'b', needs: ['a'] }, { id: 'd', needs: ['c'] }],
    works: {
      a: once(constraint({ targets: ['d'], requirement: 'one', options: [{ option: 'x', rerun: ['d'] }] })),
      c: once(constraint({ targets: ['b'], requirement: 'two', options: [{ option: 'x', rerun: ['b'] }] })),
    },
  });
  const { verdict, asked } = await settled();
  expect(verdict).toBeNull();
  expect(asked.join()).toContain('wait for each other');
  await end();
});

it('B12: a loop that pauses its run pauses the runs of its steps, and lets them go on', async () => {
  const [decides, works] = [createGate(), createGate()];
  const inner = planRun('inner', {
    steps: [
      { id: 'i1', agent: 'in1' },
      { id: 'i2', agent: 'in2', needs: ['i1'] },
    ],
  });
  const { calls, settled, run, end } = await begin({
    steps: [{ id: 'pm' }, { id: 'dev', needs: ['pm'] }, { id: 'n', run: inner, needs: ['pm'] }],
    works: {
      dev: once(constraint({ targets: ['pm'], options: [{ option: 'y' }] })),
      in1: () => works.opened().then(() => 'x'),
      in2: () => undefined,
    },
    chooses: { pm: () => decides.opened().then(() => 'y') },
    others: [inner],
  });
  await expect.poll(() => calls).toContain('pm?');
  works.open();
  await expect.poll(() => run.context.get('loops')).toBeDefined();
  expect(calls).not.toContain('in2');
  decides.open();
  expect((await settled()).verdict).toBe('verified');
  await end();
});

it('B9: two feedbacks about one requirement both reach their target', async () => {
  const { requests, settled, end } = await begin({
    steps: CHAIN,
    works: {
      dev: once(infeasible({ description: 'first thing' }), infeasible({ description: 'second thing' })),
    },
  });
  expect((await settled()).verdict).toBe('verified');
  const told = JSON.stringify(requests.filter(({ role }) => role === 'pm').map(({ feedback }) => feedback));
  expect(told).toContain('first thing');
  expect(told).toContain('second thing');
  await end();
});

it('B2: two steps of one agent that report the same each get the decision, and are called no more than that', async () => {
  const { settled, count, end } = await begin({
    steps: [{ id: 'pm' }, { id: 's1', agent: 'dev' }, { id: 's2', agent: 'dev', needs: ['s1'] }],
    works: {
      dev: ({ input }) =>
        input.decisions ? undefined : says(constraint({ targets: ['pm'], options: [{ option: 'y' }] })),
    },
  });
  expect((await settled()).verdict).toBe('verified');
  expect(count('dev')).toBe(4);
  await end();
});

it('B5: two checks about one requirement are accepted once each', async () => {
  const { settled, answerFirst, end } = await begin({
    steps: [{ id: 'a' }, { id: 'b' }, { id: 'z', needs: ['a', 'b'] }],
    works: {
      a: (_, nth) => ({ x: `a${nth}`, y: `a${nth}` }),
      b: (_, nth) => ({ x: `b${nth}`, y: `b${nth}` }),
    },
    chooses: { a: () => ({ value: 1 }), b: () => ({ value: 2 }) },
    options: {
      checks: [
        { id: 'c1', requirement: 'R', compare: ['agents.a.outputs.a.x', 'agents.b.outputs.b.x'] },
        { id: 'c2', requirement: 'R', compare: ['agents.a.outputs.a.y', 'agents.b.outputs.b.y'] },
      ],
    },
  });
  await settled();
  await answerFirst('accept');
  expect((await settled()).verdict).toBeNull();
  await answerFirst('accept');
  expect((await settled()).verdict).toBe('accepted');
  await end();
});

it('B4: the step of the pm that is meant is the one before, whatever other steps the pm has', async () => {
  const { settled, requests, end } = await begin({
    steps: [
      { id: 'prd', agent: 'pm' },
      { id: 'blog', agent: 'pm' },
      { id: 'code', agent: 'developer', needs: ['prd'] },
      { id: 'test', agent: 'qa', needs: ['code'] },
      { id: 'release', agent: 'pm', needs: ['test'] },
    ],
    works: {
      qa: once({ type: 'missing_requirement', targets: ['developer'], severity: 'high', description: 'no' }),
    },
  });
  expect((await settled()).verdict).toBe('verified');
  const corrected = requests.filter(({ feedback }) => feedback.length > 0).map(({ role }) => role);
  // The requirement is the pm's to add, also if only the developer was told.
  expect(corrected).toEqual(['pm', 'qa']);
  await end();
});

it('B5: of several steps of an agent a check corrects the one that it compares', async () => {
  const agreed: Work = ({ input }) => ({ x: input.decisions ? 'same' : Math.random() });
  const { settled, end } = await begin({
    steps: [
      { id: 'a1', agent: 'a' },
      { id: 'b1', agent: 'b' },
      { id: 'a2', agent: 'a' },
    ],
    works: { a: agreed, b: agreed },
    chooses: { a: () => ({ value: 'same' }), b: () => ({ value: 'same' }) },
    options: { checks: [{ id: 'c', compare: ['agents.a.outputs.a1.x', 'agents.b.outputs.b1.x'] }] },
  });
  expect((await settled()).verdict).toBe('verified');
  await end();
});

it('B7: a run of the source that began before the fix does not count as its validation', async () => {
  const [fix, second] = [createGate(), createGate()];
  const { runtime, run, count, settled, end } = await begin({
    steps: [{ id: 't' }, { id: 's' }],
    works: {
      s: async (_, nth) => {
        if (nth === 1) return answer('s1', { feedback: [infeasible({ targets: ['t'] })] });
        if (nth === 2) await second.opened();
        return `s${nth}`;
      },
      t: async (_, nth) => {
        if (nth > 1) await fix.opened();
      },
    },
  });
  await expect.poll(() => count('t')).toBe(2);
  await run.send({ type: 'step.rerun', step: 's', issues: [] });
  await expect.poll(() => count('s')).toBe(2);
  fix.open();
  await expect.poll(async () => (await runtime.feedback.loops('r'))[0]?.state).toBe('validating');
  second.open();
  expect((await settled()).verdict).toBe('verified');
  expect(count('s')).toBe(3);
  await end();
});

it('B7: a step on the way to the source that goes stale while it validates is not held for ever', async () => {
  const gate = createGate();
  const { run, count, settled, end } = await begin({
    steps: CHAIN,
    works: {
      dev: once(infeasible()),
      arch: async (_, nth) => {
        if (nth === 2) await gate.opened();
      },
    },
  });
  await expect.poll(() => count('arch')).toBe(2);
  await run.pause('me');
  gate.open();
  await expect.poll(async () => (await run.context.get('agents.arch.status')) as string).not.toBe('running');
  await run.send({ type: 'step.rerun', step: 'pm', issues: [{ description: 'more' }] });
  await run.resume('me');
  expect((await settled()).verdict).toBe('verified');
  await end();
});

it('K2, B12: a run whose loop waits for a person is settled, be it a target or one behind a pause', async () => {
  const person = await begin({
    steps: CHAIN,
    works: { dev: once(constraint({ type: 'own', targets: ['pm'], severity: 'low' })) },
    options: { persons: { pm: { text: 'What shall we build?' } } },
  });
  await person.settled();
  const [first] = await person.runtime.questions();
  await person.runtime.answer(first?.id ?? '', null, { value: 'prd' });
  await expect.poll(async () => (await person.settled()).asked).toEqual(['no']);
  await person.end();
  const behind = await begin({
    steps: [{ id: 'pm' }, { id: 'b' }, { id: 'dev', needs: ['pm'] }, { id: 'qa', needs: ['b'] }],
    works: {
      dev: once(constraint({ targets: ['pm'], options: [{ option: 'y' }] })),
      qa: once(infeasible({ targets: ['b'] })),
    },
    chooses: { pm: () => 'nonsense' },
  });
  expect((await behind.settled()).asked).toHaveLength(1);
  await behind.end();
});

it('B5, B6: a check that could not tell anyone is refused when the plan is declared', () => {
  const declare = (more: object) => () =>
    planRun('p', {
      steps: CHAIN,
      checks: [
        { id: 'g', metric: 'agents.arch.outputs.arch.n', by: { max: 0 }, responsible: ['arch'], ...more },
      ] as NonNullable<PlanOptions['checks']>,
    });
  expect(declare({})).not.toThrow();
  expect(declare({ responsible: ['dev'] })).toThrow(/"dev" comes after "orchestrator"|wait for each other/);
  expect(declare({ responsible: ['arch', 'arch'] })).toThrow(/"targets" has one twice/);
  expect(declare({ options: [{ option: 'a', rerun: ['nobody'] }] })).toThrow(/"nobody"/);
  expect(declare({ rule: { decider: 'pm' } })).toThrow(/"rule"/);
});

it('B5, B13: rules along a chain can be declared in any order, and what comes after a named step waits', async () => {
  const rule = (id: string, one: string, other: string) =>
    ({ id, compare: [`agents.${one}.outputs.${one}.x`, `agents.${other}.outputs.${other}.x`] }) as const;
  const checks = [rule('c1', 'pm', 'arch'), rule('c2', 'arch', 'dev')];
  for (const declared of [checks, checks.toReversed()])
    expect(() => planRun('p', { steps: CHAIN, checks: declared })).not.toThrow();
  const inner = planRun('inner', { steps: [{ id: 'i1', agent: 'in1' }] });
  const { settled, count, end } = await begin({
    steps: [{ id: 'pm' }, { id: 'n', run: inner, needs: ['pm'] }, { id: 'dev', needs: ['n'] }],
    works: { in1: () => ({ errors: 3 }) },
    options: {
      checks: [
        { id: 'c', metric: 'loops.n.outputs.i1.errors', by: { max: 0 }, responsible: ['pm'], after: ['n'] },
      ],
    },
    others: [inner],
  });
  expect((await settled()).asked).toHaveLength(1);
  expect(count('dev')).toBe(0);
  await end();
});

it('B2: a constraint beside a result, and one of a reviewer, reach the reporting agent as well', async () => {
  const beside = await begin({
    steps: CHAIN,
    works: {
      dev: ({ input }, nth) => (input.decisions ? { nth } : answer({ nth }, { feedback: [constraint()] })),
    },
  });
  expect((await beside.settled()).verdict).toBe('verified');
  expect(beside.requests.findLast(({ role }) => role === 'dev')?.input.decisions).toHaveLength(1);
  await beside.end();
  const reviewer = await begin({
    steps: [
      { id: 'pm' },
      { id: 'dev', needs: ['pm'] },
      { id: 'review', needs: ['dev'], gate: { reviewers: ['r1'], corrects: 'dev' } },
    ],
    works: {
      r1: ({ input }) => {
        const feedback = [constraint({ targets: ['pm'], options: [{ option: 'y' }] })];
        return answer({ passed: true, issues: [] }, input.decisions ? {} : { feedback });
      },
    },
  });
  expect((await reviewer.settled()).verdict).toBe('verified');
  expect(reviewer.requests.findLast(({ role }) => role === 'r1')?.input.decisions).toHaveLength(1);
  await reviewer.end();
});

it('B1: a reviewer can be asked to decide, but has nothing to fix', async () => {
  const steps: readonly GivenStep[] = [
    { id: 'pm' },
    { id: 'review', needs: ['pm'], gate: { reviewers: ['r1'], corrects: 'pm' } },
    { id: 'dev', needs: ['review'] },
  ];
  const r1: Work = () => ({ passed: true, issues: [] });
  const asked = await begin({
    steps,
    works: { r1, dev: once(constraint({ targets: ['r1'], options: [{ option: 'y' }] })) },
  });
  expect((await asked.settled()).verdict).toBe('verified');
  await asked.end();
  const fix = await begin({ steps, works: { r1, dev: once(infeasible({ targets: ['r1'] })) } });
  expect((await fix.settled()).asked.join()).toContain('has nothing to fix');
  await fix.end();
});

it('X1: what a person accepts is a debt once, with who took it, and feedback that is open is one too', async () => {
  const taken = await begin({ steps: CHAIN, works: { dev: once(constraint()) }, chooses: disagree });
  await taken.settled();
  await taken.answerFirst('accept');
  const { output } = await taken.run.result();
  expect(output).toMatchObject({ verdict: 'accepted', decidedBy: 'ann', debt: [{ description: 'no' }] });
  await taken.end();
  const halted = await begin({
    steps: CHAIN,
    works: { dev: once(infeasible({ targets: ['arch'] })), arch: () => 'same' },
  });
  await halted.settled();
  await halted.answerFirst('accept');
  expect((await halted.run.result()).output).toMatchObject({ debt: [{ description: 'too slow' }] });
  await halted.end();
});

it('X9: an ordinary loop leaves no dead letters', async () => {
  const { runtime, settled, end } = await begin({
    steps: CHAIN,
    works: { dev: once(constraint()), arch: once(infeasible()) },
  });
  expect((await settled()).verdict).toBe('verified');
  expect(await runtime.deadLetters()).toEqual([]);
  await end();
});

it('B9: what a target finds out while it decides is not lost', async () => {
  const { runtime, settled, end } = await begin({
    steps: CHAIN,
    works: { dev: once(constraint()) },
    chooses: {
      arch: (_, nth) =>
        nth === 1 ? answer({ option: 'y' }, { feedback: [infeasible({ requirement: 'from-arch' })] }) : 'y',
      pm: () => 'y',
    },
  });
  expect((await settled()).verdict).toBe('verified');
  expect((await runtime.feedback.loops('r')).map(({ subject }) => subject)).toEqual(['R1', 'from-arch']);
  await end();
});

it('B9, B11: bad details are named: a misspelt member, an option twice, a step of nobody, an option that there is not', async () => {
  const gate = createGate();
  const { runtime, calls } = await begin({
    steps: CHAIN,
    works: { dev: () => gate.opened() },
    chooses: { arch: () => gate.opened(), pm: () => gate.opened() },
  });
  await expect.poll(() => calls).toContain('dev');
  const problems = async (more: object) =>
    (
      await refusal(
        runtime.feedback.trigger({ run: 'r', source: 'dev', ...constraint(), ...more }),
        'BAD_FEEDBACK',
      )
    ).fields.problems.join();
  expect(await problems({ severty: 'low' })).toContain('there is no "severty"');
  expect(await problems({ options: [{ option: 'x' }, { option: 'x' }] })).toContain(
    '"options" has one twice',
  );
  expect(await problems({ from: 'qa' })).toContain('a step of none of the targets');
  const id = await runtime.feedback.trigger({
    run: 'r',
    source: 'dev',
    ...constraint({ requirement: 'auth/R1' }),
  });
  await refusal(runtime.feedback.resolve(id, { option: 'z' }), 'BAD_ANSWER');
  await runtime.feedback.resolve(id, { option: 'y', value: 7 });
  expect(await runtime.feedback.waitForResolution('auth/R1')).toMatchObject({ option: 'y', value: 7 });
  gate.open();
});
