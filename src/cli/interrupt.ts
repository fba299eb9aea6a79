import { onBrokenPipe } from './broken-pipe.ts';
import { EXIT } from './exit-codes.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The wish of a person, or of the system, that the process ends; or nobody reads any more what it writes. */
export interface Interrupt {
  /** Aborted by the first signal. */
  readonly signal: AbortSignal;
  /** As if the signal had come: for a terminal that was closed. */
  raise(): void;
  /** Resolves at the first signal. */
  readonly raised: Promise<void>;
  ignore(): void;
}

/** The first signal lets what is under way be left in order; the second ends the process at once. */
export const listenForInterrupt = (): Interrupt => {
  const controller = new AbortController();
  let resolve = (): void => undefined;
  const raised = new Promise<void>((done) => {
    resolve = done;
  });
  const raise = () => {
    if (controller.signal.aborted) process.exit(EXIT.interrupted);
    controller.abort();
    resolve();
  };
  for (const name of SIGNALS) process.on(name, raise);
  // Every further line finds the pipe broken too. It stays: what is closed in order must not be cut short by its last words.
  onBrokenPipe(() => {
    if (!controller.signal.aborted) raise();
  });
  return {
    signal: controller.signal,
    raise,
    raised,
    ignore: () => {
      for (const name of SIGNALS) process.off(name, raise);
    },
  };
};
