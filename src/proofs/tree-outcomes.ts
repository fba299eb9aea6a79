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

/**
 * What is left out, and took no more in any tree of up to 3 nodes (`test/proofs/tree-outcomes.test.ts`): several feedbacks in one
 * answer, requests for context, and a node that leaves its result as it was.
 */
const ASSUMED = 'each answer has one request for a fix or something new';

export const ASSUMED_IN_TREE = ` (as long as ${ASSUMED})`;

/**
 * Whatever the agents of a tree may do, as far as it makes a difference to it: a node may ask any node above it for a fix. What a planner
 * may plan is beyond all counting: then whoever wants to know says what it may do.
 */
export const outcomesInTree = ({ nodes }: TreeRunInput): Outcomes => {
  if (nodes.some(({ plans }) => plans)) return () => [];
  const tree = shapeOf(nodes);
  return (_, input) => {
    const { node = '' } = (isJsonObject(input) ? input : {}) as { readonly node?: string };
    const targets = ancestorsOf(tree, node).filter((each) => tree[each]?.works === true);
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
