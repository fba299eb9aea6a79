import type { Address, RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import { TYPE } from '../events/vocabulary.ts';
import type { MetLimit } from '../machines/limits.ts';
import { isHalt } from './met-limits.ts';

/** A limit that was met, by whom and where. */
export interface Met {
  readonly met: MetLimit;
  /** The loop whose limit it is. */
  readonly loop: Address;
  /** Where that was stated, or found out. */
  readonly position: number;
}

/** Whether an event is one of those that a limit counts. `isBelow`: it is of an actor below the loop. */
type IsCounted = (
  event: RecordedEvent,
  about: { readonly evidence: readonly string[]; readonly isBelow: boolean },
) => boolean;

const isRejection: IsCounted = ({ type, data }, { isBelow }) =>
  !isBelow &&
  (type === 'gate.rejected' ||
    type === 'correction.opened' ||
    (type === 'loop.pass' && data['status'] !== 'verified'));

const names = (value: Json, evidence: readonly string[]): boolean => {
  if (typeof value === 'string') return evidence.includes(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((child: Json) => names(child, evidence));
};

const isSame: IsCounted = (event, about) => isRejection(event, about) && names(event.data, about.evidence);

const isAnswer: IsCounted = ({ type, kind }, { isBelow }) =>
  isBelow && kind === 'message' && (type === TYPE.callDone || type === TYPE.callFailed);

const hasUsage: IsCounted = (event, about) =>
  isAnswer(event, about) && isJsonObject(event.data['output']) && event.data['output']['usage'] !== undefined;

const isFate =
  (fate: string): IsCounted =>
  ({ type, data }, { isBelow }) =>
    !isBelow && ((type === 'step.done' && data['fate'] === fate) || type === 'loop.implemented');

/** What each limit of the package counts. */
const COUNTED: Readonly<Record<string, IsCounted>> = {
  passes: (event, about) =>
    isRejection(event, about) &&
    (about.evidence.length === 0 ||
      event.type === 'loop.pass' ||
      names(event.data['gate'] ?? event.data['detected'] ?? null, about.evidence)),
  sameIssue: isSame,
  sameFailure: isSame,
  failuresInRow: ({ type, data }, { evidence, isBelow }) => {
    const check = data[evidence[0] ?? ''];
    return !isBelow && type === 'loop.pass' && isJsonObject(check) && check['passed'] === false;
  },
  repeats: ({ type, kind }, { isBelow }) => !isBelow && kind === 'message' && type === 'agent.done',
  unchanged: isFate('unchanged'),
  oscillations: isFate('oscillating'),
  feedbacks: ({ type }, { isBelow }) => !isBelow && type === 'feedback.sent',
  rounds: ({ type }, { isBelow }) => !isBelow && type === 'feedback.opened',
  calls: isAnswer,
  costUsd: hasUsage,
  tokens: hasUsage,
  timeMs: ({ kind, type }, { isBelow }) => !isBelow && (kind === 'started' || type === TYPE.timerFired),
};

/** These add up what events say; the others count the events themselves. */
const SUMS = ['costUsd', 'tokens', 'timeMs'];

/** The events that a limit counted, in order. */
export const countedBy = (
  { met, loop, position }: Met,
  events: readonly RecordedEvent[],
): readonly RecordedEvent[] => {
  const isCounted = Object.hasOwn(COUNTED, met.limit) ? COUNTED[met.limit] : undefined;
  const counts = isCounted ?? statedBefore({ met, loop, position }, events);
  const found = events.filter((event) => {
    const isBelow = event.actor.startsWith(`${loop}/`);
    if (event.position > position || (event.actor !== loop && !isBelow)) return false;
    return counts(event, { evidence: met.evidence, isBelow });
  });
  return SUMS.includes(met.limit) || met.used <= 0 ? found : found.slice(-Math.ceil(met.used));
};

/** Of a limit of somebody else's loop: what names its evidence, else what the loop always states before it looks at its limits. */
const statedBefore = ({ met, loop, position }: Met, events: readonly RecordedEvent[]): IsCounted => {
  const halt = events.find((event) => event.position === position);
  const stated = events.findLast(
    (event) =>
      event.turn === halt?.turn &&
      event.actor === loop &&
      event.kind === 'fact' &&
      event.position < position &&
      !isHalt(event),
  );
  const evidence = met.evidence.length > 0;
  return (event, { isBelow }) =>
    !isBelow &&
    event.kind === 'fact' &&
    !isHalt(event) &&
    (evidence ? names(event.data, met.evidence) : event.type === stated?.type);
};
