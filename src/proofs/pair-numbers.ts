import type { Renaming } from './alike-nodes.ts';
import { renamedPair } from './rounds-aside.ts';

const NO_PAIRS: readonly number[] = [];

/** Pairs of nodes that have rounds, by number; and the names that nodes get on the way, each way of naming them once. */
export class PairNumbers {
  readonly #pairs = new Map<string, number>();
  readonly #renamings = new Map<string, Renaming>();

  get size(): number {
    return this.#pairs.size;
  }

  of(pairs: readonly string[]): readonly number[] {
    if (pairs.length === 0) return NO_PAIRS;
    return pairs.map((pair) => {
      const known = this.#pairs.get(pair) ?? this.#pairs.size;
      this.#pairs.set(pair, known);
      return known;
    });
  }

  /** The same renaming as one that is known, if there is one. */
  known(renaming: Renaming): Renaming {
    const text = [...renaming].join(' ');
    const found = this.#renamings.get(text) ?? renaming;
    this.#renamings.set(text, found);
    return found;
  }

  /** The numbers of all pairs by other names. */
  renamed(renaming: Renaming): readonly number[] {
    return this.of([...this.#pairs.keys()].map((pair) => renamedPair(pair, renaming)));
  }

  /** The same for every renaming, with those pairs that come up by other names only. */
  byRenaming(): ReadonlyMap<Renaming, readonly number[]> {
    const renamings = [...this.#renamings.values()];
    for (let before = -1; before < this.size; ) {
      before = this.size;
      for (const renaming of renamings) this.renamed(renaming);
    }
    return new Map(renamings.map((renaming) => [renaming, this.renamed(renaming)]));
  }
}
