import { RuntimeError } from '../../src/errors.ts';
import type { EventLog } from '../../src/store/event-log.ts';

/** What can go wrong with a log that may be tried again, and what ends it. */
export type LogTrouble = 'DISK_FULL' | 'DISK_LOW' | 'LOG_WRITE_FAILED' | 'LOG_FAULT';

export interface FlakyLogOptions {
  /** Asked before each commit and each large value: what goes wrong with it, if anything does. Nothing is written then. */
  readonly onWrite: () => Promise<LogTrouble | undefined> | LogTrouble | undefined;
  /** Asked before an actor is loaded: whether that fails. */
  readonly onLoad?: () => boolean;
}

/** The same log, with troubles that a test decides on. It stays open when a runtime closes it. */
export function flakyLog(log: EventLog, { onWrite, onLoad = () => false }: FlakyLogOptions): EventLog {
  const mayWrite = async (): Promise<void> => {
    const trouble = await onWrite();
    if (trouble !== undefined) throw errorOf(trouble);
  };
  const changed: Partial<EventLog> = {
    async commit(batch) {
      await mayWrite();
      return log.commit(batch);
    },
    async putBlobs(blobs) {
      await mayWrite();
      return log.putBlobs(blobs);
    },
    async load(actors, options) {
      if (onLoad()) throw new RuntimeError('LOG_READ_FAILED', { file: FILE, problem: 'a test wants it' });
      return log.load(actors, options);
    },
    close: async () => undefined,
  };
  return new Proxy(log, {
    get(target, key) {
      // A method of the log itself has private members: it must be called on the log.
      const found: unknown = Reflect.get(changed, key) ?? Reflect.get(target, key);
      return typeof found === 'function' ? found.bind(target) : found;
    },
  });
}

const FILE = 'flaky.db';

function errorOf(trouble: LogTrouble): RuntimeError {
  switch (trouble) {
    case 'DISK_FULL':
      return new RuntimeError(trouble, { file: FILE });
    case 'DISK_LOW':
      return new RuntimeError(trouble, { file: FILE, freeBytes: 0, reserveBytes: 1 });
    case 'LOG_WRITE_FAILED':
    case 'LOG_FAULT':
      return new RuntimeError(trouble, { file: FILE, problem: 'a test wants it' });
  }
}
