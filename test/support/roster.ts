import { hashText } from '../../src/events/blob.ts';
import {
  type AgentRequest,
  answer,
  createRuntime,
  type FeedbackLoop,
  type FeedbackRequest,
  type GivenFeedback,
  isFeedbackRequest,
  planRun,
  ROSTER,
  type RuntimeOptions,
  type StepInput,
  type Workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { expectReplays, open } from './runtimes.ts';

export type Request = AgentRequest<StepInput>;

type PlanOptions = Omit<Parameters<typeof planRun>[1], 'steps'>;

export const rosterPlan = (options: PlanOptions = {}) =>
  planRun('product', {
    // Failures are meant in these tests: nothing is gained by waiting.
    roles: Object.fromEntries(ROSTER.map(({ agent }) => [agent, { attempts: 1 }])),
    ...options,
    steps: ROSTER,
  });

type Behaviour = (request: Request) => unknown;
type Decider = (request: FeedbackRequest) => unknown;

export interface Team {
  /** What an agent makes of its step; undefined for the usual. */
  readonly steps?: Readonly<Record<string, Behaviour>>;
  /** What it chooses when it is asked; undefined for the first option. */
  readonly decides?: Readonly<Record<string, Decider>>;
}

const ROLES = ['analyst', 'pm', 'architect', 'ux-expert', 'developer', 'qa'] as const;
type Role = (typeof ROLES)[number];

/** Agents that work by the book, unless a test says otherwise, and what they were called for. */
export const createTeam = (given: Team = {}) => {
  const calls: string[] = [];
  const requests: Request[] = [];
  const asked: FeedbackRequest[] = [];
  const work =
    (role: Role) =>
    async (request: Request): Promise<unknown> => {
      const { input } = request;
      if (isFeedbackRequest(input)) {
        asked.push(input);
        calls.push(`${role}?`);
        const choice = await given.decides?.[role]?.(input);
        return choice ?? { option: input.options[0]?.option ?? null };
      }
      calls.push(role);
      requests.push(request);
      return (await given.steps?.[role]?.(request)) ?? madeBy(role, request);
    };
  const agents = Object.fromEntries(ROLES.map((role) => [role, work(role)])) as Record<Role, Behaviour>;
  return { agents, calls, requests, asked };
};

/** What it made depends on what it was given. */
const madeBy = (role: Role, { input, feedback }: Request) => ({
  by: role,
  version: feedback.length + 1,
  from: Object.values(input.inputs).map((made) => hashText(JSON.stringify(made)).slice(0, 8)),
});

/** Sends feedback in place of a result, the first so many times. */
export const reports =
  (times: number, ...feedback: readonly GivenFeedback[]): Behaviour =>
  ({ feedback: heard }) =>
    heard.length < times ? answer(null, { feedback }) : undefined;

interface Played {
  readonly verdict: string | null;
  readonly calls: readonly string[];
  readonly requests: readonly Request[];
  readonly asked: readonly FeedbackRequest[];
  readonly loops: readonly FeedbackLoop[];
  readonly context: unknown;
  readonly debt: readonly { readonly description: string }[];
  readonly file: string;
}

/** Runs a plan to its end, or until it waits for a person, and gives what a second runtime reads back of it. */
export const play = async (
  team: Team,
  options: PlanOptions = {},
  runtimeOptions: Partial<RuntimeOptions<Workflow, never>> = {},
): Promise<Played> => {
  const file = temporaryFile();
  const plan = rosterPlan(options);
  const { agents, calls, requests, asked } = createTeam(team);
  const started = { file, workflows: [plan], agents, printEscalations: false, ...runtimeOptions };
  const runtime = await open(started as never);
  const run = await runtime.start('product', 'a shop', { id: 'r' });
  await run.settled();
  await runtime.close();
  const second = await createRuntime({ ...started, idle: true } as never);
  try {
    const [record] = await second.runs();
    const again = await second.run('r');
    const context = await again.context.get();
    const { debt } = (await again.state()).context as { debt: Played['debt'] };
    const loops = await second.feedback.loops('r');
    return { verdict: record?.verdict ?? null, calls, requests, asked, loops, context, debt, file };
  } finally {
    await second.close();
    await expectReplays(file, [plan]);
  }
};
