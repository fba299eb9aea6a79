/** Where a request carries what only agents of this package may use: a symbol, since a request that is copied must keep it. */
export const LINK: unique symbol = Symbol('loopwright.link');

/** What ties the work of a call to the runtime that made it. */
export interface CallLink {
  /** Marks the processes of one log: see `logTag`. */
  readonly log: string;
  /** Takes the secrets out of a text: before it is cut, since half of one is not known as one. */
  readonly redact: (text: string) => string;
  /**
   * Names what may go on after the agent has answered or was told to stop. The runtime waits for it before it closes; the
   * place of a call that was stopped is given away, and its failure told, only then. It must not last for ever.
   */
  readonly hold: (ending: Promise<unknown>) => void;
}
