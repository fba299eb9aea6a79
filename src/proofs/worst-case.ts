import type { Registry } from '../actors/registry.ts';
import type { Json } from '../events/json.ts';
import { boardMachine } from '../machines/board-machine.ts';
import type { StoriesInput } from '../machines/board-state.ts';
import { type FeedbackRequest, isFeedbackRequest } from '../machines/feedback-work.ts';
import type { Limits } from '../machines/limits.ts';
import { phaseMachine } from '../machines/phase-machine.ts';
import type { PhaseRunInput } from '../machines/phase-state.ts';
import { needsOf, type Plan, type Step, workersOf } from '../machines/plan.ts';
import { repeatMachine } from '../machines/repeat-loop.ts';
import { type RunInput, runMachine } from '../machines/run-machine.ts';
import { LOOK_AGENT, WRITE_AGENT } from '../machines/story-machine.ts';
import { tightMachine } from '../machines/tight-machine.ts';
import { treeMachine } from '../machines/tree-machine.ts';
import type { TreeRunInput } from '../machines/tree-state.ts';
import { ASSUMED, isCoarse, outcomesOfPhases, withExploredShapes } from './explore-phases.ts';
import { explore } from './explorer.ts';
import type { AgentOutcome } from './outcomes.ts';
import type { Exploration, Proof } from './proof.ts';
import { FAR, freshArtifact, freshIssue } from './reduce.ts';
import { inputsApart, LOOKS, REVIEWS, sumOf, WRITES } from './story-outcomes.ts';
import { ASSUMED_IN_TREE, outcomesInTree } from './tree-outcomes.ts';

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

/** What someone may say who is asked to decide, unless the caller has said it. */
const decisions = (
  given: Exploration['outcomes'] | undefined,
  agent: string,
  input: Json,
): readonly AgentOutcome[] | undefined => {
  if (!isFeedbackRequest(input)) return undefined;
  const own = given?.(agent, input) ?? [];
  return own.length > 0 ? own : deciderOf(input);
};

/** Feedback between agents is bounded too, but by far: whoever wants that proved says what is sent. */
const WITHOUT_FEEDBACK = ' (as long as no agent sends feedback)';

export type WorstCaseOptions = Partial<
  Pick<Exploration, 'outcomes' | 'reduce' | 'statesMax' | 'costUsd' | 'summaries' | 'persons'>
>;

/** Tries everything that the agents of a run may do. For a workflow that is not a plan, say what its agents may do. */
export const worstCase = async (
  registry: Registry,
  given: Pick<Exploration, 'workflow' | 'input'> & WorstCaseOptions,
  turnsPerRun: number,
): Promise<WorstCase> => {
  const proof = await proofOf(registry, given);
  const cap = registry.newest(given.workflow)?.workflow.options.turnsMax ?? turnsPerRun;
  const caveat = proof.result === 'proved' && hasFiles(registry, given) ? FILES_CAVEAT : '';
  // Whoever says what agents may do knows what that leaves out.
  const assumed = given.outcomes ? '' : assumedOf(registry, given);
  const far = proof.endless && hasFarLimit(registry, given) ? FAR_LIMIT : '';
  return { ...proof, text: `${inWords(proof, cap)}${far}${caveat}${assumed}` };
};

/** What was not tried. */
const assumedOf = (registry: Registry, given: Pick<Exploration, 'workflow' | 'input'>): string => {
  if (registry.newest(given.workflow)?.workflow.machine === runMachine) return WITHOUT_FEEDBACK;
  const tree = treeOf(registry, given);
  if (tree) return ASSUMED_IN_TREE;
  const phases = phasesOf(registry, given);
  return phases && isCoarse(phases) ? ASSUMED : '';
};

/** A limit that is far away is not counted down: what only it ends shows as endless. */
const FAR_LIMIT = `, but for its limit on calls, which is not counted down from more than ${FAR}`;

const hasFarLimit = (
  registry: Registry,
  { workflow, input }: Pick<Exploration, 'workflow' | 'input'>,
): boolean => {
  const prepared = registry.newest(workflow)?.workflow.options.prepare?.(input);
  // What the loops of the package prepare has its limits here, or in its settings.
  const { limits, settings } = (prepared ?? {}) as { limits?: Limits; settings?: { limits?: Limits } };
  return ((limits ?? settings?.limits)?.calls ?? 0) > FAR;
};

/** What is in files is not known before a run reads them. */
const FILES_CAVEAT = ', if the files of stories set no limit of their own';

const hasFiles = (
  registry: Registry,
  { workflow, input }: Pick<Exploration, 'workflow' | 'input'>,
): boolean =>
  registry.newest(workflow)?.workflow.machine === boardMachine &&
  inputsApart(input).some(({ kind }) => kind === 'file');

/** Stories share nothing but the board, which only lets them begin: what each may take alone adds up. */
const proofOf = async (
  registry: Registry,
  given: Pick<Exploration, 'workflow' | 'input'> & WorstCaseOptions,
): Promise<Proof> => {
  const own = given.outcomes ?? outcomesOf(registry, given);
  const outcomes: Exploration['outcomes'] = (agent, input) =>
    decisions(given.outcomes, agent, input) ?? own(agent, input);
  const isBoard = registry.newest(given.workflow)?.workflow.machine === boardMachine;
  // Whoever says what agents may do wants just that explored.
  const apart = isBoard && !given.outcomes ? inputsApart(given.input) : [];
  const phases = given.outcomes ? undefined : phasesOf(registry, given);
  const explored = phases ? withExploredShapes(registry, given.workflow, phases) : registry;
  if (apart.length === 0) return explore(explored, { ...given, outcomes });
  const known = new Map<string, Proof>();
  const proofs: Proof[] = [];
  for (const { kind, input } of apart) {
    const proof = known.get(kind) ?? (await explore(registry, { ...given, input, outcomes }));
    known.set(kind, proof);
    proofs.push(proof);
  }
  return sumOf(proofs, [...known.values()]);
};

/** What the agents of the package's own loops may do. */
const outcomesOf = (
  registry: Registry,
  { workflow, input }: Pick<Exploration, 'workflow' | 'input'>,
): Exploration['outcomes'] => {
  const registered = registry.newest(workflow)?.workflow;
  if (registered?.machine === repeatMachine) return () => DEVELOPER;
  if (registered?.machine === tightMachine) return (agent) => (agent === 'developer' ? DEVELOPER : REVIEWER);
  if (registered?.machine === boardMachine && registered.options.prepare)
    return storyOutcomes(registered.options.prepare(input) as StoriesInput); // A board prepares nothing else.
  const tree = treeOf(registry, { workflow, input });
  if (tree) return outcomesInTree(tree);
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

const storyOutcomes =
  ({ settings: { reviewers } }: StoriesInput): Exploration['outcomes'] =>
  (agent) => {
    if (agent === LOOK_AGENT) return LOOKS;
    if (agent === WRITE_AGENT) return WRITES;
    return reviewers.includes(agent) ? [...REVIEWS, FAILS] : [{ name: 'works', output: 'work' }, FAILS];
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

/** What a tree run is started with, if it is one. */
const treeOf = (
  registry: Registry,
  { workflow, input }: Pick<Exploration, 'workflow' | 'input'>,
): TreeRunInput | undefined => {
  const registered = registry.newest(workflow)?.workflow;
  if (registered?.machine !== treeMachine) return undefined;
  return registered.options.prepare?.(input) as TreeRunInput | undefined; // A tree run prepares nothing else.
};

/** With those that are run as its steps. */
const plansOf = (plan: Plan): readonly Plan[] => [
  plan,
  ...plan.steps.flatMap(({ nested }) => (nested ? plansOf((nested.input as unknown as RunInput).plan) : [])),
];

const inWords = (proof: Proof, cap: number): string => {
  const { result, turns, mayAsk, problem, endless, costUsd, afterDecisions } = proof;
  const cost = costUsd === undefined ? '' : `, for at most $${costUsd.toFixed(2)}`;
  if (result === 'proved') {
    const asks = mayAsk ? `, then it ends or asks a person${afterwards(afterDecisions)}` : '';
    return `at most ${callsOf(proof)} in ${turns} turns${cost}${asks}`;
  }
  const why =
    problem ?? (endless ? `it need not end (${endless.cycle.join(', ')})` : 'it may come to a halt');
  return `not proved, at most ${cap} turns by the cap: ${why}`;
};

const callsOf = ({ requests, calls }: Pick<Proof, 'requests' | 'calls'>): string =>
  `${requests} calls of agents${calls === requests ? '' : ` (${calls} with retries)`}`;

/** Persons may go on for as long as they like. */
const afterwards = (after: Proof['afterDecisions']): string => {
  if (!after) return '';
  return after.result === 'proved'
    ? `; at most ${callsOf(after)} in ${after.turns} turns from one decision to the next`
    : `; what follows on a decision was not explored to the end (${after.problem})`;
};
