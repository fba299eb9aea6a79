import type { Registry } from '../actors/registry.ts';
import type { Json } from '../events/json.ts';
import { type FeedbackRequest, isFeedbackRequest } from '../machines/feedback-work.ts';
import { phaseMachine } from '../machines/phase-machine.ts';
import type { PhaseRunInput } from '../machines/phase-state.ts';
import { needsOf, type Plan, type Step, workersOf } from '../machines/plan.ts';
import { repeatMachine } from '../machines/repeat-loop.ts';
import { type RunInput, runMachine } from '../machines/run-machine.ts';
import { tightMachine } from '../machines/tight-machine.ts';
import { ASSUMED, isCoarse, outcomesOfPhases, withExploredShapes } from './explore-phases.ts';
import { type AgentOutcome, type Exploration, explore, type Proof } from './explorer.ts';
import { freshArtifact, freshIssue } from './reduce.ts';

/** What a run may cost at most, before it starts. */
export interface WorstCase extends Proof {
  /** In words: what a person reads before a run starts. */
  readonly text: string;
}

const FAILS: AgentOutcome = { name: 'fails', fails: true };

/** Whatever the agent of a step may do, as far as it makes a difference to the run. */
const WORKER: readonly AgentOutcome[] = [
  { name: 'makes something new', output: ({ nth }) => freshArtifact(nth) },
  { name: 'leaves it as it was', output: ({ nth, made }) => made.at(-1) ?? freshArtifact(nth) },
  { name: 'brings an earlier one back', output: ({ nth, made }) => earlierOf(made) ?? freshArtifact(nth) },
  FAILS,
];

/** One that says what it did, but not what it made; or that it is not done yet. */
const DEVELOPER: readonly AgentOutcome[] = [
  { name: 'implements', output: { summary: 'implemented', done: true } },
  { name: 'is not done', output: { summary: 'implemented', done: false } },
  FAILS,
];

/** The latest that is another than the last. */
const earlierOf = (made: readonly Json[]): Json | undefined => {
  const last = JSON.stringify(made.at(-1));
  return made.findLast((each) => JSON.stringify(each) !== last);
};

/** Whoever is asked to decide may choose anything, or nothing that there is. */
const deciderOf = ({ options }: FeedbackRequest): readonly AgentOutcome[] => [
  ...options.map(({ option }) => ({ name: `chooses ${option}`, output: { option } })),
  { name: 'gives a value', output: { value: 'the same' } },
  { name: 'chooses what there is not', output: { option: '?' } },
  FAILS,
];

const REVIEWER: readonly AgentOutcome[] = [
  { name: 'approves', output: { passed: true, issues: [] } },
  { name: 'finds a new issue', output: ({ nth }) => rejection(freshIssue(nth, 'critical')) },
  {
    name: 'finds the same issue',
    output: rejection({ severity: 'critical', category: 'same', description: 'the same' }),
  },
  FAILS,
];

/** It lets pass, but whoever needs the gate is given something else than before. */
const REMARKS: AgentOutcome = {
  name: 'approves with a new remark',
  output: ({ nth }) => ({ passed: true, issues: [freshIssue(nth, 'low')] }),
};

function rejection(issue: Json): Json {
  return { passed: false, issues: [issue] };
}

/** Feedback between agents is bounded too, but by far: whoever wants that proved says what is sent. */
const WITHOUT_FEEDBACK = ' (as long as no agent sends feedback)';

export type WorstCaseOptions = Partial<Pick<Exploration, 'outcomes' | 'reduce' | 'statesMax'>>;

/** Tries everything that the agents of a run may do. For a workflow that is not a plan, say what its agents may do. */
export const worstCase = async (
  registry: Registry,
  given: Pick<Exploration, 'workflow' | 'input'> & WorstCaseOptions,
  turnsPerRun: number,
): Promise<WorstCase> => {
  const own = given.outcomes ?? outcomesOf(registry, given);
  const outcomes: Exploration['outcomes'] = (agent, input) =>
    isFeedbackRequest(input) ? deciderOf(input) : own(agent, input);
  const phases = given.outcomes ? undefined : phasesOf(registry, given);
  const explored = phases ? withExploredShapes(registry, given.workflow, phases) : registry;
  const proof = await explore(explored, { ...given, outcomes });
  const cap = registry.newest(given.workflow)?.workflow.options.turnsMax ?? turnsPerRun;
  const mayTalk = registry.newest(given.workflow)?.workflow.machine === runMachine && !given.outcomes;
  const assumed = mayTalk ? WITHOUT_FEEDBACK : phases && isCoarse(phases) ? ASSUMED : '';
  return { ...proof, text: `${inWords(proof, cap)}${assumed}` };
};

/** What the agents of the package's own loops may do. */
const outcomesOf = (
  registry: Registry,
  { workflow, input }: Pick<Exploration, 'workflow' | 'input'>,
): Exploration['outcomes'] => {
  const registered = registry.newest(workflow)?.workflow;
  if (registered?.machine === repeatMachine) return () => DEVELOPER;
  if (registered?.machine === tightMachine) return (agent) => (agent === 'developer' ? DEVELOPER : REVIEWER);
  const phases = phasesOf(registry, { workflow, input });
  if (phases) return outcomesOfPhases(phases, WORKER);
  if (registered?.machine !== runMachine || !registered.options.prepare) return () => [];
  const { plan } = registered.options.prepare(input) as RunInput; // A plan run prepares nothing else.
  const plans = plansOf(plan);
  const steps = plans.flatMap((each) => each.steps);
  const reviewersOf = (some: readonly Step[]) =>
    new Set(some.flatMap((step) => (step.gate ? workersOf(step) : [])));
  const reviewers = reviewersOf(steps);
  const remarking = reviewersOf(plans.flatMap((each) => each.steps.flatMap((step) => needsOf(each, step))));
  const workers = new Set(steps.flatMap((step) => (step.gate ? [] : workersOf(step))));
  return (agent) => [
    ...(workers.has(agent) ? WORKER : []),
    ...(reviewers.has(agent) ? REVIEWER : []),
    ...(remarking.has(agent) ? [REMARKS] : []),
  ];
};

/** What a phase run is started with, if it is one. */
const phasesOf = (
  registry: Registry,
  { workflow, input }: Pick<Exploration, 'workflow' | 'input'>,
): PhaseRunInput | undefined => {
  const registered = registry.newest(workflow)?.workflow;
  if (registered?.machine !== phaseMachine) return undefined;
  return registered.options.prepare?.(input) as PhaseRunInput | undefined; // A phase run prepares nothing else.
};

/** With those that are run as its steps. */
const plansOf = (plan: Plan): readonly Plan[] => [
  plan,
  ...plan.steps.flatMap(({ nested }) => (nested ? plansOf((nested.input as unknown as RunInput).plan) : [])),
];

const inWords = (proof: Proof, cap: number): string => {
  const { result, calls, requests, turns, mayAsk, problem, endless } = proof;
  const retried = calls === requests ? '' : ` (${calls} with retries)`;
  if (result === 'proved')
    return `at most ${requests} calls of agents${retried} in ${turns} turns${mayAsk ? ', then it ends or asks a person' : ''}`;
  const why =
    problem ?? (endless ? `it need not end (${endless.cycle.join(', ')})` : 'it may come to a halt');
  return `not proved, at most ${cap} turns by the cap: ${why}`;
};
