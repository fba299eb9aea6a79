/** A law that did not hold. Whoever runs the schedule adds its seed. */
export class Violation extends Error {
  override readonly name = 'Violation';
}

/** States a law. What goes into the message is put together only if it does not hold. */
export function must(holds: boolean, law: string, details?: () => unknown): asserts holds {
  if (!holds) throw new Violation(details ? `${law}: ${JSON.stringify(details())}` : law);
}
