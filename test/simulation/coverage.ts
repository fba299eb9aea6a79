import type { RecordedEvent } from '../../src/events/event.ts';
import { TYPE } from '../../src/events/vocabulary.ts';
import type { ScheduleReport } from './schedule.ts';

const describe = ({ kind, type, data }: RecordedEvent): string => {
  const { reason, verdict } = data as { reason?: string; verdict?: string };
  if (kind === 'undelivered') return `undelivered: ${reason?.replace(/^\d+/, 'N')}`;
  return type === TYPE.runEnded ? `ended ${verdict}` : `${kind} ${type}`;
};

/** Counts what happened over many schedules: a law is worth something only if what it forbids was near. */
export class Coverage {
  readonly #counts = new Map<string, number>();

  count(what: string, times = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }

  of(what: string): number {
    return this.#counts.get(what) ?? 0;
  }

  add({ ledger, marks }: ScheduleReport): void {
    this.count('schedules');
    for (const mark of marks) this.count(mark);
    for (const { events } of ledger.turns.values()) for (const event of events) this.count(describe(event));
    for (const { parent, status } of ledger.actors.values()) {
      if (parent === null && status === 'active') this.count('waits for a person');
    }
    for (const effects of ledger.effects.values()) if (effects > 1) this.count('effect repeated');
  }

  toJSON(): Record<string, number> {
    return Object.fromEntries([...this.#counts].sort(([one], [other]) => (one < other ? -1 : 1)));
  }
}
