/** A source of choices that depends on its seed alone: the same seed makes the same choices on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    // Seeds are 1, 2, 3…: spread them, or their first choices would be alike.
    this.#state = Math.imul(seed + 1, 0x9e3779b1) | 0;
    this.next();
  }

  /** From 0 up to, but not including, 1. */
  next(): number {
    // Mulberry32: small, fast, and good enough to choose what happens next.
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  /** An integer from 0 up to, but not including, `bound`. */
  below(bound: number): number {
    return Math.floor(this.next() * bound);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** Undefined if there is nothing to choose from. */
  pick<Item>(items: readonly Item[]): Item | undefined {
    return items[this.below(items.length)];
  }
}
