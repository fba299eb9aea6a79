import { onTestFinished } from 'vitest';
import type { EventLog } from '../../src/store/event-log.ts';
import { createMemoryLog } from '../../src/store/memory/memory-log.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { testEventLog } from './event-log.contract.ts';

const opened = async (file: string): Promise<EventLog> => {
  const log = await openSqliteLog({ file });
  onTestFinished(() => log.close());
  return log;
};

testEventLog('the log in memory', { open: async () => createMemoryLog() });

testEventLog('the log in SQLite', {
  open: () => opened(temporaryFile()),
  reopen: async (log) => {
    await log.close();
    return opened(log.file ?? '');
  },
});

testEventLog('the log in SQLite, opened anew for every question', {
  open: async () => reopening(temporaryFile()),
});

/** A log that forgets all it has in memory before each call: what is asked of it can only come from the file. */
async function reopening(file: string): Promise<EventLog> {
  let log = await openSqliteLog({ file });
  let isClosed = false;
  onTestFinished(() => log.close());
  return new Proxy(log, {
    get: (target, name) => {
      if (typeof Reflect.get(target, name) !== 'function') return Reflect.get(target, name);
      return async (...given: readonly unknown[]) => {
        if (!isClosed) {
          await log.close();
          log = await openSqliteLog({ file });
        }
        if (name === 'close') isClosed = true;
        // It was a function of the log that was open before, which is of the same class.
        const method = Reflect.get(log, name) as (...given: readonly unknown[]) => unknown;
        return method.apply(log, [...given]);
      };
    },
  });
}
