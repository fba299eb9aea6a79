const listeners = new Set<() => void>();

/** Calls the listener when whoever reads the output has gone, in place of ending the process. */
export const onBrokenPipe = (listener: () => void): void => void listeners.add(listener);

/**
 * Whoever reads the output has gone (`| head`): then there is nobody to write for, and nothing is wrong. The process ends,
 * unless it has something to leave in order.
 */
export const watchForBrokenPipe = (): void => {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'EPIPE') throw error;
      if (listeners.size === 0) process.exit(process.exitCode ?? 0);
      for (const listener of listeners) listener();
    });
  }
};
