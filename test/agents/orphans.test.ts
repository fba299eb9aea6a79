import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { agent, createRuntime, type Runtime } from '../../src/index.ts';
import { temporaryDirectory } from '../store/temporary-directory.ts';
import { createMark, type Mark, until } from '../support/commands.ts';
import { callOnce } from '../support/machines.ts';
import { open } from '../support/runtimes.ts';
import { startWorker } from '../support/worker-process.ts';

// Method: a process with a runtime is killed with SIGKILL while its command is at work, with a child in the command's group,
// one in a session of its own, and one that ignores SIGTERM. A second runtime opens the same log.

const WAITING = 3;
const lineFor = (calls: string) => `
  setsid sleep 300 &
  (trap "" TERM; exec setsid sleep 300) &
  sleep 300 &
  echo "$LOOPWRIGHT_CALL" >> '${calls}'
  wait`;

const linesOf = (file: string): readonly string[] => {
  try {
    return readFileSync(file, 'utf8').trim().split('\n');
  } catch {
    return [];
  }
};

/** Leaves orphans on the log, and gives the ids of those that are alive. */
const orphansOn = async (file: string, calls: string, mark: Mark): Promise<readonly number[]> => {
  const worker = startWorker('command-worker', {
    arguments: [file, lineFor(calls)],
    environment: { TEST_MARK: mark.value },
  });
  await worker.line('STARTED');
  // The worker, the shell, and those that it started.
  await until(() => linesOf(calls).length === 1 && mark.pids().length === 2 + WAITING);
  worker.kill();
  await worker.ended;
  return mark.pids();
};

const answersIn = async (runtime: Runtime): Promise<number> =>
  (await runtime.audit({ run: 'orphaned', types: ['lw.call.done', 'lw.call.failed'] })).length;

describe('S10: a runtime that is killed', () => {
  it('S10, G13: its commands are ended before the next runtime makes their calls again, with the same key', async () => {
    const [directory, mark, strangers] = [temporaryDirectory(), createMark(), createMark()];
    const [file, calls] = [join(directory, 'log.db'), join(directory, 'calls')];
    const orphans = await orphansOn(file, calls, mark);
    expect(orphans).toHaveLength(1 + WAITING);
    // Of another log, which is open elsewhere.
    spawn('sleep', ['300'], {
      env: { ...process.env, TEST_MARK: strangers.value, LOOPWRIGHT_LOG: 'f'.repeat(32) },
      detached: true,
      stdio: 'ignore',
    });
    await until(() => strangers.pids().length === 1);

    const line = `echo "$LOOPWRIGHT_CALL" >> '${calls}'; echo '"second"'`;
    const worker = agent.command('sh', ['-c', line]);
    const runtime = await open({ file, workflows: [callOnce], agents: { worker } });
    const warnings: string[] = [];
    runtime.warnings$.subscribe((warning) => warnings.push(warning));
    expect(mark.pids()).toEqual([]);
    const run = await runtime.run('orphaned', 'call-once');
    expect((await run.result()).output).toEqual({ answer: 'second', failure: null });
    const keys = linesOf(calls);
    expect(keys).toEqual([keys[0], keys[0]]);
    expect(strangers.pids()).toHaveLength(1);
    for (const pid of orphans) {
      const told = warnings.filter((warning) => warning.includes(`The process ${pid} (`));
      expect(told).toEqual([expect.stringContaining(`of the call "${keys[0]}", left behind`)]);
    }
    await runtime.close();

    const second = await createRuntime({ file, workflows: [callOnce], agents: { worker }, idle: true });
    expect(await answersIn(second)).toBe(1);
    await second.close();
  });

  it('S10, control: who does not take up the calls leaves the commands alone, and they go on', async () => {
    const [directory, mark] = [temporaryDirectory(), createMark()];
    const file = join(directory, 'log.db');
    const orphans = await orphansOn(file, join(directory, 'calls'), mark);
    const runtime = await open({ file, workflows: [callOnce], agents: { worker: () => null }, idle: true });
    expect(mark.pids()).toEqual(orphans);
    expect(await answersIn(runtime)).toBe(0);
  });

  it('S10: one that is itself started from such a command does not end itself', async () => {
    const [file, mark] = [join(temporaryDirectory(), 'log.db'), createMark()];
    const tagger = agent.command('sh', ['-c', 'echo "\\"$LOOPWRIGHT_LOG\\""']);
    const runtime = await open({ file, workflows: [callOnce], agents: { worker: tagger } });
    const { output } = await (await runtime.start('call-once', { task: 'tag' })).result();
    await runtime.close();
    const worker = startWorker('command-worker', {
      arguments: [file, 'sleep 300'],
      environment: { TEST_MARK: mark.value, LOOPWRIGHT_LOG: String(output?.answer) },
    });
    expect(await worker.line('STARTED')).toBe('STARTED');
  });
});
