import { stopActor } from '../events/vocabulary.ts';
import { isAncestor, type KnownTree } from './coordinator-checks.ts';
import { EMPTY_QUEUE, enqueue, type PriorityQueue, queueItems } from './coordinator-queue.ts';
import { dropped, moved } from './coordinator-rules.ts';
import {
  type Entry,
  type CoordinatorOutcome as Outcome,
  type CoordinatorState as State,
  shown,
} from './coordinator-state.ts';
import { type RunMessage } from './run-messages.ts';

/** The tree has changed: what no longer has a source below its target has ended. */
export const changeTree = (state: State, tree: KnownTree): Outcome => {
  let next: State = { ...state, tree };
  const messages: RunMessage[] = [];
  const isVoid = ({ from, to }: Entry): boolean => !isAncestor(tree, to, from);
  for (const [target, queue] of Object.entries(state.queues)) {
    const items = queueItems(queue);
    const kept = items.filter((entry) => !isVoid(entry));
    if (kept.length === items.length) continue;
    const rebuilt = kept.reduce<PriorityQueue<Entry>>(
      (into, entry) => enqueue(into, entry.priority, entry),
      EMPTY_QUEUE,
    );
    next = { ...next, queues: { ...next.queues, [target]: rebuilt } };
    for (const entry of items.filter(isVoid)) {
      next = dropped(next, entry);
      messages.push(...withdrawn(tree, entry));
    }
  }
  for (const entry of Object.values(state.open).filter(isVoid)) {
    next = dropped(next, entry);
    messages.push(...withdrawn(tree, entry));
  }
  return { state: next, messages };
};

/** Whoever asked for a change of the plan, and is not in the new one, has been heard. */
const withdrawn = (tree: KnownTree, entry: Entry): readonly RunMessage[] => {
  const isHeard =
    entry.stage === 'fixing' &&
    !Object.hasOwn(tree, entry.from) &&
    Object.hasOwn(tree, entry.to) &&
    isOfPlan(entry);
  const reason = Object.hasOwn(tree, entry.from)
    ? `"${entry.to}" is no longer above "${entry.from}".`
    : `"${entry.from}" is no longer in the plan.`;
  return [
    ...(entry.slot === null ? [] : [stopActor(entry.slot)]),
    isHeard
      ? { type: 'feedback.resolved', ...shown(entry), note: reason }
      : { type: 'feedback.failed', ...shown(entry), outcome: 'void', reason, by: null, note: null },
    moved(entry, 'void', { wasQueued: entry.stage === 'queued' }),
  ];
};

const isOfPlan = ({ kind }: Entry): boolean => kind === 'ARCHITECTURE_ISSUE' || kind === 'DEPENDENCY_MISSING';

/** What was brought in from earlier runs waits as if it had just come. The run knows of it: it was started with it. */
export const restored = (state: State): Outcome => {
  let next: State = { ...state, waiting: [] };
  for (const given of state.waiting) {
    const entry: Entry = { ...given, stage: 'queued', slot: null };
    const queue = next.queues[entry.to] ?? EMPTY_QUEUE;
    next = { ...next, queues: { ...next.queues, [entry.to]: enqueue(queue, entry.priority, entry) } };
  }
  return { state: next, messages: [] };
};
