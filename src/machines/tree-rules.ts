import { isJsonObject, type Json } from '../events/json.ts';
import { addSpent } from '../events/usage.ts';
import { startActor } from '../events/vocabulary.ts';
import { AGENT } from './agent-machine.ts';
import { type AgentReply, NO_BUDGET } from './agent-work.ts';
import type { Link } from './coordinator-checks.ts';
import { type MetLimit, metLimit } from './limits.ts';
import { hashOf } from './plan.ts';
import { haltOf } from './run-halts.ts';
import { agentId, type RunMessage } from './run-messages.ts';
import { applyPlan } from './tree-changes.ts';
import {
  COORDINATOR_ID,
  ended,
  failed,
  finish,
  halted,
  report,
  tried,
  unverified,
  withAnswer,
} from './tree-ends.ts';
import { isFailure, loopEnded } from './tree-loop.ts';
import type { TreeNode } from './tree-plan.ts';
import { foundIn, requestOf } from './tree-request.ts';
import {
  type BoundFeedback,
  keyOf,
  type NodeRecord,
  nodeOf,
  type OpenFeedback,
  type TreeOutcome as Outcome,
  openRequests,
  readyNodes,
  recordOf,
  type TreeState as State,
  viewOf,
  type Why,
  withRecord,
  withSettling,
} from './tree-state.ts';

const TO_COORDINATOR = `./${COORDINATOR_ID}`;

/** Starts every node that can run, unless something holds the run back. */
export const dispatch = (state: State): Outcome => {
  let next = state;
  const messages: RunMessage[] = [];
  // A condition is decided at once, and what it has let through may begin with the others.
  for (let again = true; again && !next.halt && next.pauseReasons.length === 0; ) {
    again = false;
    for (const { node, why } of readyNodes(viewOf(next))) {
      const met = node.condition ? undefined : budgetMet(next);
      if (met) return halted(next, messages, haltOf(met, node.id));
      const begun = node.condition ? decide(next, node) : begin(next, node, why);
      next = begun.state;
      messages.push(...begun.messages);
      again = node.condition !== null;
      if (again) break;
    }
  }
  return { state: next, messages };
};

const budgetMet = ({ limits, spent }: State): MetLimit | undefined =>
  metLimit(limits, {
    calls: { used: spent.calls },
    costUsd: { used: spent.costUsd },
    tokens: { used: spent.tokens },
  });

/** A condition looks at what is pending when it is reached, and keeps to it until what it was made from changes. */
const decide = (state: State, node: TreeNode): Outcome => {
  const { pendingFor } = node.condition ?? { pendingFor: null };
  const isMeant = (id: string): boolean => pendingFor === null || pendingFor === id;
  const isPending =
    Object.values(state.open).some(({ target }) => isMeant(target)) ||
    Object.entries(state.records).some(([id, { queued }]) => queued > 0 && isMeant(id));
  const output = { branch: isPending ? 'pending' : 'otherwise' };
  const { runs } = recordOf(state, node.id);
  const key = keyOf(viewOf(state), node);
  const decided = withRecord(state, node.id, {
    status: 'done',
    key,
    output,
    hash: hashOf(output),
    runs: runs + 1,
  });
  const left = leftOut(state, decided);
  return {
    state: left.state,
    messages: [
      { type: 'node.decided', node: node.id, branch: output.branch },
      ...left.messages,
      toldTree(left.state),
    ],
  };
};

/** Nodes at work on a way that is no longer taken are called off. */
const leftOut = (before: State, after: State): Outcome => {
  const active = viewOf(after).byId;
  let next = after;
  const messages: RunMessage[] = [];
  for (const { node, role, request } of openRequests(before)) {
    if (active.has(node)) continue;
    next = withRecord(next, node, {
      request: null,
      status: 'waiting',
      verifies: [],
      repeats: 0,
      refusals: 0,
    });
    messages.push({ type: 'agent.cancel', to: `./${agentId(role)}`, request });
  }
  return { state: next, messages };
};

/** What the coordinator knows of the tree is what is active in it. */
const toldTree = (state: State): RunMessage => ({
  type: 'tree.set',
  to: TO_COORDINATOR,
  tree: viewOf(state).tree as unknown as Json,
});

const begin = (state: State, node: TreeNode, why: Why): Outcome => {
  const before = recordOf(state, node.id);
  const runs = before.runs + 1;
  // One that goes on (a repeat, an answer that was refused) is still about what it was about.
  const goesOn = why === 'verify' || before.repeats > 0 || before.refusals > 0;
  const begun = withRecord(state, node.id, {
    status: 'working',
    runs,
    nextKey: keyOf(viewOf(state), node),
    request: `${node.id}.${runs}`,
    repeats: node.loop ? before.repeats + 1 : 0,
    verifies: why === 'verify' ? before.blockedBy : [],
    cause: goesOn || before.bound.length > 0 ? before.cause : before.addedBy,
    taking: before.queued === 0 ? 'no' : why === 'feedback' ? 'feedback' : 'due',
  });
  if (before.queued === 0) return ask(begun, node);
  return {
    state: begun,
    messages: [{ type: 'feedback.take', to: TO_COORDINATOR, node: node.id, execution: `${node.id}.${runs}` }],
  };
};

const ask = (state: State, node: TreeNode): Outcome => {
  const role = node.agent ?? '';
  const isNew = !state.started.includes(role);
  const started = isNew ? [...state.started, role] : state.started;
  const to = `./${agentId(role)}`;
  return {
    state: { ...state, started },
    messages: [
      ...(isNew
        ? [startActor({ id: agentId(role), machine: AGENT, input: state.roles[role] as unknown as Json })]
        : []),
      // An agent that is only started now has not heard of the pause.
      ...(isNew && state.pauseReasons.length > 0 ? [{ type: 'agent.pause', to }] : []),
      requestOf(state, node),
    ],
  };
};

/** A node has been given its feedback: what its result answers as it stands needs no run. */
export const bound = (state: State, id: string, items: readonly BoundFeedback[]): Outcome => {
  const node = nodeOf(state, id);
  const record = recordOf(state, id);
  if (!node || record.taking === 'no') return { state, messages: [] };
  const isAnswered = (item: BoundFeedback): boolean =>
    item.kind === 'CONTEXT_REQUEST' && record.hash !== null && foundIn(record.output, item).isAll;
  const answered = items.filter(isAnswered);
  const rest = items.filter((item) => !isAnswered(item));
  let next = withRecord(state, id, {
    taking: 'no',
    queued: Math.max(0, record.queued - items.length),
    bound: [...record.bound, ...rest],
    cause: deepest([record.cause, ...rest.map(causeOf)]),
  });
  next = {
    ...next,
    open: { ...next.open, ...Object.fromEntries(items.map((item) => [item.id, fixing(item)])) },
  };
  for (const item of answered) next = withAnswer(next, item, record.output);
  next = withSettling(
    next,
    answered.map((item) => item.id),
  );
  const told: RunMessage[] =
    answered.length === 0 ? [] : [ended({ bound: answered.map((item) => item.id), ok: true })];
  if (record.taking === 'feedback' && rest.length === 0) {
    const idle = withRecord(next, id, { status: 'done', request: null, runs: record.runs - 1, repeats: 0 });
    return { state: idle, messages: told };
  }
  const asked = ask(next, node);
  return { state: asked.state, messages: [...told, ...asked.messages] };
};

const fixing = ({ id, source, target, kind }: BoundFeedback): OpenFeedback => ({
  id,
  source,
  target,
  kind,
  stage: 'fixing',
});

const causeOf = ({ id, source, target, chain }: BoundFeedback): readonly Link[] => [
  ...chain,
  { id, from: source, to: target },
];

const deepest = (chains: readonly (readonly Link[])[]): readonly Link[] =>
  chains.reduce((longest, chain) => (chain.length > longest.length ? chain : longest), []);

/** Takes in what the agent of a node said. */
export const record = (state: State, id: string, reply: AgentReply): Outcome => {
  const node = nodeOf(state, id);
  const heard = withRecord({ ...state, spent: addSpent(state.spent, reply.spent) }, id, { request: null });
  if (!node) return { state: heard, messages: [] };
  if (reply.type === 'agent.failed') {
    const { message, code } = reply.failure;
    const met = code === NO_BUDGET.code ? budgetMet(heard) : undefined;
    if (met) return halted(withRecord(heard, id, { status: 'waiting' }), [], haltOf(met, id));
    if (node.loop) return loopEnded(heard, node, { isFailed: true, output: null, reason: message });
    return failed(heard, node, { reason: message });
  }
  const { output: given, feedback, artifacts } = reply.answer;
  const shown = isJsonObject(artifacts) ? artifacts : {};
  const noted = withRecord(heard, id, {
    artifacts: { ...recordOf(heard, id).artifacts, ...shown },
    reported: given,
  });
  const planned = applyPlan(noted, node, given);
  if (planned.faults.length > 0) return refused(noted, node, planned);
  const { output } = planned;
  const messages = planned.messages;
  const next = withRecord(planned.state, id, { reported: output });
  const then = (step: Outcome): Outcome => ({ state: step.state, messages: [...messages, ...step.messages] });
  if (hasFeedback(feedback)) return then(report(next, node, feedback));
  if (node.loop)
    return then(loopEnded(next, node, { isFailed: isFailure(output), output, reason: wordsOf(output) }));
  if (isFailure(output) && recordOf(next, id).verifies.length > 0)
    return then(failed(next, node, { reason: wordsOf(output) }));
  if (!planned.isHeard)
    return then(
      failed(next, node, { reason: 'The planner has left the plan, and its result, as they were.' }),
    );
  return then(finish(next, node, output));
};

const hasFeedback = (feedback: Json | undefined): feedback is Json =>
  feedback !== undefined && feedback !== null && !(Array.isArray(feedback) && feedback.length === 0);

const wordsOf = (output: Json): string => {
  const { message, summary, reason, text }: Readonly<Record<string, Json>> = isJsonObject(output)
    ? output
    : {};
  const words = [message, summary, reason, text].find(
    (each) => typeof each === 'string' && each.trim() !== '',
  );
  return typeof words === 'string' ? words.slice(0, 2_000) : 'It did not pass.';
};

/** What the coordinator said of it: it is under way, or it was refused with everything that is wrong with it. */
export const judged = (
  state: State,
  id: string,
  { faults, ids }: { readonly faults: readonly string[]; readonly ids: readonly string[] },
): Outcome => {
  const node = nodeOf(state, id);
  if (!node || recordOf(state, id).status !== 'reporting') return { state, messages: [] };
  if (faults.length > 0) return refused(state, node, { faults, met: null });
  const { blockedBy } = recordOf(state, id);
  const waits = withRecord(state, id, {
    status: 'blocked',
    history: tried(recordOf(state, id), recordOf(state, id).reported),
    blockedBy: [...new Set([...blockedBy, ...ids])],
    verifies: [],
    repeats: 0,
    failuresInRow: 0,
    refusals: 0,
    notice: [],
  });
  // What it was to verify, and has spoken of again, is not verified.
  return {
    state: withSettling(unverified(waits, ids), ids),
    messages: [{ type: 'node.waits', node: id, feedback: ids }],
  };
};

/** An answer that cannot be taken: its agent is told why and asked again, as often as it is called for a request. */
const refused = (
  state: State,
  node: TreeNode,
  { faults, met }: { readonly faults: readonly string[]; readonly met: MetLimit | null },
): Outcome => {
  const { id } = node;
  const refusals = recordOf(state, id).refusals + 1;
  const attempts = state.roles[node.agent ?? '']?.attempts ?? 1;
  const messages: RunMessage[] = [{ type: 'node.refused', node: id, faults }];
  const isOver = refusals >= attempts || met !== null;
  if (isOver) {
    const step = failed(state, node, { reason: `Its answer was refused: ${faults.join('; ')}`, met });
    return { state: step.state, messages: [...messages, ...step.messages] };
  }
  return {
    state: withRecord(state, id, { status: waitingFor(state, id), refusals, notice: faults }),
    messages,
  };
};

/** One that verifies is blocked until it runs; any other waits for its turn. */
const waitingFor = (state: State, id: string): NodeRecord['status'] =>
  recordOf(state, id).blockedBy.length > 0 ? 'blocked' : 'waiting';
