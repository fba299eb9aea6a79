import type { EventLog } from '../index.ts';

/** A log as one process sees it: from its death on, nothing of the process reaches the log, and nothing of the log the process. */
export interface MortalLog {
  readonly log: EventLog;
  /** Resolves when the process is dead. */
  readonly death: Promise<void>;
  /** How many commits it has made. */
  readonly commits: number;
  kill(): void;
}

const never = (): Promise<never> => new Promise(() => undefined);

/** The process dies with its nth commit: that is in the log, but nobody has heard of it. */
export const mortalLog = (log: EventLog, diesAtCommit: number): MortalLog => {
  let commits = 0;
  let isDead = false;
  let died = (): void => undefined;
  const death = new Promise<void>((resolve) => {
    died = resolve;
  });
  const kill = (): void => {
    isDead = true;
    died();
  };
  const commit: EventLog['commit'] = async (batch) => {
    if (isDead) return never();
    const recorded = await log.commit(batch);
    commits += 1;
    if (commits !== diesAtCommit) return recorded;
    kill();
    return never();
  };
  const mortal = new Proxy(log, {
    get(target, key) {
      if (key === 'commit') return commit;
      // The log itself stays for the next process.
      if (key === 'close') return async () => undefined;
      const found: unknown = Reflect.get(target, key);
      if (typeof found !== 'function') return found;
      return (...given: readonly unknown[]): unknown =>
        isDead ? never() : Reflect.apply(found, target, given);
    },
  });
  return {
    log: mortal,
    death,
    kill,
    get commits() {
      return commits;
    },
  };
};
