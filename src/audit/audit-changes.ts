import type { ActorRecord } from '../actors/actor-record.ts';
import { foldEvent } from '../actors/fold.ts';
import type { Registry } from '../actors/registry.ts';
import { isRuntimeError } from '../errors.ts';
import type { Address, RecordedEvent, StateValue } from '../events/event.ts';
import { isContainer, memberOf, type StateData } from '../projections/state-data.ts';
import type { ActorChanged, AuditEntry, ContextChanged, FollowingChange } from './audit-trail.ts';
import type { PastTurn } from './past-turns.ts';
import { short } from './short.ts';

const FOLLOWING_MAX = 20;

/**
 * What an event changed, given what each of its turn did to its actor. A fact moves nothing itself: it is stated by the step that its cause
 * led to, and what that step told others has the same cause.
 */
export const changedBy = (
  event: RecordedEvent,
  { events }: PastTurn,
  changes: readonly ActorChanged[],
): AuditEntry['changed'] => {
  const first = events[0]?.position ?? 0;
  const own = changes[event.position - first] ?? NOTHING;
  if (!isOfInterest(event)) return { ...own, following: [] };
  const { cause } = event;
  const isStated = event.kind === 'fact' && cause !== null && events[cause - first]?.actor === event.actor;
  const root = isStated ? cause : event.position;
  const reached = new Set([root]);
  const following: FollowingChange[] = [];
  for (const [index, each] of events.entries()) {
    if (each.cause === null || !reached.has(each.cause)) continue;
    reached.add(each.position);
    const { state, context } = changes[index] ?? NOTHING;
    if (each.kind === 'fact' || (state === null && context.length === 0)) continue;
    following.push({ position: each.position, actor: each.actor, state, context });
  }
  return { ...(changes[root - first] ?? own), following: following.slice(0, FOLLOWING_MAX) };
};

const NOTHING: ActorChanged = { state: null, context: [] };

/** Feedback, answers, decisions and resolutions: what they led to is asked for most. */
const isOfInterest = ({ kind, type }: RecordedEvent): boolean =>
  kind === 'fact'
    ? type.startsWith('feedback.') || type.endsWith('.decided') || type.endsWith('.resolved')
    : type === 'question.answer' || type === 'feedback.resolve' || type === 'feedback.escalate';

const CHANGES_MAX = 20;
const VALUE_LENGTH_MAX = 80;

/** What each event did to its actor: to be shown all of a log, or of some runs, in order. */
export class Folding {
  readonly #registry: Registry;
  readonly #actors = new Map<Address, ActorRecord | null>();
  readonly #states = new Map<Address, StateValue>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  fold(event: RecordedEvent): ActorChanged {
    const { actor, state } = event;
    const from = this.#states.get(actor) ?? null;
    this.#states.set(actor, state);
    const before = this.#actors.get(actor);
    const after = this.#moved(before, event);
    this.#actors.set(actor, after);
    const isMoved = from === null || JSON.stringify(from) !== JSON.stringify(state);
    return { state: isMoved ? { from, to: state } : null, context: contextChanges(before, after) };
  }

  /** Null for an actor that cannot be folded here: a machine that is gone, or that is another now. */
  #moved(before: ActorRecord | null | undefined, event: RecordedEvent): ActorRecord | null {
    if (before === null && event.kind !== 'migrated') return null;
    try {
      return foldEvent(this.#registry, before ?? undefined, event);
    } catch (error) {
      if (isRuntimeError(error, 'MACHINE_MISSING', 'REPLAY_DIVERGED')) return null;
      throw error;
    }
  }
}

const contextChanges = (
  before: ActorRecord | null | undefined,
  after: ActorRecord | null,
): readonly ContextChanged[] => {
  const [old, context]: [unknown, unknown] = [before?.snapshot?.context, after?.snapshot?.context];
  if (!isContainer(old) || !isContainer(context) || old === context) return [];
  const found: ContextChanged[] = [];
  let level: readonly Pair[] = [{ path: '', was: old, is: context }];
  // What is nearest to the root says most: it comes first, and what is new or gone is told as a whole.
  while (level.length > 0 && found.length < CHANGES_MAX) {
    for (const { path, was, is } of level)
      if (!areAlike(was, is))
        found.push({ path, before: short(was, VALUE_LENGTH_MAX), after: short(is, VALUE_LENGTH_MAX) });
    level = level.flatMap(({ path, was, is }) => (areAlike(was, is) ? membersOf(path, was, is) : []));
  }
  return found.slice(0, CHANGES_MAX);
};

interface Pair {
  readonly path: string;
  readonly was: unknown;
  readonly is: unknown;
}

/** Whether both are objects, or both lists: then it is their members that are told apart. */
const areAlike = (was: unknown, is: unknown): boolean =>
  isContainer(was) && isContainer(is) && Array.isArray(was) === Array.isArray(is);

const membersOf = (path: string, was: unknown, is: unknown): readonly Pair[] => {
  const [old, value] = [was as StateData, is as StateData]; // They are alike: see above.
  return [...new Set([...Object.keys(old), ...Object.keys(value)])]
    .map((key) => ({
      path: path === '' ? key : `${path}.${key}`,
      was: memberOf(old, key),
      is: memberOf(value, key),
    }))
    .filter((pair) => !Object.is(pair.was, pair.is) && !isSameData(pair));
};

/** Machines may make the same again. */
const isSameData = ({ was, is }: Pair): boolean =>
  isContainer(was) && isContainer(is) && JSON.stringify(was) === JSON.stringify(is);
