import type { Definition, Registry } from '../../src/actors/registry.ts';
import type { Step } from '../../src/actors/xstate-adapter.ts';
import type { RecordedEvent } from '../../src/events/event.ts';
import type { RecordedTurn } from '../../src/events/turn.ts';
import { isReservedType, TYPE } from '../../src/events/vocabulary.ts';
import { must } from './violation.ts';

/** The same machines, with the last step that one of them took. */
export interface WatchedRegistry {
  readonly registry: Registry;
  last: Step | undefined;
}

export const watched = (registry: Registry): WatchedRegistry => {
  const definitions = new Map<Definition, Definition>();
  const noting = (step: Step): Step => {
    watching.last = step;
    return step;
  };
  const watch = (definition: Definition | undefined): Definition | undefined => {
    if (!definition) return undefined;
    const known = definitions.get(definition);
    if (known) return known;
    const { behavior } = definition;
    const seen: Definition = {
      ...definition,
      behavior: {
        ...behavior,
        initial: (input) => noting(behavior.initial(input)),
        step: (snapshot, event) => noting(behavior.step(snapshot, event)),
      },
    };
    definitions.set(definition, seen);
    return seen;
  };
  const watching: WatchedRegistry = {
    registry: {
      ...registry,
      find: (name, version) => watch(registry.find(name, version)),
      newest: (name) => watch(registry.newest(name)),
    },
    last: undefined,
  };
  return watching;
};

/**
 * Holds the messages in a turn against what actors sent in it: whoever folds the rows sees which steps sent how many, and each must
 * have led to one row, taken or undelivered, no more and no fewer.
 */
export class SentMessages {
  readonly #watching: WatchedRegistry;
  #asked = new Map<number, number>();

  constructor(watching: WatchedRegistry) {
    this.#watching = watching;
  }

  /** A row is about to be folded. */
  begin(): void {
    this.#watching.last = undefined;
  }

  /** It was. */
  end({ position }: RecordedEvent): void {
    const sent = this.#watching.last?.requests.filter(
      (request) =>
        request.kind === 'emit' &&
        typeof request.event.to === 'string' &&
        request.event.type !== TYPE.start &&
        request.event.type !== TYPE.stop,
    );
    if (sent && sent.length > 0) this.#asked.set(position, sent.length);
  }

  /** All rows of the turn were folded. */
  check({ events, id }: RecordedTurn): void {
    const asked = this.#asked;
    this.#asked = new Map();
    // A turn with too many messages ends its run in place of delivering them.
    if (events.some(({ kind, from }) => kind === 'undelivered' && from === null)) return;
    const found = new Map<number, number>();
    for (const { cause, from, kind, type } of events) {
      // The end of a child is told by the runtime.
      if (cause === null || from === null || isReservedType(type)) continue;
      if (kind !== 'message' && kind !== 'undelivered') continue;
      found.set(cause, (found.get(cause) ?? 0) + 1);
    }
    for (const [position, count] of asked) {
      const rows = found.get(position) ?? 0;
      must(rows === count, 'a message between actors is processed once', () => [id, position, rows, count]);
    }
  }
}
