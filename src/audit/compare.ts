import type { Registry } from '../actors/registry.ts';
import type { KernelLimits } from '../actors/turn.ts';
import { isRuntimeError } from '../errors.ts';
import { canonicalJson, encode } from '../events/encode.ts';
import type { RecordedEvent } from '../events/event.ts';
import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import type { Workflow } from '../machines/workflow.ts';
import type { EventLog } from '../store/event-log.ts';
import { replacedIn } from './changed-registry.ts';
import { type Difference, differenceOf } from './difference.ts';
import { type AnyMetLimit, type Met, metStated } from './met-limits.ts';
import { liveAgain, type Past } from './past.ts';
import { NO_CHANGES, type RerunResult, rerun, startingWith } from './rerun.ts';
import { World } from './world.ts';

/**
 * What became of a stored run under other machines.
 *
 * - `identical`: every event, and every state it led to, is the same
 * - `other path`: something is another, but it ends with the same verdict
 * - `other verdict`: it ends otherwise, or cannot be known to end, since it asks agents what they were never asked
 * - `not handled`: an event that was taken is not taken any more
 * - `limit exceeded`: it meets a limit that it did not meet
 * - `no machine`: one of its machines is not registered: not in that version, or, if others are given, in none
 */
export type ComparisonKind =
  | 'identical'
  | 'other path'
  | 'other verdict'
  | 'not handled'
  | 'limit exceeded'
  | 'no machine';

export interface Comparison {
  readonly run: string;
  readonly workflow: string;
  readonly kind: ComparisonKind;
  /** The verdict in the log, and the one now; null for a run that is open. */
  readonly recorded: Verdict | null;
  readonly computed: Verdict | null;
  /** The first event that is another; null if none is. */
  readonly difference: Difference | null;
  /** The limit that was not met before. */
  readonly limit: AnyMetLimit | null;
  /** How many calls of agents it would need that were never made. */
  readonly calls: number;
}

export interface CompareOptions {
  /** Workflows in place of those of the same names; without them, the log is compared with those that are registered. */
  readonly machines?: readonly Workflow[];
  /** By run, what its machine is started with in place of what it was. Then only the way that it takes is compared. */
  readonly inputs?: Readonly<Record<string, Json>>;
  /** Which runs; all of them unless set. */
  readonly runs?: readonly string[];
}

export interface ComparePorts {
  readonly log: EventLog;
  readonly registry: Registry;
  readonly limits: KernelLimits;
}

/**
 * Lives stored runs again under other machines, with the answers that agents and persons gave, and says of each what became of
 * it. Nothing is called or written. The machines that the runs were made with need not be there; with them, answers can be told
 * to belong to other calls of the same input after the ways have parted.
 *
 * @throws {RuntimeError} MACHINE_REFUSED, BAD_OPTION, UNKNOWN_RUN
 */
export const compareMachines = async (
  ports: ComparePorts,
  { machines = [], runs, inputs = {} }: CompareOptions = {},
): Promise<readonly Comparison[]> => {
  const changed = machines.length === 0 ? ports.registry : replacedIn(ports.registry, machines);
  const ids = runs ?? (await ports.log.runs({})).map(({ id }) => id);
  const compared: Comparison[] = [];
  for (const run of ids) {
    const input = Object.hasOwn(inputs, run) ? inputs[run] : undefined;
    compared.push(compareRun(await liveAgain(ports, run), ports, { registry: changed, input }));
  }
  return compared;
};

const compareRun = (
  past: Past,
  { registry: before }: ComparePorts,
  { registry, input }: { readonly registry: Registry; readonly input: Json | undefined },
): Comparison => {
  const { run, caps: limits } = past;
  const recorded = recordedVerdict(past);
  const workflow = past.turns[0]?.events.find(({ actor }) => actor === run)?.machine ?? '';
  const about = { run, workflow, recorded };
  const nothing = { computed: null, difference: null, limit: null, calls: 0 };
  const isKnown = ({ machine, machineVersion }: RecordedEvent): boolean =>
    (registry === before ? registry.find(machine, machineVersion) : registry.newest(machine)) !== undefined;
  if (!past.turns.every(({ events }) => events.every(isKnown)))
    return { ...about, ...nothing, kind: 'no machine' };
  const world = new World(registry, limits);
  const events: RecordedEvent[] = [];
  let count = 0;
  const result = rerun({
    past,
    world,
    changes: input === undefined ? NO_CHANGES : startingWith(past, input),
    comparesData: input === undefined,
    nextId: () => {
      count += 1;
      return `compare.${count}`;
    },
    onTurn: (taken) => events.push(...taken.recorded.events),
  });
  const computed = world.run(run)?.verdict ?? null;
  const isOther = input !== undefined;
  const difference =
    result.difference ?? (isOther ? undefined : contextDifference(past, { world, before, limits })) ?? null;
  const limit = newLimit(past, events);
  const told = { computed, difference, limit, calls: result.leftAt ? result.needs.length : 0 };
  return { ...about, ...told, kind: kindOf(result, { recorded, ...told }) };
};

const recordedVerdict = ({ run, turns }: Past): Verdict | null => {
  const ended = turns
    .flatMap(({ events }) => events)
    .findLast((event) => event.type === 'lw.run.ended' && event.actor === run && event.kind === 'fact');
  return (ended?.data['verdict'] as Verdict | undefined) ?? null; // The kernel wrote it.
};

const kindOf = (
  { needs }: RerunResult,
  {
    recorded,
    computed,
    difference,
    limit,
  }: Pick<Comparison, 'recorded' | 'computed' | 'difference' | 'limit'>,
): ComparisonKind => {
  if (difference === null) return 'identical';
  if (difference.what === 'not handled') return 'not handled';
  const isAtLimit = computed === 'exhausted' || computed === 'stalled';
  if (limit !== null || (isAtLimit && recorded !== computed)) return 'limit exceeded';
  return recorded === computed && (recorded !== null || needs.length === 0) ? 'other path' : 'other verdict';
};

/** The first limit that was met now, and not then. */
const newLimit = ({ turns }: Past, events: readonly RecordedEvent[]): AnyMetLimit | null => {
  const keyOf = ({ loop, met }: Met): string => `${loop} ${met.limit}`;
  const known = new Set(
    turns.flatMap((turn) => turn.events.flatMap((event) => metStated(event) ?? []).map(keyOf)),
  );
  return events.flatMap((event) => metStated(event) ?? []).find((met) => !known.has(keyOf(met)))?.met ?? null;
};

/** Where contexts part, although every row is the same: what a machine keeps to itself for later. */
const contextDifference = (
  past: Past,
  {
    world,
    before,
    limits,
  }: { readonly world: World; readonly before: Registry; readonly limits: KernelLimits },
): Difference | undefined => {
  if (past.problem || world.registry === before || sameContexts(past.world, world, [...world.actors.keys()]))
    return undefined;
  const [one, other] = [new World(before, limits), new World(world.registry, limits)];
  for (const [index, turn] of past.turns.entries()) {
    const stimulus = past.stimuli[index];
    if (!stimulus) return undefined;
    const [first] = turn.events;
    const moved = {
      ...stimulus,
      ...(stimulus.kind === 'start' && { version: versionIn(world.registry, stimulus) }),
    };
    const taken = [one.take(stimulus, first?.machineVersion), other.take(moved, first?.machineVersion)];
    if (taken.some((each) => each === undefined || isRuntimeError(each))) return undefined;
    const touched = [...new Set(turn.events.map(({ actor }) => actor))];
    const actor = touched.find((each) => !sameContexts(one, other, [each]));
    if (actor === undefined) continue;
    const event = turn.events.findLast((each) => each.actor === actor);
    const found = differenceOf(event?.position ?? 0, event, { computed: event, what: 'context' });
    return { ...found, text: `after position ${found.position} the context of "${actor}" is another` };
  }
  return undefined;
};

const versionIn = (
  registry: Registry,
  { workflow, version }: { workflow: string; version: number },
): number => registry.find(workflow, version)?.version ?? registry.newest(workflow)?.version ?? version;

const sameContexts = (one: World, other: World, actors: readonly string[]): boolean =>
  actors.every((actor) => contextIn(one, actor) === contextIn(other, actor));

const contextIn = (world: World, actor: string): string => {
  try {
    const context: unknown = world.actor(actor)?.snapshot?.context;
    return canonicalJson(encode(context ?? null, { undefinedMembers: 'drop', limits: CONTEXT_LIMITS }).value);
  } catch (error) {
    // What cannot be stored cannot be compared.
    if (isRuntimeError(error)) return error.code;
    throw error;
  }
};

const CONTEXT_LIMITS = { bytes: 64 * 1024 * 1024, depth: 256, keys: 1_000_000 };
