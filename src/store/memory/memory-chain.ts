import type { RecordedTurn, Turn } from '../../events/turn.ts';
import { EMPTY_CHAIN, rowDigest, turnChain } from '../chain.ts';
import type { Head, StoredEvent, StoredTurn } from '../event-log.ts';

interface Link {
  readonly turn: Turn;
  readonly recorded: RecordedTurn;
  /** Computed when it is first asked for. */
  chain: string | undefined;
}

/** The turns of a log in memory and their chain. It hashes nothing before someone asks: a simulation never does. */
export class MemoryChain {
  readonly #links: Link[] = [];
  /** How many links have their chain. */
  #hashed = 0;
  #position = 0;

  /** Time of the last turn. */
  get atMs(): number {
    return this.#links.at(-1)?.turn.atMs ?? 0;
  }

  add(turn: Turn, recorded: RecordedTurn): void {
    this.#links.push({ turn, recorded, chain: undefined });
    this.#position += turn.events.length;
  }

  head(): Head {
    return { position: this.#position, turn: this.#links.length, chain: this.#hashAll(), atMs: this.atMs };
  }

  turns(after: number, limit: number): readonly StoredTurn[] {
    this.#hashAll();
    const start = Math.max(0, after);
    return this.#links.slice(start, start + limit).map(({ turn, recorded, chain = EMPTY_CHAIN }) => ({
      turn: recorded.turn,
      id: turn.id,
      atMs: turn.atMs,
      origin: turn.origin,
      by: turn.by,
      cause: turn.cause,
      chain,
      events: storedEvents(turn, recorded),
    }));
  }

  #hashAll(): string {
    let chain = this.#links[this.#hashed - 1]?.chain ?? EMPTY_CHAIN;
    for (const link of this.#links.slice(this.#hashed)) {
      const digests = storedEvents(link.turn, link.recorded).map((event) => rowDigest(event, event));
      chain = turnChain(chain, { ...link.turn, turn: link.recorded.turn }, digests);
      link.chain = chain;
    }
    this.#hashed = this.#links.length;
    return chain;
  }
}

function storedEvents(turn: Turn, recorded: RecordedTurn): readonly StoredEvent[] {
  return turn.events.flatMap(({ dataJson, stateJson }, index) => {
    const event = recorded.events[index];
    if (!event) return [];
    const { data: _data, state: _state, ...row } = event;
    return [{ ...row, dataJson, stateJson }];
  });
}
