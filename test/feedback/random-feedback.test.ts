import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type AgentRequest,
  answer,
  createRuntime,
  type GivenCheck,
  type GivenFeedback,
  type GivenStep,
  isFeedbackRequest,
  type OpenQuestion,
  planRun,
  type Severity,
  type StepInput,
  type Workflow,
} from '../../src/index.ts';
import { Random } from '../simulation/random.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { expectReplays, rounds } from '../support/runtimes.ts';

const TYPES = [
  'constraint_violation',
  'technical_infeasibility',
  'missing_requirement',
  'quality_gate',
  'inconsistency',
  'our own',
];
const SEVERITIES: readonly Severity[] = ['blocking', 'critical', 'high', 'low'];

interface AnyPlan {
  readonly steps: readonly (GivenStep & { readonly needs: readonly string[] })[];
  readonly checks: readonly GivenCheck[];
}

const anyPlan = (random: Random): AnyPlan => {
  const ids = Array.from({ length: 3 + random.below(4) }, (_, index) => `s${index}`);
  const steps = ids.map((id, index) => ({ id, needs: ids.slice(0, index).filter(() => random.chance(0.4)) }));
  const [one = 's0', other = 's1'] = [ids[random.below(2)], ids[2]];
  const path = (id: string) => `agents.${id}.outputs.${id}.value`;
  const checks: readonly GivenCheck[] = random.chance(0.4)
    ? [{ id: 'same', compare: [path(one), path(other)], severity: random.chance(0.5) ? 'high' : 'critical' }]
    : [];
  return { steps, checks };
};

/** Steps that come after one, however far on. */
const after = ({ steps }: AnyPlan, id: string): ReadonlySet<string> => {
  const later = new Set<string>();
  for (const step of steps) if (step.needs.some((need) => need === id || later.has(need))) later.add(step.id);
  return later;
};

/** Anything that an agent may report to those before or beside it. */
const anyFeedback = (random: Random, plan: AnyPlan, from: string): GivenFeedback | undefined => {
  const later = after(plan, from);
  const others = plan.steps.map(({ id }) => id).filter((id) => id !== from && !later.has(id));
  const some = () => others[random.below(others.length)] ?? '';
  if (others.length === 0) return undefined;
  const options = [
    { option: 'again', rerun: [...new Set([some(), some()])], keep: random.chance(0.2) },
    { option: 'so be it' },
    { option: 'debt', debt: true },
  ];
  return {
    type: TYPES[random.below(TYPES.length)] ?? '',
    targets: [...new Set([some(), some()])],
    severity: SEVERITIES[random.below(SEVERITIES.length)] ?? 'low',
    description: `fault ${random.below(3)}`,
    ...(random.chance(0.6) && { requirement: `R${random.below(2)}` }),
    ...(random.chance(0.6) && { options }),
    ...(random.chance(0.2) && { rule: 'first' as const }),
  };
};

/** An agent that works, fails, reports and decides as it likes, until it has had enough. */
const anyAgent = (random: Random, plan: AnyPlan, patience: { left: number }) => {
  const reports = (id: string) =>
    [anyFeedback(random, plan, id), ...(random.chance(0.25) ? [anyFeedback(random, plan, id)] : [])].filter(
      (feedback) => feedback !== undefined,
    );
  return (id: string) =>
    ({ input }: AgentRequest<StepInput>): unknown => {
      const isTired = patience.left <= 0;
      patience.left -= 1;
      if (isFeedbackRequest(input)) {
        if (random.chance(0.1)) return 'nonsense';
        const option = input.options[random.below(input.options.length)]?.option;
        return option === undefined ? { value: random.below(2) } : { option };
      }
      if (!isTired && random.chance(0.1)) throw new Error('out of order');
      const made = { value: isTired ? 0 : random.below(2), nth: patience.left };
      if (isTired || !random.chance(0.45)) return made;
      return answer(random.chance(0.7) ? null : made, { feedback: reports(id) });
    };
};

const decide = (random: Random, { options }: OpenQuestion): string => {
  const ids = options.map(({ id }) => id).filter((id) => id !== 'stop' && id !== 'cancel');
  return ids[random.below(ids.length)] ?? 'accept';
};

// Method: random plans whose agents report anything to anyone, decide at random, fail, and give nonsense; persons answer what they are
// asked at random. Every run must end, or wait for a person who is asked something: never stand still.
it('K5, G14: whatever agents report and decide, a run ends or asks a person, and replays', async () => {
  await fc.assert(
    fc.asyncProperty(fc.nat(), async (seed) => {
      const random = new Random(seed);
      const plan = anyPlan(random);
      const file = temporaryFile();
      const agentOf = anyAgent(random, plan, { left: 25 });
      const roles = Object.fromEntries(plan.steps.map(({ id }) => [id, { attempts: 1 }]));
      const workflows: readonly Workflow[] = [
        planRun('any', { ...plan, roles, limits: { calls: 120 } }) as Workflow,
      ];
      const agents = Object.fromEntries(plan.steps.map(({ id }) => [id, agentOf(id)]));
      const runtime = await createRuntime({ file, workflows, agents, printEscalations: false });
      const run = await runtime.start('any', null, { id: 'r' });
      try {
        for (let asked = 0; asked < 40; asked += 1) {
          const standing = new Promise<'standing still'>((resolve) =>
            setTimeout(() => resolve('standing still'), 20_000).unref(),
          );
          const state = await Promise.race([run.settled(), standing]);
          expect(state).not.toBe('standing still');
          const [question] = await runtime.questions();
          if (!question) break;
          await runtime.answer(question.id, decide(random, question), { by: 'ann', value: 'so' });
        }
        const { status, tags } = await run.state();
        expect(status !== 'active' || tags.includes('waiting')).toBe(true);
      } finally {
        await runtime.close();
      }
      await expectReplays(file, workflows);
    }),
    { numRuns: rounds(12, 500, 5) },
  );
});
