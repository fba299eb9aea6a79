/**
 * How a call is taken back from its agent. Most calls are never taken back, and most agents never look at their signal: it is
 * made when an agent first asks for it, since it costs more than all else that a call needs.
 */
export class Withdrawal {
  /** Called once, when nobody waits for the call any more. */
  onWithdrawn: ((reason: DOMException) => void) | undefined;
  #controller: AbortController | undefined;
  #reason: DOMException | undefined;
  #stopped: DOMException | undefined;
  #held: Promise<unknown> | undefined;

  /** Why nobody waits for the call any more; undefined while someone does. */
  get reason(): DOMException | undefined {
    return this.#reason;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#stopped) this.#controller.abort(this.#stopped);
    return this.#controller.signal;
  }

  /** What is still going on although the agent was told to stop; undefined if it was not, or nothing is. */
  get lingering(): Promise<unknown> | undefined {
    return this.#stopped && this.#held;
  }

  /** Names something that may go on after the agent was told to stop. */
  hold(ending: Promise<unknown>): void {
    this.#held = Promise.allSettled([this.#held, ending]);
  }

  withdraw(why: string): void {
    if (this.#reason) return;
    this.#reason = new DOMException(why, 'AbortError');
    this.abortSignal(this.#reason);
    this.onWithdrawn?.(this.#reason);
  }

  /** Tells the agent to stop, although its outcome still counts: its time is over. */
  abortSignal(reason: DOMException): void {
    this.#stopped = reason;
    this.#controller?.abort(reason);
  }
}
