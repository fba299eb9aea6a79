import { canonicalJson } from '../events/encode.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { ancestorsOf, type Link } from './coordinator-checks.ts';
import type { MetLimit } from './limits.ts';
import { hashOf } from './plan.ts';
import { agentId, type RunMessage } from './run-messages.ts';
import { COORDINATOR_ID } from './tree-ends.ts';
import { fixNode, type GivenNode, problemsOfTree, shapeOf, type TreeNode } from './tree-plan.ts';
import { below } from './tree-request.ts';
import { type NodeRecord, recordOf, type TreeState as State, viewOf, withRecord } from './tree-state.ts';

/** What a planner's answer makes of the plan. */
interface Planned {
  readonly state: State;
  readonly messages: readonly RunMessage[];
  /** Its result without the plan: what nodes below it are given. */
  readonly output: Json;
  readonly faults: readonly string[];
  readonly met: MetLimit | null;
  /** Whether something came of the feedback that asked for another plan. */
  readonly isHeard: boolean;
}

/** Reads the plan in an answer, and changes the tree by it. Nodes that stay as they were keep all that they have. */
export const applyPlan = (state: State, node: TreeNode, given: Json): Planned => {
  const kept: Planned = { state, messages: [], output: given, faults: [], met: null, isHeard: true };
  if (!node.plans) return kept;
  const { plan, ...rest }: JsonObject = isJsonObject(given) ? given : {};
  const output = isJsonObject(given) ? rest : given;
  const record = recordOf(state, node.id);
  if (plan === undefined || plan === null)
    return { ...kept, output, isHeard: isHeard(record, output, false) };
  const read = readPlan(state, node, plan);
  if (read.faults.length > 0) return { ...kept, output, faults: read.faults };
  const { nodes } = read;
  const isChanged = inOrder(nodes) !== inOrder(state.nodes);
  if (!isChanged)
    return {
      ...kept,
      state: withRecord(state, node.id, { planned: true }),
      output,
      isHeard: isHeard(record, output, false),
    };
  const known = new Set(state.nodes.map(({ id }) => id));
  const added = nodes.map(({ id }) => id).filter((id) => !known.has(id));
  const isReplan = record.planned || record.hash !== null;
  const met = limitMet(state, { added: added.length, isReplan });
  if (met) return { ...kept, output, faults: [`the limit "${met.limit}" of ${met.bound} is met`], met };
  const changed = changeTree(state, node, { nodes, added, isReplan });
  return { ...changed, output, faults: [], met: null, isHeard: true };
};

/** The same nodes in another order are the same plan. */
const inOrder = (nodes: readonly TreeNode[]): string =>
  nodes
    .map((node) => canonicalJson(node as unknown as Json))
    .sort()
    .join();

/** A missing node asks for another plan; a fault of the design may also be mended by a result that says something else. */
const isHeard = ({ bound, hash }: NodeRecord, output: Json, isChanged: boolean): boolean => {
  const isNew = hash === null || hashOf(output) !== hash;
  return bound.every(({ kind }) =>
    kind === 'DEPENDENCY_MISSING' ? isChanged : kind === 'ARCHITECTURE_ISSUE' ? isChanged || isNew : true,
  );
};

const limitMet = (
  { limits, replans, added }: State,
  next: { readonly added: number; readonly isReplan: boolean },
): MetLimit | null => {
  if (next.isReplan && limits.replans !== null && replans >= limits.replans)
    return { limit: 'replans', bound: limits.replans, used: replans, evidence: [] };
  if (limits.addedNodes !== null && added + next.added > limits.addedNodes)
    return { limit: 'addedNodes', bound: limits.addedNodes, used: added + next.added, evidence: [] };
  return null;
};

interface ReadPlan {
  readonly nodes: readonly TreeNode[];
  readonly faults: readonly string[];
}

/** `nodes` are all that shall be below the planner; `add` and `remove` change what is there. */
const readPlan = (state: State, planner: TreeNode, plan: Json): ReadPlan => {
  const refuse = (...faults: readonly string[]): ReadPlan => ({ nodes: state.nodes, faults });
  if (!isJsonObject(plan)) return refuse('the plan is not an object');
  const unknown = Object.keys(plan).filter((name) => !['nodes', 'add', 'remove'].includes(name));
  const lists = ['nodes', 'add', 'remove'].filter(
    (name) => plan[name] !== undefined && !Array.isArray(plan[name]),
  );
  if (unknown.length + lists.length > 0)
    return refuse(
      ...unknown.map((name) => `the plan has "${name}"; known are nodes, add and remove`),
      ...lists.map((name) => `"${name}" of the plan is not a list`),
    );
  const listOf = (name: string): readonly Json[] => (plan[name] ?? []) as readonly Json[]; // Checked above.
  const faults = [...listOf('nodes'), ...listOf('add')].flatMap(faultsOfNode);
  const removed = listOf('remove').map(String);
  const own = new Set(below(state, planner.id).map(({ id }) => id));
  faults.push(
    ...removed
      .filter((id) => !own.has(id))
      .map((id) => `"${id}" is not below "${planner.id}": it cannot be removed`),
  );
  if (faults.length > 0) return refuse(...faults);
  const others = state.nodes.filter(({ id }) => !own.has(id));
  const stated =
    plan['nodes'] === undefined
      ? below(state, planner.id)
      : listOf('nodes').map((each) => nodeIn(each, planner.id));
  const left = withoutRemoved([...others, ...stated], removed);
  const nodes = withAdded(state, left, { planner, add: listOf('add') });
  const problems = [...problemsOfTree(nodes), ...problemsOfPlace(state, nodes, planner)];
  return problems.length > 0 ? refuse(...problems) : { nodes, faults: [] };
};

const SHAPES: Readonly<Record<string, (value: Json) => boolean>> = {
  id: (value) => typeof value === 'string',
  parent: (value) => typeof value === 'string',
  agent: (value) => typeof value === 'string',
  plans: (value) => typeof value === 'boolean',
  needs: isTexts,
  before: isTexts,
  with: () => true,
  loop: (value) => value === true || isJsonObject(value),
  condition: (value) =>
    isJsonObject(value) &&
    ['pending', 'otherwise'].every((name) => value[name] === undefined || isTexts(value[name])) &&
    (value['pendingFor'] == null || typeof value['pendingFor'] === 'string'),
};

function isTexts(value: Json | undefined): boolean {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

const faultsOfNode = (given: Json): readonly string[] => {
  if (!isJsonObject(given)) return ['a node of the plan is not an object'];
  const place = `node ${JSON.stringify(given['id'] ?? null)} of the plan`;
  if (typeof given['id'] !== 'string') return [`${place} has no id`];
  return Object.entries(given).flatMap(([name, value]) => {
    const check = Object.hasOwn(SHAPES, name) ? SHAPES[name] : undefined;
    if (!check) return [`${place} has "${name}", which no node has`];
    return value === null || check(value) ? [] : [`"${name}" of ${place} has another shape`];
  });
};

const nodeIn = (given: Json, planner: string): TreeNode => {
  const node = fixNode(given as unknown as GivenNode); // Each member was checked.
  return node.parent === null ? { ...node, parent: planner } : node;
};

const withoutRemoved = (nodes: readonly TreeNode[], removed: readonly string[]): readonly TreeNode[] => {
  const tree = shapeOf(nodes);
  return nodes.filter(
    ({ id }) => !removed.includes(id) && !ancestorsOf(tree, id).some((above) => removed.includes(above)),
  );
};

/** What is added stands before whoever missed it: beside it, and needed by it, unless the planner says otherwise. */
const withAdded = (
  state: State,
  nodes: readonly TreeNode[],
  { planner, add }: { readonly planner: TreeNode; readonly add: readonly Json[] },
): readonly TreeNode[] => {
  const missing = recordOf(state, planner.id)
    .bound.filter(({ kind }) => kind === 'DEPENDENCY_MISSING')
    .map(({ source }) => source);
  let next = nodes;
  for (const given of add) {
    const { before, ...rest } = given as JsonObject; // Checked: it is one.
    const waiting = Array.isArray(before) ? (before as readonly string[]) : missing;
    const beside = next.find(({ id }) => id === waiting[0])?.parent ?? planner.id;
    const node = nodeIn(rest, beside);
    const withNeed = next.map((each) =>
      waiting.includes(each.id) && each.id !== node.id
        ? { ...each, needs: [...new Set([...each.needs, node.id])] }
        : each,
    );
    next = [...withNeed, node];
  }
  return next;
};

/** A planner plans below itself, with agents that the run has. */
const problemsOfPlace = (state: State, nodes: readonly TreeNode[], planner: TreeNode): readonly string[] => {
  const before = new Map(state.nodes.map((node) => [node.id, canonicalJson(node as unknown as Json)]));
  const own = new Set(below({ nodes }, planner.id).map(({ id }) => id));
  return nodes.flatMap((node) => {
    const isSame = before.get(node.id) === canonicalJson(node as unknown as Json);
    if (isSame) return [];
    return [
      ...(own.has(node.id) ? [] : [`node "${node.id}" is not below "${planner.id}", which plans it`]),
      ...(node.agent === null || Object.hasOwn(state.roles, node.agent)
        ? []
        : [
            `node "${node.id}" names the agent "${node.agent}"; the run has ${Object.keys(state.roles).join(', ')}`,
          ]),
    ];
  });
};

const changeTree = (
  state: State,
  planner: TreeNode,
  {
    nodes,
    added,
    isReplan,
  }: { readonly nodes: readonly TreeNode[]; readonly added: readonly string[]; readonly isReplan: boolean },
): Pick<Planned, 'state' | 'messages'> => {
  const ids = new Set(nodes.map(({ id }) => id));
  const before = new Map(state.nodes.map((node) => [node.id, canonicalJson(node as unknown as Json)]));
  const removed = state.nodes.map(({ id }) => id).filter((id) => !ids.has(id));
  const changed = nodes.filter(
    (node) => before.has(node.id) && before.get(node.id) !== canonicalJson(node as unknown as Json),
  );
  const cause = causeOfChange(recordOf(state, planner.id));
  const records = Object.fromEntries(Object.entries(state.records).filter(([id]) => ids.has(id)));
  let next: State = {
    ...state,
    nodes,
    records,
    ...runsOfRemoved(state, removed),
    replans: state.replans + (isReplan ? 1 : 0),
    added: state.added + added.length,
  };
  next = withRecord(next, planner.id, { planned: true });
  for (const id of added)
    next = withRecord(next, id, { addedBy: cause, runs: state.runsOfRemoved?.[id] ?? 0 });
  return {
    state: next,
    messages: [
      {
        type: 'tree.planned',
        by: planner.id,
        replan: isReplan ? next.replans : null,
        added,
        removed,
        changed: changed.map(({ id }) => id),
        nodes: nodes as unknown as Json,
      },
      ...removed.flatMap((id) => withdrawn(state, id)),
      { type: 'tree.set', to: `./${COORDINATOR_ID}`, tree: viewOf(next).tree as unknown as Json },
    ],
  };
};

/** A node that comes back under its name goes on counting: two requests with one id would be one call to whoever is asked. */
const runsOfRemoved = (state: State, removed: readonly string[]): Pick<State, 'runsOfRemoved'> => {
  const runs = removed.flatMap((id) => {
    const record = recordOf(state, id);
    return record.runs === 0 ? [] : [[id, record.runs] as const];
  });
  return runs.length === 0 ? {} : { runsOfRemoved: { ...state.runsOfRemoved, ...Object.fromEntries(runs) } };
};

/** What a planner adds because of feedback is caused by that feedback. */
const causeOfChange = ({ bound, cause, addedBy }: NodeRecord): readonly Link[] =>
  bound.length > 0 ? cause : addedBy;

const withdrawn = (state: State, id: string): readonly RunMessage[] => {
  const { request } = recordOf(state, id);
  const role = state.nodes.find((node) => node.id === id)?.agent;
  return request === null || role == null
    ? []
    : [{ type: 'agent.cancel', to: `./${agentId(role)}`, request }];
};
