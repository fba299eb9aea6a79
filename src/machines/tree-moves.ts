import type { Json } from '../events/json.ts';
import type { FeedbackKind } from '../events/tree-feedback.ts';
import { LIMITS, type Limits, type MetLimit } from './limits.ts';
import { hashOf } from './plan.ts';
import type { QuestionOutput } from './question-machine.ts';
import { deadlineOf, isContinuing, morePasses, raised } from './run-decisions.ts';
import { haltOf } from './run-halts.ts';
import { agentId, type RunMessage } from './run-messages.ts';
import type { Halt } from './run-state.ts';
import { ended, halted } from './tree-ends.ts';
import {
  type OpenFeedback,
  type TreeOutcome as Outcome,
  openRequests,
  recordOf,
  type TreeState as State,
  withRecord,
  withSettling,
} from './tree-state.ts';

/** What the coordinator tells of a feedback. */
export interface Moved {
  readonly id: string;
  readonly source: string;
  readonly target: string;
  readonly kind: FeedbackKind;
  readonly stage:
    | 'queued'
    | 'verifying'
    | 'asking'
    | 'granted'
    | 'resolved'
    | 'up'
    | 'accepted'
    | 'void'
    | 'cancelled'
    | 'stopped';
  readonly isAgain?: boolean;
  readonly wasQueued?: boolean;
  readonly reason?: string;
  readonly met?: MetLimit | null;
}

/** A feedback has moved on: what that changes for the nodes at its two ends. */
export const moved = (before: State, move: Moved): Outcome => {
  const { id, source, target, stage } = move;
  const isSettled = stage !== 'granted';
  const state = isSettled ? { ...before, settling: before.settling.filter((each) => each !== id) } : before;
  switch (stage) {
    case 'queued':
      return quiet(queued(state, move));
    case 'verifying':
    case 'asking':
      return quiet(opened(state, move, stage));
    case 'granted':
      return quiet({ ...state, limits: granted(state.limits, move.met ?? null) });
    case 'resolved':
    case 'up':
      return quiet(goesOn(closed(state, move), source));
    case 'accepted': {
      const { kind } = move;
      const debt = [...state.debt, { id, source, target, kind }];
      return accepted({ ...closed(state, move), debt }, source);
    }
    case 'void':
      return quiet(runsAnew(closed(state, move), source));
    case 'cancelled':
      return quiet({ ...closed(state, move), isCancelled: true });
    case 'stopped':
      return halted({ ...closed(state, move), isDecided: true }, [], haltOfFeedback(move));
  }
};

const quiet = (state: State): Outcome => ({ state, messages: [] });

const queued = (state: State, { id, source, target, kind, isAgain }: Moved): State => {
  const waits = withRecord(state, target, { queued: recordOf(state, target).queued + 1 });
  const { blockedBy } = recordOf(waits, source);
  const blocked = withRecord(waits, source, {
    blockedBy: blockedBy.includes(id) ? blockedBy : [...blockedBy, id],
  });
  // What has not been handed out yet changes nothing below its target.
  return isAgain ? opened(blocked, { id, source, target, kind }, 'again') : blocked;
};

const opened = (
  state: State,
  { id, source, target, kind }: Pick<Moved, 'id' | 'source' | 'target' | 'kind'>,
  stage: OpenFeedback['stage'],
): State => ({ ...state, open: { ...state.open, [id]: { id, source, target, kind, stage } } });

const closed = (state: State, { id, source, target, wasQueued }: Moved): State => {
  const { [id]: _, ...open } = state.open;
  let next: State = { ...state, open };
  // After a change of the plan one of the two may be gone.
  if (state.records[source]) {
    const { blockedBy, verifies } = recordOf(next, source);
    next = withRecord(next, source, {
      blockedBy: blockedBy.filter((each) => each !== id),
      verifies: verifies.filter((each) => each !== id),
    });
  }
  if (state.records[target]) {
    const { bound, queued: waiting } = recordOf(next, target);
    next = withRecord(next, target, {
      bound: bound.filter((each) => each.id !== id),
      queued: waiting - (wasQueued ? 1 : 0),
    });
  }
  return next;
};

/** When the last that it waited for has ended, and it has looked at it, a node is done. */
const goesOn = (state: State, source: string): State => {
  const { status, blockedBy } = recordOf(state, source);
  if (!state.records[source] || blockedBy.length > 0) return state;
  return status === 'reporting' ? withRecord(state, source, { status: 'done' }) : state;
};

/** A person takes what it made as it is. */
const accepted = (state: State, source: string): Outcome => {
  const { status, blockedBy, reported, nextKey, bound } = recordOf(state, source);
  if (!state.records[source] || blockedBy.length > 0 || status !== 'blocked') return quiet(state);
  const hash = hashOf(reported);
  const taken = withRecord(state, source, {
    status: 'done',
    output: reported,
    hash,
    key: nextKey,
    bound: [],
  });
  // What it was to mend itself is as mended as it will be: whoever asked for that looks at it next.
  const given = bound.map(({ id }) => id);
  const messages = given.length > 0 ? [ended({ bound: given, ok: true })] : [];
  return { state: withSettling(taken, given), messages };
};

/** What it waited for is void: it runs again in the tree as it is now. */
const runsAnew = (state: State, source: string): State => {
  const { status, blockedBy } = recordOf(state, source);
  if (!state.records[source] || blockedBy.length > 0 || status !== 'blocked') return state;
  return withRecord(state, source, { status: 'waiting', key: null, cause: [] });
};

/** A person who lets a planner go on allows what stood against it. */
const granted = (limits: Limits, met: MetLimit | null): Limits => {
  if (met?.limit === 'replans') return { ...limits, replans: (limits.replans ?? 0) + 1 };
  if (met?.limit === 'addedNodes') return { ...limits, addedNodes: met.used + LIMITS.addedNodes.usual };
  return limits;
};

const haltOfFeedback = ({ met, reason, source }: Moved): Halt =>
  met
    ? { ...haltOf(met, source), reason: reason ?? '' }
    : { verdict: 'stalled', met: null, step: source, reason: reason ?? '' };

/** Takes back every request that is open. */
export const withdrawAll = (state: State): Outcome => {
  let next = state;
  for (const { node } of openRequests(state)) {
    const { blockedBy } = recordOf(next, node);
    next = withRecord(next, node, { request: null, status: blockedBy.length > 0 ? 'blocked' : 'waiting' });
  }
  return {
    state: next,
    messages: openRequests(state).map(({ role, request }) => ({
      type: 'agent.cancel',
      to: `./${agentId(role)}`,
      request,
    })),
  };
};

/** What a person's answer changes when the whole run was held up. */
export const decided = (state: State, said: QuestionOutput, atMs: number): Outcome => {
  if (said.outcome !== 'answered') return { state, messages: [{ type: 'run.decided', option: 'expired' }] };
  const { option, note, by, value } = said;
  const told: RunMessage = { type: 'run.decided', option, note, by, halt: state.halt as unknown as Json };
  const known = { ...state, decidedBy: by };
  if (!isContinuing(said)) return { state: known, messages: [told] };
  const more = morePasses(value);
  const { halt } = state;
  const records = Object.fromEntries(
    Object.entries(state.records).map(([id, record]) => [
      id,
      record.status === 'failed' ? { ...record, status: 'waiting' as const } : record,
    ]),
  );
  const limits = granted(raised(state, halt, { more, value }), halt?.met ?? null);
  const deadlineMs = deadlineOf(state, atMs);
  return { state: { ...known, halt: null, records, limits, deadlineMs }, messages: [told] };
};
