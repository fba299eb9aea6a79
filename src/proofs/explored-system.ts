import type { ActorRecord } from '../actors/actor-record.ts';
import type { TurnResult } from '../actors/turn.ts';
import type { System } from '../actors/workspace.ts';
import type { Address, NewEvent } from '../events/event.ts';
import type { OpenCall, OpenTimer, RunRecord, Turn, Verdict } from '../events/turn.ts';

type Taken = Extract<TurnResult, { kind: 'turn' }>;

/** A whole system at one moment: what the kernel sees, and what is open. Never changed in place. */
export class ExploredSystem implements System {
  readonly actors: ReadonlyMap<Address, ActorRecord>;
  readonly runs: ReadonlyMap<string, RunRecord>;
  readonly calls: ReadonlyMap<string, OpenCall>;
  readonly timers: ReadonlyMap<string, OpenTimer>;
  /** How many requests to agents were answered on the way here. */
  readonly replies: number;

  constructor(
    parts: Pick<ExploredSystem, 'actors' | 'runs' | 'calls' | 'timers' | 'replies'> = {
      actors: new Map(),
      runs: new Map(),
      calls: new Map(),
      timers: new Map(),
      replies: 0,
    },
  ) {
    this.actors = parts.actors;
    this.runs = parts.runs;
    this.calls = parts.calls;
    this.timers = parts.timers;
    this.replies = parts.replies;
  }

  /** All there is is here: what is not, is not. */
  actor(address: Address): ActorRecord | null {
    return this.actors.get(address) ?? null;
  }

  run(id: string): RunRecord | null {
    return this.runs.get(id) ?? null;
  }

  /** How the run ended; null while it is open. */
  verdict(): Verdict | null {
    for (const { verdict } of this.runs.values()) return verdict;
    return null;
  }

  after({ actors, runs, turn }: Taken): ExploredSystem {
    return new ExploredSystem({
      actors: new Map([...this.actors, ...actors]),
      runs: new Map([...this.runs, ...runs]),
      calls: opened(this.calls, turn.openedCalls, turn.closedCalls.map(callKey)),
      timers: openedTimers(this.timers, turn),
      replies: this.replies + turn.events.filter(isReply).length,
    });
  }
}

const isReply = ({ kind, type }: NewEvent): boolean =>
  kind === 'message' && (type === 'agent.done' || type === 'agent.failed');

const callKey = ({ actor, call, generation }: Pick<OpenCall, 'actor' | 'call' | 'generation'>): string =>
  `${actor}#${call}.${generation}`;

const timerKey = ({ actor, timer, generation }: Pick<OpenTimer, 'actor' | 'timer' | 'generation'>): string =>
  `${actor}@${timer}.${generation}`;

const opened = (
  before: ReadonlyMap<string, OpenCall>,
  calls: readonly OpenCall[],
  closed: readonly string[],
): ReadonlyMap<string, OpenCall> => {
  const next = new Map(before);
  for (const call of calls) next.set(callKey(call), call);
  for (const key of closed) next.delete(key);
  return next;
};

const openedTimers = (before: ReadonlyMap<string, OpenTimer>, turn: Turn): ReadonlyMap<string, OpenTimer> => {
  const next = new Map(before);
  for (const timer of turn.openedTimers) next.set(timerKey(timer), timer);
  for (const timer of turn.closedTimers) next.delete(timerKey(timer));
  return next;
};
