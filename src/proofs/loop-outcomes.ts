import type { Registry } from '../actors/registry.ts';
import type { Json, JsonObject } from '../events/json.ts';
import { boardMachine } from '../machines/board-machine.ts';
import type { StoriesInput } from '../machines/board-state.ts';
import { phaseMachine } from '../machines/phase-machine.ts';
import type { PhaseRunInput } from '../machines/phase-state.ts';
import { needsOf, type Plan, type Step, workersOf } from '../machines/plan.ts';
import { repeatMachine } from '../machines/repeat-loop.ts';
import { type RunInput, runMachine } from '../machines/run-machine.ts';
import { LOOK_AGENT, WRITE_AGENT } from '../machines/story-machine.ts';
import { tightMachine } from '../machines/tight-machine.ts';
import { treeMachine } from '../machines/tree-machine.ts';
import type { TreeRunInput } from '../machines/tree-state.ts';
import { outcomesOfPhases } from './explore-phases.ts';
import type { AgentOutcome, Outcomes } from './outcomes.ts';
import { freshArtifact, freshIssue } from './reduce.ts';
import { LOOKS, REVIEWS, WRITES } from './story-outcomes.ts';
import { type Asking, outcomesInTree } from './tree-outcomes.ts';

/** A loop of a nest: its workflow, what it is started with, and what the plan says for its step. */
export interface NestedLoop {
  readonly workflow: string;
  readonly machine: unknown;
  readonly input: JsonObject;
  readonly with: Json;
}

/** A loop that can be a step, or has such steps, with all loops inside. */
export const loopsIn = (registry: Registry, loop: Omit<NestedLoop, 'machine'>): readonly NestedLoop[] => {
  const machine = registry.newest(loop.workflow)?.workflow.machine;
  const { plan } = loop.input as unknown as Partial<RunInput>; // What plan runs are started with has one.
  const nested = machine === runMachine ? (plan?.steps ?? []) : [];
  return [
    { ...loop, machine },
    ...nested.flatMap(({ nested: run, with: given }) =>
      run ? loopsIn(registry, { ...run, with: given }) : [],
    ),
  ];
};

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

/** What a loop inside one task has made is compared with what it made before, if it is a step. */
const MAKES: AgentOutcome = {
  name: 'is done with something new',
  output: ({ nth }) => ({ ...(freshArtifact(nth) as JsonObject), done: true }), // It is an object.
};

/** The latest that is another than the last. */
const earlierOf = (made: readonly Json[]): Json | undefined => {
  const last = JSON.stringify(made.at(-1));
  return made.findLast((each) => JSON.stringify(each) !== last);
};

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

/** What an agent may do that works in several loops: all that it may do in one of them. */
export const outcomesOf = (loops: readonly NestedLoop[], asking: Asking): Outcomes => {
  const [root, ...inside] = loops;
  if (!root) return () => [];
  const own = outcomesIn(root, { asking, isStep: false });
  const others = inside.map((loop) => ({
    roles: rolesOf(loop),
    outcomes: outcomesIn(loop, { asking, isStep: true }),
  }));
  return (agent, input) => {
    const found = others.flatMap(({ roles, outcomes }) => (roles.has(agent) ? outcomes(agent, input) : []));
    const all = [...own(agent, input), ...found];
    return [...new Map(all.map((outcome) => [outcome.name, outcome])).values()];
  };
};

/** Who works in a loop. */
const rolesOf = ({ machine, input }: NestedLoop): ReadonlySet<string> => {
  // What each loop of the package is started with has its roles here, or in its settings.
  const { roles, role, settings } = input as unknown as {
    readonly roles?: object;
    readonly role?: { readonly role: string };
    readonly settings?: { readonly roles: object };
  };
  const files = machine === boardMachine ? [LOOK_AGENT, WRITE_AGENT] : [];
  return new Set([...Object.keys(roles ?? settings?.roles ?? {}), ...(role ? [role.role] : []), ...files]);
};

/** What the agents of one of the package's own loops may do. */
const outcomesIn = (
  { machine, input: given }: NestedLoop,
  { asking, isStep }: { readonly asking: Asking; readonly isStep: boolean },
): Outcomes => {
  const input = given as unknown; // A loop prepares nothing else than its machine takes.
  switch (machine) {
    case repeatMachine:
      return () => (isStep ? [MAKES, ...DEVELOPER] : DEVELOPER);
    case tightMachine:
      return (agent) => (agent === 'developer' ? DEVELOPER : REVIEWER);
    case boardMachine:
      return storyOutcomes(input as StoriesInput);
    case treeMachine:
      return outcomesInTree(input as TreeRunInput, asking);
    case phaseMachine:
      return outcomesOfPhases(input as PhaseRunInput, WORKER);
    case runMachine:
      return planOutcomes((input as RunInput).plan);
    default:
      return () => [];
  }
};

const planOutcomes = (plan: Plan): Outcomes => {
  const reviewersOf = (some: readonly Step[]) =>
    new Set(some.flatMap((step) => (step.gate ? workersOf(step) : [])));
  const reviewers = reviewersOf(plan.steps);
  const remarking = reviewersOf(plan.steps.flatMap((step) => needsOf(plan, step)));
  const workers = new Set(plan.steps.flatMap((step) => (step.gate ? [] : workersOf(step))));
  return (agent) => [
    ...(workers.has(agent) ? WORKER : []),
    ...(reviewers.has(agent) ? REVIEWER : []),
    ...(remarking.has(agent) ? [REMARKS] : []),
  ];
};

const storyOutcomes =
  ({ settings: { reviewers } }: StoriesInput): Outcomes =>
  (agent) => {
    if (agent === LOOK_AGENT) return LOOKS;
    if (agent === WRITE_AGENT) return WRITES;
    return reviewers.includes(agent) ? [...REVIEWS, FAILS] : [{ name: 'works', output: 'work' }, FAILS];
  };
