import type { Contestant, Next, OnDisk, Slice } from './peers-task.ts';

/** Keeps loops of a contestant in flight during slices, and holds them back between two steps in the time between. */
export const createLoops = ({ loop }: Contestant) => {
  let steps = 0;
  let started = 0;
  let ended = 0;
  let inFlight = 0;
  /** When the slice ends. Looked at before each step: a contestant that never waits would let no timer fire. */
  let endMs = 0;
  let isLast = false;
  const held: (() => void)[] = [];
  let onQuiet: () => void = () => undefined;
  let onFailure: (error: unknown) => void = () => undefined;

  const goesOn = (): boolean => !isLast;
  const isOpen = (): boolean => isLast || performance.now() < endMs;

  const hold = (): Promise<void> =>
    new Promise((go) => {
      held.push(go);
      if (held.length === inFlight) onQuiet();
    });

  /** One loop after the other; a new one only during a slice. */
  const follow = async (): Promise<void> => {
    while (goesOn()) {
      started += 1;
      let begun = 0;
      const next: Next = () => {
        // The step before it is on disk.
        if (begun > 0) steps += 1;
        begun += 1;
        return isOpen() ? undefined : hold();
      };
      await loop(`loop-${started}`, next);
      steps += 1;
      ended += 1;
      if (!isOpen()) await hold();
    }
    inFlight -= 1;
    if (inFlight === 0) onQuiet();
  };

  /** Those that were held last go first: one loop alone is the same one in every slice. */
  const release = (loops: number): Promise<void> => {
    for (const go of held.splice(-loops)) go();
    return new Promise((resolve, reject) => {
      onQuiet = resolve;
      onFailure = reject;
    });
  };

  return {
    /** For so long with so many loops in flight, then until every one is between two steps: both are in its time. */
    async slice(forMs: number, loops: number): Promise<Slice> {
      const before = steps;
      const startMs = performance.now();
      endMs = startMs + forMs;
      const isQuiet = release(loops);
      const missing = Math.max(0, loops - inFlight);
      inFlight += missing;
      for (let index = 0; index < missing; index += 1) follow().catch((error: unknown) => onFailure(error));
      await isQuiet;
      return { steps: steps - before, seconds: (performance.now() - startMs) / 1_000 };
    },
    /** All loops to their ends. */
    async finish(): Promise<OnDisk> {
      isLast = true;
      const isQuiet = release(inFlight);
      if (inFlight > 0) await isQuiet;
      return { steps, loops: ended };
    },
  };
};
