import { canonicalJson } from '../events/encode.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import { isReservedType } from '../events/vocabulary.ts';
import type { Effect } from './advance.ts';
import { encodeData } from './effects.ts';

/** A fact that a machine stated when its actor was folded, and that the log has to have. */
interface Due {
  readonly actor: Address;
  /** The row on which it was stated. */
  readonly cause: number;
  readonly type: string;
  readonly dataJson: string;
}

interface Problem {
  readonly position: number;
  readonly what: string;
}

/**
 * Holds what machines state while actors are folded against the facts of the log. An actor passes over its own facts when it is
 * folded, so that nothing else would find a machine that states others now, or a fact that nobody stated.
 */
export class StatedFacts {
  #turn = 0;
  #due: Due[] = [];

  /** What is wrong with a row that was folded, or is not in the turn before it. The effects are those of its fold. */
  check(event: RecordedEvent, effects: readonly Effect[]): Problem | undefined {
    const problem = event.turn === this.#turn ? undefined : this.end();
    this.#turn = event.turn;
    if (problem) return problem;
    // What the kernel states of a run is no machine's.
    if (event.kind === 'fact' && !isReservedType(event.type)) return this.#stated(event);
    for (const effect of effects) {
      if (effect.kind !== 'state') continue;
      const { type } = effect.event;
      const dataJson = encodeData(effect.event).json;
      this.#due.push({ actor: event.actor, cause: event.position, type, dataJson });
    }
    return undefined;
  }

  /** What a turn should have, and has not. */
  end(): Problem | undefined {
    const [missing] = this.#due;
    this.#due = [];
    return (
      missing && { position: missing.cause, what: `"${missing.actor}" states "${missing.type}" there now` }
    );
  }

  #stated({ actor, cause, type, data, position }: RecordedEvent): Problem | undefined {
    const index = this.#due.findIndex((each) => each.actor === actor && each.cause === cause);
    const [due] = index === -1 ? [] : this.#due.splice(index, 1);
    if (due?.type === type && due.dataJson === canonicalJson(data)) return undefined;
    const now = due ? (due.type === type ? 'other data with it' : `"${due.type}"`) : 'nothing';
    return { position, what: `"${actor}" stated "${type}"; now it states ${now}` };
  }
}
