import type { ActorRecord } from '../actors/actor-record.ts';
import { foldEvent } from '../actors/fold.ts';
import type { Registry } from '../actors/registry.ts';
import { createUpcast } from '../actors/upcast.ts';
import { isRuntimeError, RuntimeError } from '../errors.ts';
import type { Address, RecordedEvent, StateValue } from '../events/event.ts';
import { isContainer, memberOf, type StateData } from '../projections/state-data.ts';
import type { EventLog } from '../store/event-log.ts';
import { type AuditFilter, Matching } from './audit-filter.ts';
import { toMarkdown } from './audit-markdown.ts';
import { decisionOf } from './decided-by.ts';
import { short, whatHappened, whoDid, whyOf } from './in-words.ts';
import { type PastTurn, turnsOfLog, turnsOfRun } from './past-turns.ts';

/** A limit that was met, or a person who said so. */
export type DecidedBy =
  | { readonly limit: string; readonly bound: number; readonly used: number; readonly position: number }
  | {
      readonly person: string;
      readonly option: string | null;
      readonly note: string | null;
      readonly position: number;
    };

/** A place in an actor's context that an event changed; values are shortened. */
export interface ContextChanged {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** One event, for people: who did what, when, why, and what came of it. */
export interface AuditEntry {
  readonly position: number;
  /** ISO 8601. */
  readonly when: string;
  readonly run: string;
  readonly actor: Address;
  readonly type: string;
  readonly who: string;
  readonly what: string;
  /** What whoever did it said of the reason; null if nothing. */
  readonly why: string | null;
  readonly causedBy: { readonly position: number; readonly what: string } | null;
  readonly decidedBy: DecidedBy | null;
  readonly changed: {
    /** Null if its actor stayed in the state that it was in. */
    readonly state: { readonly from: StateValue | null; readonly to: StateValue } | null;
    readonly context: readonly ContextChanged[];
  };
}

/** The audit of a log, or of a part of it. */
export interface AuditTrail {
  readonly filter: AuditFilter;
  readonly entries: readonly AuditEntry[];
  toMarkdown(): string;
  /** For `JSON.stringify`. */
  toJSON(): { readonly filter: AuditFilter; readonly entries: readonly AuditEntry[] };
}

export interface AuditPorts {
  readonly log: EventLog;
  readonly registry: Registry;
}

/**
 * Reads what happened back from the log, event by event. To say what an event changed, actors are folded with the machines that
 * are registered; of others only the change of state is told.
 *
 * @throws {RuntimeError} BAD_OPTION, UNKNOWN_RUN
 */
export const auditTrail = async ({ log, registry }: AuditPorts, filter: AuditFilter): Promise<AuditTrail> => {
  const matching = new Matching(filter);
  const upcast = createUpcast(registry);
  const { run } = filter;
  if (run !== undefined && !(await log.run(run))) throw new RuntimeError('UNKNOWN_RUN', { run });
  const turns = run === undefined ? turnsOfLog(log, upcast) : await turnsOfRun(log, run, upcast);
  const folding = new Folding(registry);
  const whats = new Map<number, string>();
  const entries: AuditEntry[] = [];
  for await (const turn of turns) {
    for (const event of turn.events) {
      const changed = folding.fold(event);
      whats.set(event.position, whatHappened(event));
      if (matching.fits(event, turn)) entries.push(entryOf(event, turn, { changed, whats }));
    }
  }
  return {
    filter,
    entries,
    toMarkdown: () => toMarkdown(entries, filter),
    toJSON: () => ({ filter, entries }),
  };
};

const entryOf = (
  event: RecordedEvent,
  turn: PastTurn,
  {
    changed,
    whats,
  }: { readonly changed: AuditEntry['changed']; readonly whats: ReadonlyMap<number, string> },
): AuditEntry => {
  const { position, run, actor, type, cause } = event;
  return {
    position,
    when: new Date(event.atMs).toISOString(),
    run,
    actor,
    type,
    who: whoDid(event, turn),
    what: whatHappened(event),
    why: whyOf(event),
    causedBy:
      cause === null ? null : { position: cause, what: whats.get(cause) ?? 'an event of another run' },
    decidedBy: decisionOf(event, turn),
    changed,
  };
};

const CHANGES_MAX = 20;
const VALUE_LENGTH_MAX = 80;

/** What each event did to its actor. */
class Folding {
  readonly #registry: Registry;
  readonly #actors = new Map<Address, ActorRecord | null>();
  readonly #states = new Map<Address, StateValue>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  fold(event: RecordedEvent): AuditEntry['changed'] {
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
