import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, test } from 'vitest';
import { isRuntimeError } from '../../src/errors.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { rounds } from '../support/sample-sizes.ts';
import { workerPath } from '../support/workers.ts';
import { sampleTurn } from './sample-turns.ts';
import { temporaryFile } from './temporary-directory.ts';

const ROUNDS = rounds(20, 500, 5);

type Outcome =
  | { readonly outcome: 'won'; readonly pid: number; readonly position: number }
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string; readonly tookMs: number };

interface Contender {
  readonly process: ChildProcess;
  readonly outcome: Outcome;
}

/** Starts a process that wants the log, and waits until it knows whether it has it. */
async function contend(file: string): Promise<Contender> {
  const child = spawn(process.execPath, [workerPath('hold-log'), file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as [string];
  // The worker is ours, and prints nothing but an outcome.
  return { process: child, outcome: JSON.parse(line) as Outcome };
}

async function kill({ process: child }: Contender): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

describe('G6: a log has one writer', () => {
  // Method: in each round two to eight processes start at once on the same log, then the one that has it is killed. The next
  // round must find the log free, whatever the dead owner has left lying about.
  test(`of 2 to 8 that start at once exactly one wins, the others are told who, over ${ROUNDS} rounds`, async () => {
    const file = temporaryFile();
    for (let round = 0; round < ROUNDS; round += 1) {
      const contenders = await Promise.all(Array.from({ length: 2 + (round % 7) }, () => contend(file)));
      const winners = contenders.filter(({ outcome }) => outcome.outcome === 'won');
      expect(winners).toHaveLength(1);
      for (const { outcome } of contenders) {
        if (outcome.outcome === 'won') continue;
        expect(outcome.code).toBe('LOG_LOCKED');
        expect(outcome.tookMs).toBeLessThan(2_000);
        expect(outcome.message).toContain(`process ${winners[0]?.process.pid} `);
        expect(outcome.message).toContain(`on ${hostname()}, started ${new Date().getUTCFullYear()}-`);
      }
      await Promise.all(contenders.map(kill));
    }
  });

  test('a second one in the same process is refused in less than 2 s', async () => {
    const file = temporaryFile();
    const log = await openSqliteLog({ file });
    const startedAtMs = performance.now();
    const refused: unknown = await openSqliteLog({ file }).catch((error: unknown) => error);
    expect(performance.now() - startedAtMs).toBeLessThan(2_000);
    expect(isRuntimeError(refused, 'LOG_LOCKED') && refused.fields.owner).toContain(
      `process ${process.pid} `,
    );
    // The first one still has it: a second that is refused must not take the lock away when it lets go.
    await log.commit({ turns: [sampleTurn('a', [{ actor: 'run-1', version: 1 }])], snapshots: [] });
    const other = await contend(file);
    expect(other.outcome).toMatchObject({ outcome: 'refused', code: 'LOG_LOCKED' });
    await log.close();
    expect(existsSync(`${file}.owner`)).toBe(false);
    const next = await contend(file);
    expect(next.outcome).toMatchObject({ outcome: 'won', position: 1 });
    await kill(next);
  });

  test('the same log under another name is the same log', async () => {
    const file = temporaryFile();
    const log = await openSqliteLog({ file });
    const link = join(dirname(file), 'link.db');
    symlinkSync(file, link);
    await expect(openSqliteLog({ file: link })).rejects.toMatchObject({ code: 'LOG_LOCKED' });
    await log.close();
  });

  test('what is left of an owner that is gone does not keep anyone out', async () => {
    const file = temporaryFile();
    writeFileSync(`${file}.owner`, '{ half a na');
    const log = await openSqliteLog({ file });
    await log.close();
  });

  test('readers come in beside the writer, unless it keeps everyone out', async () => {
    const file = temporaryFile();
    const log = await openSqliteLog({ file });
    const reader = await openSqliteLog({ file, mode: 'read' });
    await log.commit({ turns: [sampleTurn('a', [{ actor: 'run-1', version: 1 }])], snapshots: [] });
    expect((await reader.head()).position).toBe(1);
    expect(readFileSync('/proc/self/maps', 'utf8')).toContain(`${file}-shm`);
    expect(await reader.events({})).toEqual(await log.events({}));
    await expect(reader.commit({ turns: [], snapshots: [] })).rejects.toMatchObject({
      code: 'LOG_WRITE_FAILED',
    });
    await log.close();
    expect((await reader.head()).position).toBe(1);
    await reader.close();

    const exclusive = await openSqliteLog({ file, exclusive: true });
    await exclusive.commit({ turns: [sampleTurn('b', [{ actor: 'run-1', version: 2 }])], snapshots: [] });
    // It is shared memory on a full disk that kills a process: this one has none.
    expect(readFileSync('/proc/self/maps', 'utf8')).not.toContain(`${file}-shm`);
    await expect(openSqliteLog({ file, mode: 'read' })).rejects.toMatchObject({ code: 'LOG_LOCKED' });
    await exclusive.close();
    const again = await openSqliteLog({ file, mode: 'read' });
    expect((await again.head()).position).toBe(2);
    await again.close();
  });
});
