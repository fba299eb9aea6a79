/** The longest that a timer can wait. */
const LONG_MS = 2 ** 31 - 1;

/**
 * Keeps the process running while someone waits for a run. A run that waits for a person has nothing else open that would: the
 * answer may come from another process.
 */
export const createAwake = () => {
  let waiters = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    async until<Result>(waited: Promise<Result>): Promise<Result> {
      waiters += 1;
      timer ??= setInterval(() => undefined, LONG_MS);
      try {
        return await waited;
      } finally {
        waiters -= 1;
        if (waiters === 0) {
          clearInterval(timer);
          timer = undefined;
        }
      }
    },
  };
};
