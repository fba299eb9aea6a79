import type { Json } from '../events/json.ts';
import type { MetLimit } from './limits.ts';
import { hashOf } from './plan.ts';
import { haltOf } from './run-halts.ts';
import { CONTEXT_ID, type RunMessage } from './run-messages.ts';
import type { Halt } from './run-state.ts';
import type { TreeNode } from './tree-plan.ts';
import { foundIn } from './tree-request.ts';
import {
  type BoundFeedback,
  type NodeRecord,
  type TreeOutcome as Outcome,
  recordOf,
  type TreeState as State,
  withRecord,
  withSettling,
} from './tree-state.ts';

export const COORDINATOR_ID = 'coordinator';
const TO_COORDINATOR = `./${COORDINATOR_ID}`;
/** How many earlier results an agent is shown. */
const HISTORY_MAX = 10;

export const halted = (state: State, messages: readonly RunMessage[], halt: Halt): Outcome =>
  state.halt
    ? { state, messages }
    : {
        state: { ...state, halt },
        messages: [
          ...messages,
          { type: 'run.halted', ...(halt as unknown as Readonly<Record<string, Json>>) },
        ],
      };

/** Tells the coordinator what an execution came to that was given feedback, or that verified some. */
export const ended = (end: {
  readonly bound?: readonly string[];
  readonly verifies?: readonly string[];
  readonly ok: boolean;
  readonly reason?: string;
  readonly met?: MetLimit | null;
}): RunMessage => ({
  type: 'node.ended',
  to: TO_COORDINATOR,
  bound: end.bound ?? [],
  verifies: end.verifies ?? [],
  ok: end.ok,
  reason: end.reason ?? '',
  met: (end.met ?? null) as unknown as Json,
});

/** Gives what a node found out to the coordinator, which says in this same turn what becomes of it. */
export const report = (state: State, { id }: TreeNode, items: Json): Outcome => {
  const { cause, verifies } = recordOf(state, id);
  return {
    state: withRecord(state, id, { status: 'reporting' }),
    messages: [
      {
        type: 'feedback.submit',
        to: TO_COORDINATOR,
        node: id,
        items,
        cause: cause as unknown as Json,
        verifies,
      },
    ],
  };
};

/** What was to be verified, and is not. */
export const unverified = (state: State, ids: readonly string[]): State => ({
  ...state,
  open: Object.fromEntries(
    Object.entries(state.open).map(([id, open]) => [
      id,
      ids.includes(id) && open.stage === 'verifying' ? { ...open, stage: 'again' as const } : open,
    ]),
  ),
});

/** An execution that came to nothing: the next round of what it was about, or the end of the run if it was about nothing. */
export const failed = (
  state: State,
  node: TreeNode,
  { reason, met = null }: { readonly reason: string; readonly met?: MetLimit | null },
): Outcome => {
  const { id } = node;
  const { bound: given, verifies, hash, key } = recordOf(state, id);
  const cleared = { repeats: 0, failuresInRow: 0, refusals: 0, notice: [], verifies: [] };
  const message: RunMessage = { type: 'node.failed', node: id, reason };
  if (given.length === 0 && verifies.length === 0) {
    const halt: Halt = met
      ? haltOf(met, id)
      : { verdict: 'failed', met: null, step: id, reason: `The node "${id}" failed: ${reason}` };
    return halted(withRecord(state, id, { ...cleared, status: 'failed' }), [message], halt);
  }
  // Without a result of its own, or blocked, it has to run again; else what it made before stands.
  const status = verifies.length > 0 ? 'blocked' : hash === null ? 'waiting' : 'done';
  const isStill = verifies.length > 0;
  const next = withRecord(state, id, { ...cleared, status, key, bound: isStill ? given : [] });
  const bounds = isStill ? [] : given.map((each) => each.id);
  return {
    state: withSettling(unverified(next, verifies), [...bounds, ...verifies]),
    messages: [message, ended({ bound: bounds, verifies, ok: false, reason, met })],
  };
};

const verifying = (state: State, ids: readonly string[]): State => ({
  ...state,
  open: Object.fromEntries(
    Object.entries(state.open).map(([id, open]) => [
      id,
      ids.includes(id) ? { ...open, stage: 'verifying' as const } : open,
    ]),
  ),
});

/** Gives the node that asked for context what there is of it. */
export const withAnswer = (state: State, asked: BoundFeedback, output: Json): State =>
  asked.kind === 'CONTEXT_REQUEST' && state.records[asked.source]
    ? withRecord(state, asked.source, {
        answers: { ...recordOf(state, asked.source).answers, ...foundIn(output, asked).values },
      })
    : state;

/** A node has its result. */
export const finish = (state: State, node: TreeNode, output: Json): Outcome => {
  const { id } = node;
  const before = recordOf(state, id);
  const hash = hashOf(output);
  const { bound: given, verifies } = before;
  const isWaiting = verifies.length > 0;
  // The coordinator will say so in this same turn.
  const fixed = given.map((each) => each.id);
  const told = given.reduce((next, each) => withAnswer(next, each, output), verifying(state, fixed));
  const done = withRecord(told, id, {
    status: isWaiting ? 'reporting' : 'done',
    key: before.nextKey,
    output,
    hash,
    history: tried(before, output),
    bound: [],
    verifies: [],
    repeats: 0,
    failuresInRow: 0,
    refusals: 0,
    notice: [],
  });
  const role = node.agent ?? id;
  return {
    state: withSettling(done, [...fixed, ...verifies]),
    messages: [
      { type: 'node.done', node: id, run: before.runs, hash, isChanged: hash !== before.hash },
      { type: 'context.set', to: `./${CONTEXT_ID}`, path: ['agents', role, 'outputs', id], value: output },
      ...(given.length + verifies.length > 0
        ? [ended({ bound: given.map((each) => each.id), verifies, ok: true })]
        : []),
    ],
  };
};

/** With what it made now as the last. */
export const tried = ({ history, bound: given }: NodeRecord, output: Json): NodeRecord['history'] =>
  [...history, { output, feedback: given.map(({ id, round }) => ({ id, round })) }].slice(-HISTORY_MAX);
