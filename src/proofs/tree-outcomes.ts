import { isJsonObject, type Json } from '../events/json.ts';
import { ancestorsOf } from '../machines/coordinator-checks.ts';
import { shapeOf } from '../machines/tree-plan.ts';
import type { TreeRunInput } from '../machines/tree-state.ts';
import type { AgentOutcome, Outcomes } from './outcomes.ts';
import { freshArtifact } from './reduce.ts';

const NEW: AgentOutcome = { name: 'makes something new', output: ({ nth }) => freshArtifact(nth) };
const FAILS: AgentOutcome = { name: 'fails', fails: true };

/** Its agent is told what is wrong with it and asked again, as often as it is called for a request. */
const REFUSED: AgentOutcome = { name: 'reports what cannot be taken', output: null, feedback: [{}] };

/** In trees of so many nodes each may ask any node above it for a fix. Whom it asks multiplies the states of larger ones by up to hundreds. */
const NODES_MAX = 4;

/** Whom nodes of a tree ask for a fix. */
export interface Asking {
  /** True: in large trees, too, any node above. */
  readonly farRequests?: boolean;
}

type Given = Pick<TreeRunInput, 'nodes'>;

const asksNearest = ({ nodes }: Given, { farRequests = false }: Asking): boolean =>
  !farRequests && nodes.length > NODES_MAX;

/** The nodes above one that it could ask, nearest first. */
const aboveIn = ({ nodes }: Given): ((node: string) => readonly string[]) => {
  const tree = shapeOf(nodes);
  return (node) => ancestorsOf(tree, node).filter((each) => tree[each]?.works === true);
};

/** Whether some node could ask others than the nearest, and is not tried so. */
const isNarrowed = (given: Given, asking: Asking): boolean => {
  const aboveOf = aboveIn(given);
  return asksNearest(given, asking) && given.nodes.some(({ id }) => aboveOf(id).length > 1);
};

/**
 * What is left out. Several feedbacks in one answer, requests for context, and a node that leaves its result as it was took no more in any
 * tree of up to 3 nodes (`test/proofs/tree-outcomes.test.ts`). Requests to nodes further above do take more, and are left out of large
 * trees only, unless they are asked for.
 */
export const assumedInTree = (given: Given, asking: Asking = {}): string =>
  ` (as long as each answer has one request for a fix${isNarrowed(given, asking) ? ', to the node above,' : ''} or something new)`;

/**
 * Whatever the agents of a tree may do, as far as it makes a difference to it: a node may ask any node above it for a fix, in a large tree
 * the nearest. What a planner may plan is beyond all counting: then whoever wants to know says what it may do.
 */
export const outcomesInTree = (input: TreeRunInput, asking: Asking = {}): Outcomes => {
  const { nodes } = input;
  if (nodes.some(({ plans }) => plans)) return () => [];
  const aboveOf = aboveIn(input);
  return (_, given) => {
    const { node = '' } = (isJsonObject(given) ? given : {}) as { readonly node?: string };
    const above = aboveOf(node);
    const targets = asksNearest(input, asking) ? above.slice(0, 1) : above;
    return [NEW, ...targets.map((target) => reports(node, target)), REFUSED, FAILS];
  };
};

const reports = (node: string, target: string): AgentOutcome => ({
  name: `asks ${target} for a fix`,
  output: { passed: false },
  feedback: [fixRequest(node, target)],
});

const fixRequest = (node: string, target: string): Json => ({
  from_node: node,
  to_node: target,
  feedback_type: 'FIX_REQUEST',
  message: 'not good',
  suggested_fix: 'mend it',
  // One that is not settled is raised to this: so it stays as it is.
  priority: 'critical',
});
