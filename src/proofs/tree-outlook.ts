import type { Json } from '../events/json.ts';
import { ancestorsOf } from '../machines/coordinator-checks.ts';
import { queueItems, queueSize } from '../machines/coordinator-queue.ts';
import { READ_AT_ONCE_MAX } from '../machines/coordinator-rules.ts';
import type { CoordinatorState, Entry } from '../machines/coordinator-state.ts';
import type { TreeNode } from '../machines/tree-plan.ts';
import { type NodeRecord, recordOf, type TreeState, viewOf } from '../machines/tree-state.ts';
import {
  type Above,
  causeIn,
  chainOf,
  isFarFrom,
  isNew,
  reduceCounts,
  reduceRecord,
  reduceWhole,
  sentIn,
  sorted,
} from './reduce-tree.ts';

/** What can still come of a tree: of it as a whole, and of each of its nodes, to which the nodes above are known by how far up they are. */
export interface TreeOutlook {
  readonly whole: Json;
  readonly nodes: readonly NodeOutlook[];
}

export interface NodeOutlook {
  readonly id: string;
  readonly parent: string | null;
  readonly sees: Json;
}

/**
 * What can still come of a tree as long as no person decides anything: less than what its actors know. A node that has put something
 * before a person does not run again, nor does one that waits for such a node; how they got there is forgotten. Null for trees of
 * which that is not known: with planners, conditions, loops, needs across the tree, or questions that expire.
 */
export const outlookOf = (
  state: TreeState,
  coordinator: CoordinatorState,
  far: number,
): TreeOutlook | null => {
  if (!isPlain(state, coordinator)) return null;
  const scene = sceneOf(state, coordinator);
  const known = { ...reduceWhole(state), ...reduceCounts(coordinator, far) };
  const { halt } = state;
  // Nothing begins any more: what is at work is heard, and that is all.
  const whole = halt ? { ...known, halt: [halt.verdict, halt.met?.limit ?? null] } : known;
  const seenBy = halt ? atWork(scene) : goingOn(scene);
  const nodes = scene.ids.map((id) => ({ id, parent: scene.aboveOf(id)[0] ?? null, sees: seenBy(id) }));
  return { whole, nodes };
};

/** Whether nothing ends but what is heard to the end: no planner, no condition and no time limit calls anything off. */
export const isPlain = (state: TreeState, { queues }: CoordinatorState): boolean =>
  state.pauseReasons.length === 0 &&
  state.deadlineMs === null &&
  state.limits.timeMs === null &&
  state.questionLevels.every(({ expiresMs }) => expiresMs === null) &&
  Object.values(state.roles).every(({ person }) => person == null) &&
  state.nodes.every(isPlainNode) &&
  Object.values(queues).every((queue) => queueSize(queue) <= READ_AT_ONCE_MAX);

const isPlainNode = ({ plans, needs, loop, condition }: TreeNode): boolean =>
  !plans && !loop && !condition && needs.length === 0;

interface Scene {
  readonly state: TreeState;
  readonly ids: readonly string[];
  readonly entries: readonly Entry[];
  /** Nodes above one, nearest first. */
  readonly aboveOf: (id: string) => readonly string[];
  readonly above: Above;
  /** Those that do not run again without a person, whatever happens. */
  readonly stuck: ReadonlySet<string>;
  /**
   * Targets of feedback that stays open, since its source is stuck: what has a result below them waits for ever. What is queued for a node
   * that is being fixed is given to it before that is over.
   */
  readonly heldForGood: ReadonlySet<string>;
}

const sceneOf = (state: TreeState, { open, queues }: CoordinatorState): Scene => {
  const { tree } = viewOf(state);
  const ids = state.nodes.map(({ id }) => id);
  const aboveById = new Map(ids.map((id) => [id, ancestorsOf(tree, id)]));
  const entries = [...Object.values(open), ...Object.values(queues).flatMap(queueItems)];
  const aboveOf = (id: string) => aboveById.get(id) ?? [];
  const above = { tree, hops: state.limits.hops };
  const stuck = stuckIn({ state, ids, entries, aboveOf });
  const targets = new Set(Object.values(state.open).map(({ target }) => target));
  const heldForGood = new Set(
    entries.filter(({ from, to }) => stuck.has(from) && targets.has(to)).map(({ to }) => to),
  );
  return { state, ids, entries, aboveOf, above, stuck, heldForGood };
};

/** The nodes strictly between two. */
const between = ({ aboveOf }: Pick<Scene, 'aboveOf'>, from: string, to: string): readonly string[] => {
  const above = aboveOf(from);
  return above.slice(0, Math.max(0, above.indexOf(to)));
};

const stuckIn = (scene: Pick<Scene, 'state' | 'ids' | 'entries' | 'aboveOf'>): ReadonlySet<string> => {
  const { state, ids, entries, aboveOf } = scene;
  const stuck = new Set<string>();
  const isStuck = (id: string): boolean => {
    const { status } = recordOf(state, id);
    if (status !== 'blocked' && status !== 'waiting') return false;
    // It runs, or verifies, only when the node above it is done.
    if (
      aboveOf(id)
        .slice(0, 1)
        .some((parent) => stuck.has(parent))
    )
      return true;
    return entries.some(
      ({ from, to, stage }) =>
        from === id &&
        (stage === 'asking' || stuck.has(to) || between(scene, from, to).some((each) => stuck.has(each))),
    );
  };
  for (let before = -1; before < stuck.size; ) {
    before = stuck.size;
    for (const id of ids) if (isStuck(id)) stuck.add(id);
  }
  return stuck;
};

type SeenBy = (id: string) => Json;

const depthOf = ({ aboveOf }: Pick<Scene, 'aboveOf'>, id: string): number => aboveOf(id).length;

const atWork = (scene: Scene): SeenBy => {
  const { state, entries } = scene;
  const isWorking = (id: string): boolean => recordOf(state, id).status === 'working';
  // One that verifies is not held to what it was given to fix.
  const isGiven = ({ id, to }: Entry): boolean => {
    const { bound, verifies } = recordOf(state, to);
    return isWorking(to) && verifies.length === 0 && bound.some((each) => each.id === id);
  };
  return (id) => {
    const { verifies, refusals } = recordOf(state, id);
    const ends = (isMeant: (entry: Entry) => boolean): Json =>
      sorted(
        entries
          .filter((entry) => entry.from === id && isMeant(entry))
          .map(({ to, kind }) => [depthOf(scene, to), kind]),
      );
    const own = isWorking(id) ? [refusals, ends((entry) => verifies.includes(entry.id))] : null;
    return [own, ends(isGiven)];
  };
};

const goingOn = (scene: Scene): SeenBy => {
  const holds = holdsIn(scene);
  return (id) => [
    nodeIn(scene, id),
    sentIn(
      scene.state,
      scene.entries.filter(({ from }) => from === id).flatMap((entry) => feedbackIn(scene, entry)),
    ),
    holds.map((each) => each.has(id)),
  ];
};

const nodeIn = (scene: Scene, id: string): Json => {
  const { state, stuck, aboveOf, heldForGood, above } = scene;
  if (stuck.has(id)) return 'stuck';
  if (!state.records[id]) return null;
  const record = recordOf(state, id);
  const isLeaf = childrenOf(scene, id).length === 0;
  const [parent] = aboveOf(id);
  // A result that nobody works from is made anew only when all above it stands, and nothing there is being fixed; what it was made from makes no
  // difference while that is about to be something new.
  const isLeft =
    isLeaf &&
    (aboveOf(id).some((each) => stuck.has(each) || heldForGood.has(each)) ||
      (parent !== undefined && mustChange(state, parent)));
  const { isCurrent, willBeCurrent, output, ...reduced } = reduceRecord(viewOf(state), id, record);
  const [repeats, failuresInRow, refusals] = reduced.counts;
  return {
    status: record.status,
    answers: reduced.answers,
    taking: record.taking,
    counts: [repeats ?? 0, failuresInRow ?? 0, refusals ?? 0],
    verifies: record.status === 'working' && record.verifies.length > 0,
    cause: causeIn(above, id, record),
    output: isLeaf ? null : output,
    isCurrent: !isLeft && mayStand(record) ? isCurrent : null,
    willBeCurrent: isLeft ? null : willBeCurrent,
  };
};

/** Whether a node has to run again, and will have made something new then. */
const mustChange = (state: TreeState, id: string): boolean => {
  const record = recordOf(state, id);
  return !mayStand(record) && (record.hash === null || isNew(record.output));
};

/**
 * Whether what it has made may be its result without another run: a fix that fails leaves it as it was, and whoever is not blocked may be
 * given something to fix, if only after its answer was refused.
 */
const mayStand = ({ status, verifies }: NodeRecord): boolean => status !== 'blocked' && verifies.length === 0;

/**
 * Whether it makes no difference yet how far a feedback is. A target that is blocked, or verifies what it is blocked by, has fixed what
 * it was given when that is over, and not before; what is queued for it is given to it when it begins to verify. Nodes in between,
 * which run at once when something is to be verified, must have nobody else below them who would wait for that.
 */
const waitsForTarget = (scene: Scene, { from, to, stage, chain }: Entry): boolean => {
  const { status, verifies } = recordOf(scene.state, to);
  const ways = between(scene, from, to);
  return (
    stage !== 'asking' &&
    (status === 'blocked' || (verifies.length > 0 && stage !== 'queued')) &&
    isFarFrom(scene.above, to, chain.length + 1) &&
    ways.length < 2 &&
    ways.every((way) => childrenOf(scene, way).length === 1)
  );
};

const childrenOf = ({ ids, aboveOf }: Scene, id: string): readonly string[] =>
  ids.filter((each) => aboveOf(each)[0] === id);

const feedbackIn = (scene: Scene, entry: Entry): readonly Json[] => {
  const { from, to, kind, priority, stage } = entry;
  const waits = waitsForTarget(scene, entry);
  // Of one that is stuck it counts only whether its target has still to do with it.
  const isOver = stage === 'asking' || stage === 'verifying' || waits || scene.stuck.has(to);
  if (scene.stuck.has(from) && isOver) return [];
  // What is queued for the first time holds nothing back yet, which shows when what does so now is over.
  const holds = Object.hasOwn(scene.state.open, entry.id);
  return [[depthOf(scene, to), kind, priority, waits ? 'waits' : stage, holds, chainOf(scene.above, entry)]];
};

/**
 * Nodes below which something is held back as they are being fixed, nodes that are held back for good, and those that run at once since a
 * verification waits for them.
 */
const holdsIn = (scene: Scene): readonly ReadonlySet<string>[] => {
  const { state, ids, entries, stuck, heldForGood, aboveOf } = scene;
  const isFree = (id: string): boolean =>
    !stuck.has(id) && !aboveOf(id).some((each) => heldForGood.has(each));
  const held = Object.values(state.open)
    .map(({ target }) => target)
    // Those below it that can still run.
    .filter((target) => ids.some((id) => isFree(id) && aboveOf(id).includes(target)));
  const ways = entries
    .filter((entry) => stuck.has(entry.from) && (entry.stage === 'verifying' || waitsForTarget(scene, entry)))
    .flatMap(({ from, to }) => between(scene, from, to))
    .filter((id) => !stuck.has(id));
  return [new Set(held), new Set(ids.filter((id) => !stuck.has(id) && !isFree(id))), new Set(ways)];
};
