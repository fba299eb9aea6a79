/** A fact that the code relies on. If it does not hold, the fault is ours: stop here, before it does harm. */
export function invariant(condition: unknown, fact: string): asserts condition {
  if (!condition)
    throw new Error(`Loopwright is at fault: it does not hold that ${fact}. Please report this.`);
}
