import { RuntimeError } from '../errors.ts';
import type { Json } from '../events/json.ts';
import { ancestorsOf, type KnownTree } from './coordinator-checks.ts';
import { isId } from './plan.ts';

/** Repeats its agent until that says that it is done. */
export interface Loop {
  /** How often at most; the limit of the run unless set, which is 5 unless set. */
  readonly repeats: number | null;
  /** After how many failures in a row it sends feedback. */
  readonly failures: number;
  /** To whom; the nearest node above that has an agent unless set. */
  readonly sendsTo: string | null;
}

/** Chooses between its children by whether feedback is pending. No agent works on it. */
export interface Condition {
  /** Whose pending feedback counts: that to this node; null for any in the run. */
  readonly pendingFor: string | null;
  /** The children that run if there is some, and those that run if there is none. */
  readonly pending: readonly string[];
  readonly otherwise: readonly string[];
}

/** A unit of an execution tree. It runs when the node above it is done, with what that has made. */
export interface TreeNode {
  readonly id: string;
  readonly parent: string | null;
  readonly agent: string | null;
  /** Whether its agent may change the plan below it. */
  readonly plans: boolean;
  /** Other nodes whose results it needs besides. */
  readonly needs: readonly string[];
  /** What it is given besides the task and the results of others. */
  readonly with: Json;
  readonly loop: Loop | null;
  readonly condition: Condition | null;
}

/** A node as a user, or a planner, writes it. */
export interface GivenNode extends Partial<Omit<TreeNode, 'loop' | 'condition'>> {
  readonly id: string;
  readonly loop?: Partial<Loop> | true | null;
  readonly condition?: (Partial<Condition> & { readonly pending?: readonly string[] }) | null;
}

const LOOP_FAILURES = 2;

export const fixNode = ({
  id,
  parent,
  agent,
  plans,
  needs,
  loop,
  condition,
  ...rest
}: GivenNode): TreeNode => {
  const given = loop === true ? {} : loop;
  return {
    id,
    parent: parent ?? null,
    agent: agent ?? (condition ? null : id),
    plans: plans ?? false,
    needs: needs ?? [],
    with: rest.with ?? null,
    loop: given
      ? {
          repeats: given.repeats ?? null,
          failures: given.failures ?? LOOP_FAILURES,
          sendsTo: given.sendsTo ?? null,
        }
      : null,
    condition: condition
      ? {
          pendingFor: condition.pendingFor ?? null,
          pending: condition.pending ?? [],
          otherwise: condition.otherwise ?? [],
        }
      : null,
  };
};

/**
 * A tree that can be run.
 *
 * @throws {RuntimeError} BAD_PLAN with everything that is wrong with it
 */
export const fixTree = (given: readonly GivenNode[]): readonly TreeNode[] => {
  const nodes = given.map(fixNode);
  const problems = problemsOfTree(nodes);
  if (problems.length > 0) throw new RuntimeError('BAD_PLAN', { problems });
  return nodes;
};

/** Everything that is wrong with a tree. */
export const problemsOfTree = (nodes: readonly TreeNode[]): readonly string[] => {
  const ids = nodes.map(({ id }) => id);
  const roots = nodes.filter(({ parent }) => parent === null);
  const tree = shapeOf(nodes);
  return [
    ...(roots.length === 1
      ? []
      : [
          roots.length === 0
            ? 'no node is the root'
            : `${roots.map(({ id }) => `"${id}"`).join(', ')} have no parent`,
        ]),
    ...nodes.flatMap((node, index) => [
      ...(ids.indexOf(node.id) === index ? [] : [`node "${node.id}" is there twice`]),
      ...problemsOfNode(node, tree),
    ]),
    ...problemsOfOrder(nodes),
  ];
};

const problemsOfNode = (node: TreeNode, tree: KnownTree): readonly string[] => {
  const { id, parent, agent, plans, needs, loop, condition } = node;
  const place = `node "${id}"`;
  const above = ancestorsOf(tree, id);
  const problems: string[] = [];
  if (!isId(id)) problems.push(`${place}: an id is of letters, digits, "_", ".", ":" and "-"`);
  if (parent !== null && !Object.hasOwn(tree, parent))
    problems.push(`${place} is below "${parent}", which is not there`);
  if (agent !== null && !isId(agent)) problems.push(`${place}: "${agent}" cannot be the name of an agent`);
  for (const need of needs) {
    if (!Object.hasOwn(tree, need)) problems.push(`${place} needs "${need}", which is not there`);
    else if (need === id || ancestorsOf(tree, need).includes(id))
      problems.push(`${place} needs "${need}", which is not before it`);
  }
  if (condition && (agent !== null || plans || loop))
    problems.push(`${place} chooses between its children: it can have no agent, plan nothing and be no loop`);
  for (const child of condition ? [...condition.pending, ...condition.otherwise] : [])
    if (tree[child]?.parent !== id) problems.push(`${place} chooses "${child}", which is not below it`);
  if (loop) problems.push(...problemsOfLoop(place, loop, above));
  return problems;
};

const problemsOfLoop = (
  place: string,
  { repeats, failures, sendsTo }: Loop,
  above: readonly string[],
): readonly string[] => {
  const isCount = (value: number | null) => Number.isSafeInteger(value) && Number(value) >= 1;
  return [
    ...(repeats === null || isCount(repeats)
      ? []
      : [`${place} repeats ${repeats} times: give it an integer from 1`]),
    ...(isCount(failures)
      ? []
      : [`${place} sends feedback after ${failures} failures: give it an integer from 1`]),
    ...(sendsTo === null || above.includes(sendsTo)
      ? []
      : [`${place} sends feedback to "${sendsTo}", which is not above it`]),
  ];
};

/** Whoever waits for parents and needs must come to its turn. */
const problemsOfOrder = (nodes: readonly TreeNode[]): readonly string[] => {
  const done = new Set<string>();
  for (let before = -1; before !== done.size; ) {
    before = done.size;
    for (const { id, parent, needs } of nodes)
      if ((parent === null || done.has(parent)) && needs.every((need) => done.has(need))) done.add(id);
  }
  const known = new Set(nodes.map(({ id }) => id));
  // A need or parent that is not there is told of where it is named.
  const stuck = nodes.filter(
    ({ id, parent, needs }) =>
      !done.has(id) && [...needs, ...(parent === null ? [] : [parent])].every((each) => known.has(each)),
  );
  return stuck.length === 0 ? [] : [`the nodes ${stuck.map(({ id }) => id).join(', ')} wait for each other`];
};

/** What the coordinator needs to know of a tree. */
export const shapeOf = (nodes: readonly TreeNode[]): KnownTree =>
  Object.fromEntries(
    nodes.map(({ id, parent, plans, agent }) => [id, { parent, plans, works: agent !== null }]),
  );
