import type { Registry } from '../actors/registry.ts';
import { createUpcast } from '../actors/upcast.ts';
import { RuntimeError } from '../errors.ts';
import type { Address, RecordedEvent, StateValue } from '../events/event.ts';
import type { EventLog } from '../store/event-log.ts';
import { changedBy, Folding } from './audit-changes.ts';
import { type AuditFilter, Matching } from './audit-filter.ts';
import { toMarkdown } from './audit-markdown.ts';
import { decisionOf } from './decided-by.ts';
import { whatHappened, whoDid, whyOf } from './in-words.ts';
import { type PastTurn, turnsOfLog, turnsOfRun } from './past-turns.ts';

/** A limit that was met, or a person who said so, or the agents who were asked to decide. */
export type DecidedBy =
  | { readonly limit: string; readonly bound: number; readonly used: number; readonly position: number }
  | ({ readonly person: string } & Said)
  | ({ readonly agents: readonly string[] } & Said);

interface Said {
  readonly option: string | null;
  readonly note: string | null;
  readonly position: number;
}

/** A place in an actor's context that an event changed; values are shortened. */
export interface ContextChanged {
  readonly path: string;
  readonly before: string;
  readonly after: string;
}

/** What an event did to an actor. */
export interface ActorChanged {
  /** Null if the actor stayed in the state that it was in. */
  readonly state: { readonly from: StateValue | null; readonly to: StateValue } | null;
  readonly context: readonly ContextChanged[];
}

/** What followed from an event in its turn: an actor that was told of it, and changed. */
export interface FollowingChange extends ActorChanged {
  readonly position: number;
  readonly actor: Address;
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
  /**
   * What it changed in its actor; of a feedback, an answer, a decision or a resolution, what the step did that stated it. These also say
   * what followed from them in their turn; of other events that is an empty list.
   */
  readonly changed: ActorChanged & { readonly following: readonly FollowingChange[] };
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
    const changes = turn.events.map((event) => folding.fold(event));
    for (const event of turn.events) {
      whats.set(event.position, whatHappened(event));
      if (matching.fits(event, turn))
        entries.push(entryOf(event, turn, { changed: changedBy(event, turn, changes), whats }));
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
    why: whyOf(event, turn),
    causedBy:
      cause === null ? null : { position: cause, what: whats.get(cause) ?? 'an event of another run' },
    decidedBy: decisionOf(event, turn),
    changed,
  };
};
