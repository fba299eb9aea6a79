import { type Fetched, fetched } from './ledger.ts';

/** Holds errands back until it is opened, so that their answers come when the test wants them to. */
export class Gate {
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #open = new Set<string>();

  readonly fetch = async ({
    input: { name },
  }: {
    readonly input: { readonly name: string };
  }): Promise<Fetched> => {
    if (!this.#open.has(name)) {
      await new Promise<void>((opened) => {
        this.#waiting.set(name, [...(this.#waiting.get(name) ?? []), opened]);
      });
    }
    return fetched(name);
  };

  open(name: string): void {
    this.#open.add(name);
    for (const opened of this.#waiting.get(name) ?? []) opened();
    this.#waiting.delete(name);
  }
}
