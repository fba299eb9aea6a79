import { isBlobRef, type Redactor } from '../index.ts';

/** How much of a value is shown: the rest is told by its size. */
export interface ShownLimits {
  /** Characters of one text. */
  readonly text: number;
  /** Items of one list, members of one object. */
  readonly items: number;
  readonly depth: number;
}

export const SHOWN: ShownLimits = { text: 2_000, items: 100, depth: 12 };

const REDACTED = '[redacted]';

/** A value as an inspector may see it: without secrets, and cut to a size that a page can show. */
export const shown = (value: unknown, redactor: Redactor, limits: ShownLimits = SHOWN): unknown =>
  new Shower(redactor, limits).show(value, 0);

class Shower {
  readonly #redactor: Redactor;
  readonly #limits: ShownLimits;

  constructor(redactor: Redactor, limits: ShownLimits) {
    this.#redactor = redactor;
    this.#limits = limits;
  }

  show(value: unknown, depth: number): unknown {
    if (typeof value === 'string') return this.#text(value);
    // As the inspector's own package tells functions: by what they are called.
    if (typeof value === 'function') return { type: 'type' in value ? String(value.type) : value.name };
    if (typeof value === 'bigint' || typeof value === 'symbol') return String(value);
    if (typeof value !== 'object' || value === null) return value;
    if (isBlobRef(value)) return `(a text of ${value.bytes} bytes)`;
    if (depth >= this.#limits.depth)
      return Array.isArray(value) ? `(a list of ${value.length})` : '(an object)';
    return Array.isArray(value) ? this.#list(value, depth) : this.#object(value, depth);
  }

  #text(text: string): string {
    const clean = this.#redactor.text(text);
    const { text: max } = this.#limits;
    return clean.length <= max
      ? clean
      : `${clean.slice(0, max).toWellFormed()}… (${clean.length} characters)`;
  }

  #list(list: readonly unknown[], depth: number): readonly unknown[] {
    const { items } = this.#limits;
    const some = list.slice(0, items).map((item) => this.show(item, depth + 1));
    return list.length <= items ? some : [...some, `… (${list.length} items)`];
  }

  #object(value: object, depth: number): object {
    const members = Object.entries<unknown>(value as Readonly<Record<string, unknown>>);
    const { items } = this.#limits;
    return Object.fromEntries([
      ...members
        .slice(0, items)
        .map(([key, member]) => [
          this.#redactor.text(key),
          this.#redactor.isSecretName(key) ? REDACTED : this.show(member, depth + 1),
        ]),
      ...(members.length <= items ? [] : [['…', `(${members.length} members)`]]),
    ]) as object;
  }
}
