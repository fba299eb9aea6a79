import type { Registry } from '../actors/registry.ts';
import type { Json, JsonObject } from '../events/json.ts';
import { boardMachine } from '../machines/board-machine.ts';
import { type FeedbackRequest, isFeedbackRequest } from '../machines/feedback-work.ts';
import type { Limits } from '../machines/limits.ts';
import { phaseMachine } from '../machines/phase-machine.ts';
import type { PhaseRunInput } from '../machines/phase-state.ts';
import { runMachine } from '../machines/run-machine.ts';
import { treeMachine } from '../machines/tree-machine.ts';
import type { TreeRunInput } from '../machines/tree-state.ts';
import { ASSUMED, isCoarse, withExploredShapes } from './explore-phases.ts';
import { explore } from './explorer.ts';
import { loopsIn, type NestedLoop, outcomesOf } from './loop-outcomes.ts';
import type { AgentOutcome } from './outcomes.ts';
import type { Exploration, Proof } from './proof.ts';
import { FAR } from './reduce.ts';
import { inputsApart, sumOf } from './story-outcomes.ts';
import { type Asking, assumedInTree } from './tree-outcomes.ts';

/** What a run may cost at most, before it starts. */
export interface WorstCase extends Proof {
  /** In words: what a person reads before a run starts. */
  readonly text: string;
}

const FAILS: AgentOutcome = { name: 'fails', fails: true };

/** Whoever is asked to decide may choose anything, or nothing that there is. */
const deciderOf = ({ options }: FeedbackRequest): readonly AgentOutcome[] => [
  ...options.map(({ option }) => ({ name: `chooses ${option}`, output: { option } })),
  { name: 'gives a value', output: { value: 'the same' } },
  { name: 'chooses what there is not', output: { option: '?' } },
  FAILS,
];

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

export interface WorstCaseOptions
  extends Partial<
    Pick<Exploration, 'outcomes' | 'reduce' | 'statesMax' | 'costUsd' | 'summaries' | 'persons' | 'thorough'>
  > {
  /**
   * True: in trees of more than 4 nodes, too, each node may ask any node above it for a fix, and not the nearest alone. Some trees of 5 nodes take
   * minutes so, and others have too many states.
   */
  readonly farRequests?: boolean;
}

/** Tries everything that the agents of a run may do. For a workflow that is not a plan, say what its agents may do. */
export const worstCase = async (
  registry: Registry,
  given: Pick<Exploration, 'workflow' | 'input'> & WorstCaseOptions,
  turnsPerRun: number,
): Promise<WorstCase> => {
  const proof = await proofOf(registry, given);
  const cap = registry.newest(given.workflow)?.workflow.options.turnsMax ?? turnsPerRun;
  const loops = loopsOf(registry, given);
  const caveat = proof.result === 'proved' && hasFiles(loops, given.input) ? FILES_CAVEAT : '';
  // Whoever says what agents may do knows what that leaves out.
  const assumed = given.outcomes ? '' : assumedOf(loops, given);
  const far = proof.endless && hasFarLimit(registry, given) ? FAR_LIMIT : '';
  return { ...proof, text: `${inWords(proof, cap)}${far}${caveat}${assumed}` };
};

/** What was not tried. */
const assumedOf = (loops: readonly NestedLoop[], asking: Asking): string => {
  // Each is what the machine of its loop takes.
  const assumed = loops.map(({ machine, input }) => {
    if (machine === runMachine) return WITHOUT_FEEDBACK;
    if (machine === treeMachine) return assumedInTree(input as unknown as TreeRunInput, asking);
    return machine === phaseMachine && isCoarse(input as unknown as PhaseRunInput) ? ASSUMED : '';
  });
  return [...new Set(assumed)].join('');
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

const hasFiles = (loops: readonly NestedLoop[], given: unknown): boolean =>
  loops.some(
    ({ machine, with: said }, index) =>
      machine === boardMachine && inputsApart(index === 0 ? given : said).some(({ kind }) => kind === 'file'),
  );

/** The loop that is asked about, with all that are run as its steps. */
const loopsOf = (
  registry: Registry,
  { workflow, input }: Pick<Exploration, 'workflow' | 'input'>,
): readonly NestedLoop[] => {
  const prepared = registry.newest(workflow)?.workflow.options.prepare?.(input) ?? {};
  return loopsIn(registry, { workflow, input: prepared as JsonObject, with: null }); // The log keeps what is prepared.
};

/** Stories share nothing but the board, which only lets them begin: what each may take alone adds up. */
const proofOf = async (
  registry: Registry,
  given: Pick<Exploration, 'workflow' | 'input'> & WorstCaseOptions,
): Promise<Proof> => {
  const loops = loopsOf(registry, given);
  const own = given.outcomes ?? outcomesOf(loops, given);
  const outcomes: Exploration['outcomes'] = (agent, input) =>
    decisions(given.outcomes, agent, input) ?? own(agent, input);
  const isBoard = registry.newest(given.workflow)?.workflow.machine === boardMachine;
  // Whoever says what agents may do wants just that explored.
  const apart = isBoard && !given.outcomes ? inputsApart(given.input) : [];
  const phases = given.outcomes ? [] : loops.filter(({ machine }) => machine === phaseMachine);
  const explored = phases.reduce(
    // What phase runs are started with.
    (known, { workflow, input }) => withExploredShapes(known, workflow, input as unknown as PhaseRunInput),
    registry,
  );
  if (apart.length === 0) return explore(explored, { ...given, outcomes, isAlike: !given.outcomes });
  const known = new Map<string, Proof>();
  const proofs: Proof[] = [];
  for (const { kind, input } of apart) {
    const proof = known.get(kind) ?? (await explore(registry, { ...given, input, outcomes }));
    known.set(kind, proof);
    proofs.push(proof);
  }
  return sumOf(proofs, [...known.values()]);
};

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
