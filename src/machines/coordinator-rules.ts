import { isBlobRef, largeInWords } from '../events/blob.ts';
import type { Json } from '../events/json.ts';
import { type FeedbackItem, type FeedbackText, raisedPriority } from '../events/tree-feedback.ts';
import { startActor } from '../events/vocabulary.ts';
import type { Link } from './coordinator-checks.ts';
import { dequeue, EMPTY_QUEUE, enqueue, type PriorityQueue, queueSize } from './coordinator-queue.ts';
import { readAll } from './coordinator-read.ts';
import {
  countOf,
  type Entry,
  isLastRound,
  type CoordinatorOutcome as Outcome,
  type CoordinatorState as State,
  shown,
  type Violation,
  violationOf,
  waysOf,
  withCount,
} from './coordinator-state.ts';
import { FIX_VERIFY, type FixInput, type FixReport } from './fix-verify-machine.ts';
import type { MetLimit } from './limits.ts';
import { type RunMessage } from './run-messages.ts';

/** How many feedbacks one execution of a node is given at most; the others wait for the next one. */
export const READ_AT_ONCE_MAX = 10;

const TO_RUN = '..';

/** What a node reports: with the chain of causes of its execution, and what that execution verifies. */
export interface Submitted {
  readonly node: string;
  readonly items: Json;
  readonly cause: readonly Link[];
  readonly verifies: readonly string[];
}

/** Takes in what a node reports: all of it, or nothing if anything about it is wrong. */
export const submit = (state: State, { node, items, cause, verifies }: Submitted): Outcome => {
  const read = readAll(state.tree, node, items);
  if (read.faults.length > 0) {
    const told: RunMessage = { type: 'feedback.refused', node, faults: read.faults };
    return {
      state,
      messages: [told, { type: 'tree.judged', to: TO_RUN, node, faults: read.faults, ids: [] }],
    };
  }
  let next = state;
  const ids: string[] = [];
  const messages: RunMessage[] = [];
  for (const { item, to } of read.items) {
    const same = verifies
      .map((id) => next.open[id])
      .find((entry) => entry?.stage === 'verifying' && entry.to === to && !ids.includes(entry.id));
    const step = same
      ? unverified(next, same, { reason: textOf(item.message), item })
      : made(next, { item, from: node, to, chain: cause, escalates: null });
    next = step.state;
    ids.push(same?.id ?? numbered(next.made));
    messages.push(...step.messages);
  }
  return { state: next, messages: [{ type: 'tree.judged', to: TO_RUN, node, faults: [], ids }, ...messages] };
};

const textOf = (text: FeedbackText): string => (isBlobRef(text) ? largeInWords(text) : text);

/** Sort by number as well as by text, up to a thousand. */
const numbered = (nth: number): string => `FB-${String(nth).padStart(3, '0')}`;

type New = Pick<Entry, 'item' | 'from' | 'to' | 'chain' | 'escalates'>;

const made = (state: State, given: New): Outcome => {
  const { counted, entry } = numberedEntry(state, given);
  const violation = violationOf(counted, entry);
  return violation ? refusedByLimit(counted, entry, violation) : queued(reserved(counted, entry), entry);
};

/** Takes the round for itself before anything else can. */
const reserved = (state: State, pair: Pick<Entry, 'from' | 'to'>): State => ({
  ...state,
  rounds: withCount(state.rounds, pair, 1),
});

const numberedEntry = (state: State, given: New): { readonly counted: State; readonly entry: Entry } => {
  const counted = { ...state, made: state.made + 1 };
  const { feedback_type: kind, priority } = given.item;
  const round = countOf(state.rounds, given.from, given.to) + 1;
  const entry: Entry = {
    ...given,
    id: numbered(counted.made),
    kind,
    priority,
    round,
    attempts: [],
    stage: 'queued',
    slot: null,
  };
  return { counted, entry };
};

/** Opens a round that was reserved for it. */
const queued = (state: State, given: Entry): Outcome => {
  const { from, to, id } = given;
  const entry: Entry = { ...given, stage: 'queued' };
  const { [id]: _, ...open } = state.open;
  const queue = state.queues[to] ?? EMPTY_QUEUE;
  const queues = { ...state.queues, [to]: enqueue(queue, entry.priority, entry) };
  const isLast = isLastRound(state, entry);
  return {
    state: { ...state, queues, open, opened: state.opened + 1 },
    messages: [
      { type: 'feedback.queued', ...shown(entry) },
      ...(isLast ? [{ type: 'feedback.lastRound', id, source: from, target: to, round: entry.round }] : []),
      moved(entry, 'queued', { isAgain: entry.attempts.length > 0 || entry.slot !== null }),
    ],
  };
};

export const moved = (
  { id, from, to, kind }: Entry,
  stage: string,
  more: Readonly<Record<string, Json>> = {},
): RunMessage => ({ type: 'tree.moved', to: TO_RUN, id, source: from, target: to, kind, stage, ...more });

/** It is on record, with an id and a reason, but nothing is queued: it goes up, to a person, or ends the run. */
const refusedByLimit = (state: State, entry: Entry, violation: Violation): Outcome => {
  const { reason, met, cycle } = violation;
  const told: RunMessage = {
    type: 'feedback.escalated',
    ...shown(entry),
    reason,
    met: met as unknown as Json,
    cycle,
    refused: true,
  };
  const ways = waysOf(state, entry, violation);
  const taken = ways.up === null ? state : reserved(state, { from: entry.from, to: ways.up });
  const begun = begin(taken, { ...entry, stage: 'asking' }, { begin: 'deciding', ...ways });
  return { state: begun.state, messages: [told, ...begun.messages] };
};

/** Starts the actor that takes a feedback to its end. */
const begin = (
  state: State,
  given: Entry,
  way: Omit<FixInput, 'id' | 'onLimit' | 'questionLevels' | 'onExpiry'>,
): Outcome => {
  const slot = freeSlot(state, given.from);
  const entry: Entry = { ...given, slot };
  const { onLimit, questionLevels, onExpiry } = state;
  const input: FixInput = { ...way, id: entry.id, onLimit, questionLevels, onExpiry };
  return {
    state: {
      ...state,
      open: { ...state.open, [entry.id]: entry },
      slots: { ...state.slots, [slot]: entry.id },
    },
    messages: [startActor({ id: slot, machine: FIX_VERIFY, input: input as unknown as Json })],
  };
};

/** Named by the source, so that how many there were before is not part of an address. */
const freeSlot = ({ slots }: State, from: string): string => {
  for (let nth = 1; ; nth += 1) {
    const slot = `fix:${from}.${nth}`;
    if (!Object.hasOwn(slots, slot)) return slot;
  }
};

/** Gives a node what waits for it, in order. It is bound to this execution: nobody else is given it. */
export const take = (state: State, node: string, execution: string): Outcome => {
  let queue: PriorityQueue<Entry> = state.queues[node] ?? EMPTY_QUEUE;
  let next = state;
  const taken: Entry[] = [];
  const messages: RunMessage[] = [];
  for (let first = dequeue(queue); first && taken.length < READ_AT_ONCE_MAX; first = dequeue(queue)) {
    queue = first.rest;
    const entry: Entry = { ...first.item, stage: 'fixing' };
    messages.push({ type: 'feedback.delivered', ...shown(entry), execution });
    const step = delivered(next, entry);
    next = step.state;
    messages.push(...step.messages);
    taken.push(entry);
  }
  const { [node]: _, ...queues } = next.queues;
  const rest = queueSize(queue) === 0 ? queues : { ...queues, [node]: queue };
  const items = taken.map((entry) => ({ ...shown(entry), attempts: entry.attempts as unknown as Json }));
  return {
    state: { ...next, queues: rest },
    messages: [...messages, { type: 'tree.bound', to: TO_RUN, node, execution, items }],
  };
};

const delivered = (state: State, entry: Entry): Outcome =>
  entry.slot === null
    ? begin(state, entry, { begin: 'fixing', ...waysOf(state, entry, null) })
    : {
        state: { ...state, open: { ...state.open, [entry.id]: entry } },
        messages: [{ type: 'fix.delivered', to: `./${entry.slot}` }],
      };

/** What an execution that was given feedback, or that verifies some, came to. */
export interface NodeEnd {
  readonly bound: readonly string[];
  readonly verifies: readonly string[];
  readonly ok: boolean;
  readonly reason: string;
  /** Set if a limit stands against another try. */
  readonly met: MetLimit | null;
}

export const nodeEnded = (state: State, { bound, verifies, ok, reason, met }: NodeEnd): Outcome => {
  let next = state;
  const messages: RunMessage[] = [];
  const apply = (step: Outcome): void => {
    next = step.state;
    messages.push(...step.messages);
  };
  for (const id of bound) {
    const entry = next.open[id];
    if (entry?.stage !== 'fixing') continue;
    apply(ok ? told(next, entry, 'fix.fixed') : unfixed(next, entry, { reason, met }));
  }
  for (const id of verifies) {
    const entry = next.open[id];
    if (entry?.stage !== 'verifying') continue;
    apply(ok ? told(next, entry, 'fix.verified') : unverified(next, entry, { reason }));
  }
  return { state: next, messages };
};

const told = (state: State, { slot }: Entry, type: string): Outcome => ({
  state,
  messages: [{ type, to: `./${slot}` }],
});

/** A fix that failed. If a limit stands against it, another round would meet the same one. */
const unfixed = (
  state: State,
  entry: Entry,
  { reason, met }: { readonly reason: string; readonly met: MetLimit | null },
): Outcome =>
  unsettled(state, withAttempt(entry, reason), {
    type: 'fix.unfixed',
    violation: met && { reason, met, cycle: null },
  });

/** A verification that failed; its node may have found words of its own for what is still wrong. */
const unverified = (
  state: State,
  entry: Entry,
  { reason, item = entry.item }: { readonly reason: string; readonly item?: FeedbackItem },
): Outcome =>
  unsettled(
    state,
    { ...withAttempt(entry, reason), item, kind: item.feedback_type },
    { type: 'fix.unverified', violation: null },
  );

/** What follows is certain from here on: its round, or its place before the planner, is nobody else's. */
const unsettled = (
  state: State,
  failed: Entry,
  { type, violation }: { readonly type: string; readonly violation: Violation | null },
): Outcome => {
  const ways = waysOf(state, failed, violation);
  const { from, to } = failed;
  const next = ways.hasRounds ? to : ways.up;
  const taken = next === null ? state : reserved(state, { from, to: next });
  const round = ways.hasRounds ? countOf(taken.rounds, from, to) : failed.round;
  return {
    state: { ...taken, open: { ...taken.open, [failed.id]: { ...failed, round } } },
    messages: [{ type, to: `./${failed.slot}`, ...(ways as unknown as Readonly<Record<string, Json>>) }],
  };
};

const withAttempt = (entry: Entry, reason: string): Entry => ({
  ...entry,
  attempts: [...entry.attempts, { round: entry.round, message: entry.item.message, reason }],
});

/** What an actor that takes a feedback to its end has to say. */
export const reported = (state: State, report: FixReport): Outcome => {
  const entry = state.open[report.id];
  if (!entry) return { state, messages: [] };
  switch (report.type) {
    case 'fix.verifying':
      return staged(state, { ...entry, stage: 'verifying' });
    case 'fix.again': {
      const { from, to } = entry;
      const granted = withCount(state.granted, entry, report.more);
      const allowed = report.more > 0 ? reserved({ ...state, granted }, entry) : state;
      const round = report.more > 0 ? countOf(allowed.rounds, from, to) : entry.round;
      // A person who lets it go on wants it to be done as it is.
      const priority = raisedPriority(entry.priority);
      const more: readonly RunMessage[] =
        report.more > 0
          ? [{ type: 'feedback.granted', id: entry.id, rounds: report.more, by: report.by }]
          : [];
      const again = queued(allowed, { ...entry, priority, round });
      const grants: readonly RunMessage[] =
        report.more > 0 ? [moved(entry, 'granted', { met: report.met as unknown as Json })] : [];
      return { state: again.state, messages: [...more, ...grants, ...again.messages] };
    }
    case 'fix.asks': {
      const asking = staged(state, { ...entry, stage: 'asking' });
      const { reason } = report;
      const met = report.met as unknown as Json;
      const escalated: RunMessage = {
        type: 'feedback.escalated',
        ...shown(entry),
        reason,
        met,
        cycle: null,
        refused: false,
      };
      // One that was refused is on record as such.
      const isKnown = entry.stage === 'asking';
      return { state: asking.state, messages: [...(isKnown ? [] : [escalated]), ...asking.messages] };
    }
    case 'fix.ended':
      return ended(state, entry, report);
  }
};

const staged = (state: State, entry: Entry): Outcome => ({
  state: { ...state, open: { ...state.open, [entry.id]: entry } },
  messages: [moved(entry, entry.stage)],
});

const ended = (state: State, entry: Entry, report: Extract<FixReport, { type: 'fix.ended' }>): Outcome => {
  const { outcome, reason, by, note } = report;
  const closed = dropped(state, entry);
  const met = report.met as unknown as Json;
  if (outcome === 'resolved')
    return {
      state: closed,
      messages: [{ type: 'feedback.resolved', ...shown(entry), note: null }, moved(entry, 'resolved')],
    };
  const failed: RunMessage = { type: 'feedback.failed', ...shown(entry), outcome, reason, by, note };
  if (outcome !== 'up') return { state: closed, messages: [failed, moved(entry, outcome, { reason, met })] };
  const above = goneUp(closed, entry, report);
  return { state: above.state, messages: [failed, ...above.messages, moved(entry, 'up')] };
};

/** Out of rounds, it is put before the planner: in the chain it stands where it stood. */
const goneUp = (
  state: State,
  entry: Entry,
  { up: planner, reason }: Pick<Extract<FixReport, { type: 'fix.ended' }>, 'up' | 'reason'>,
): Outcome => {
  const { from, chain, item } = entry;
  if (planner === null) return { state, messages: [] };
  const fix = item.suggested_fix ?? item.suggested_action;
  const raisedItem: FeedbackItem = {
    type: 'FEEDBACK',
    from_node: from,
    to_node: planner,
    feedback_type: 'ARCHITECTURE_ISSUE',
    message: `${reason} It was: ${textOf(item.message)}`,
    suggested_fix: fix ?? 'Change the plan so that this cannot come up.',
    priority: raisedPriority(entry.priority),
    ...(item.artifacts && { artifacts: item.artifacts }),
  };
  const given = { item: raisedItem, from, to: planner, chain, escalates: entry.id };
  const { counted, entry: above } = numberedEntry(state, given);
  const round = countOf(counted.rounds, from, planner);
  const violation = violationOf(counted, above, { hasRound: true });
  return violation ? refusedByLimit(counted, above, violation) : queued(counted, { ...above, round });
};

export const dropped = (state: State, { id, slot }: Entry): State => {
  const { [id]: _, ...open } = state.open;
  const { [slot ?? '']: __, ...slots } = state.slots;
  return { ...state, open, slots };
};
