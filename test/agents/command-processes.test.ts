import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import { agent, agentCall, type CommandOptions, type Json, workflow } from '../../src/index.ts';
import { temporaryDirectory, temporaryFile } from '../store/temporary-directory.ts';
import { askOnce, createMark, until } from '../support/commands.ts';
import { ask } from '../support/machines.ts';
import { open } from '../support/runtimes.ts';

// Method: real processes that will not end by themselves. Each has a mark in its environment, by which the test counts those
// that are alive, without the help of the code under test.

const shell = (line: string, options: CommandOptions) => agent.command<Json>('sh', ['-c', line], options);

/** Makes its call anew, with the same key, when it is told so. */
const restarting = workflow(
  'restarting',
  setup({
    types: {
      context: {} as { answer: unknown },
      events: {} as { type: 'AGAIN' },
      output: {} as { answer: unknown },
    },
    actors: { worker: agentCall<Json, unknown>({ request: () => ({ callId: 'same', attempt: 1 }) }) },
  }).createMachine({
    context: { answer: null },
    initial: 'working',
    states: {
      working: {
        on: { AGAIN: { target: 'working', reenter: true } },
        invoke: {
          src: 'worker',
          input: null,
          onDone: { target: 'done', actions: assign({ answer: ({ event }) => event.output }) },
          onError: 'done',
        },
      },
      done: { type: 'final' },
    },
    output: ({ context }) => ({ answer: context.answer }),
  }),
);

const MEGABYTE = 1024 * 1024;

describe('G17: a command that does not end', () => {
  it('G17, S10: one that is busy for ever is killed at its time limit, with the process that it started', async () => {
    const mark = createMark();
    const line = `sh -c 'while :; do :; done' & exec '${process.execPath}' -e 'while (1);'`;
    const worker = shell(line, { ...mark.options, timeoutMs: 1_500, graceMs: 200 });
    const file = temporaryFile();
    const runtime = await open({ file, workflows: [ask], agents: { worker } });
    const run = await runtime.start('ask', { input: null });
    await until(() => mark.pids().length >= 2);
    const { output } = await run.result();
    expect(output).toMatchObject({ answer: null, failure: { code: 'AGENT_TIMED_OUT' } });
    // The failure is told when they are gone, not before.
    expect(mark.pids()).toEqual([]);
    await runtime.close();
    const second = await open({ file, workflows: [ask], agents: { worker }, idle: true });
    expect((await (await second.run(run.id)).result()).output).toEqual(output);
  });

  it('S10: the next attempt begins when nothing of the one before is at work any more', async () => {
    const directory = temporaryDirectory();
    const line = `
      if [ -e lock ]; then echo '"at work at once"'; exit; fi
      if [ -e before ]; then echo '"alone"'; exit; fi
      touch lock before
      trap 'sleep 0.2; rm lock; exit 1' TERM
      sleep 60 & wait`;
    const worker = shell(line, { cwd: directory, timeoutMs: 1_000 });
    expect(await askOnce(worker, null, { attempts: 2 })).toEqual({ answer: 'alone', failure: null });
    expect(existsSync(`${directory}/lock`)).toBe(false);
  });

  it('G13: an answer that comes while its processes are still ending comes too late', async () => {
    const mark = createMark();
    const inner = shell('trap "" TERM; while :; do sleep 0.05; done', { ...mark.options, graceMs: 300 });
    const worker = agent<Json, unknown>(
      (request) => {
        Promise.resolve(inner.run(request)).catch(() => undefined);
        return new Promise((resolve) => {
          request.signal.addEventListener('abort', () => resolve('at the last moment'));
        });
      },
      { timeoutMs: 500 },
    );
    const runtime = await open({ file: temporaryFile(), workflows: [ask], agents: { worker } });
    const run = await runtime.start('ask', { input: null });
    expect((await run.result()).output).toMatchObject({ answer: null, failure: { code: 'AGENT_TIMED_OUT' } });
    expect(mark.pids()).toEqual([]);
    const late = () => runtime.audit({ run: run.id, kinds: ['late'] });
    await until(async () => (await late()).length === 1);
    expect((await late())[0]?.data).toMatchObject({ output: 'at the last moment' });
  });

  it('S10: a call that is made again with the same key is not ended with the one before', async () => {
    const [mark, directory] = [createMark(), temporaryDirectory()];
    // The first one ignores SIGTERM, so that it is still being ended when the second one is at work.
    const line = `
      if [ -e before ]; then sleep 0.7; echo "\\"$LOOPWRIGHT_CALL\\""; exit; fi
      touch before; trap "" TERM; while :; do sleep 0.05; done`;
    const worker = shell(line, { ...mark.options, cwd: directory, graceMs: 400 });
    const runtime = await open({ file: temporaryFile(), workflows: [restarting], agents: { worker } });
    const run = await runtime.start('restarting');
    await until(() => existsSync(`${directory}/before`));
    await run.send({ type: 'AGAIN' });
    expect((await run.result()).output).toEqual({ answer: 'same/1' });
    expect(mark.pids()).toEqual([]);
  });

  it('S10: one that ignores SIGTERM is killed after its grace, and not before', async () => {
    const mark = createMark();
    const worker = shell('trap "" TERM; while :; do sleep 0.05; done', { ...mark.options, graceMs: 400 });
    const runtime = await open({ file: temporaryFile(), workflows: [ask], agents: { worker } });
    const run = await runtime.start('ask', { input: null });
    await until(() => mark.pids().length >= 2);
    const before = performance.now();
    await run.cancel();
    await until(() => mark.pids().length === 0);
    expect(performance.now() - before).toBeGreaterThan(390);
  });

  it('S10: one that heeds SIGTERM may put things in order first', async () => {
    const [mark, directory] = [createMark(), temporaryDirectory()];
    const line = 'trap "echo tidy >> ended; exit" TERM; touch begun; sleep 60 & wait';
    const worker = shell(line, { ...mark.options, cwd: directory });
    const runtime = await open({ file: temporaryFile(), workflows: [ask], agents: { worker } });
    const run = await runtime.start('ask', { input: null });
    await until(() => existsSync(`${directory}/begun`));
    await run.cancel();
    await until(() => mark.pids().length === 0);
    expect(readFileSync(`${directory}/ended`, 'utf8')).toBe('tidy\n');
  });

  it('S10: a runtime that is closed waits until its commands are gone, also behind a function', async () => {
    const mark = createMark();
    const line = 'trap "" TERM; setsid sh -c "while :; do sleep 0.05; done" & while :; do sleep 0.05; done';
    const inner = shell(line, { ...mark.options, graceMs: 300 });
    const worker = agent<Json, unknown>((request) => inner.run({ ...request, input: 'changed' }));
    const file = temporaryFile();
    const runtime = await open({ file, workflows: [ask], agents: { worker } });
    const run = await runtime.start('ask', { input: null });
    await until(() => mark.pids().length >= 3);
    await runtime.close();
    expect(mark.pids()).toEqual([]);
    // Its call is still open, and is made again.
    const second = await open({ file, workflows: [ask], agents: { worker: () => 'again' } });
    expect((await (await second.run(run.id)).result()).output).toEqual({ answer: 'again', failure: null });
  });
});

describe('S10: what a command leaves behind', () => {
  it.each([
    ['in its group', 'sleep 60 >/dev/null 2>&1 &'],
    ['in a session of its own', 'setsid sleep 60 >/dev/null 2>&1 &'],
    ['that ignores SIGTERM', '(trap "" TERM; setsid sleep 60 >/dev/null 2>&1) &'],
    ['that holds its output open', '(trap "" TERM; exec sleep 60) &'],
  ])('S10: a process %s is killed when the command has answered', async (_what, line) => {
    const mark = createMark();
    const worker = shell(`${line} sleep 0.1; echo '"done"'`, { ...mark.options, graceMs: 2_500 });
    const runtime = await open({ file: temporaryFile(), workflows: [ask], agents: { worker } });
    const before = performance.now();
    const { output } = await (await runtime.start('ask', { input: null })).result();
    expect(output).toEqual({ answer: 'done', failure: null });
    // The answer does not wait for what is left.
    expect(performance.now() - before).toBeLessThan(2_400);
    await runtime.close();
    expect(mark.pids()).toEqual([]);
  });

  it('S10, control: without the tag, a process in a session of its own goes on', async () => {
    const mark = createMark();
    const line =
      'env -u LOOPWRIGHT_LOG -u LOOPWRIGHT_START setsid sleep 60 >/dev/null 2>&1 & sleep 0.1; echo 1';
    await askOnce(shell(line, { ...mark.options, graceMs: 100 }));
    expect(mark.pids()).toHaveLength(1);
  });
});

// Method: the resident memory of this process, looked at while the flood comes in.
describe('G17, S10: floods', () => {
  const grownBy = async (work: () => Promise<unknown>): Promise<number> => {
    const before = process.memoryUsage.rss();
    let most = before;
    const looking = setInterval(() => {
      most = Math.max(most, process.memoryUsage.rss());
    }, 5);
    await work();
    clearInterval(looking);
    return Math.max(most, process.memoryUsage.rss()) - before;
  };

  it('G17, S10: one of 200 MB is cut off, its process killed, and memory stays small', async () => {
    const mark = createMark();
    const worker = shell('head -c 200000000 /dev/zero; sleep 60', { ...mark.options, outputBytes: MEGABYTE });
    const grown = await grownBy(async () => {
      const { failure } = await askOnce(worker);
      expect(failure).toMatchObject({ code: 'AGENT_FLOODED', message: expect.stringContaining('1048576') });
    });
    expect(grown).toBeLessThan(64 * MEGABYTE);
    expect(mark.pids()).toEqual([]);
  });

  it('S10: one of 200 MB on standard error leaves its last lines', async () => {
    const line = "head -c 200000000 /dev/zero | tr '\\0' '\\n' >&2; echo the last word >&2; exit 1";
    const grown = await grownBy(async () => {
      const { failure } = await askOnce(shell(line, {}));
      expect(failure?.message).toContain('the last word');
    });
    expect(grown).toBeLessThan(96 * MEGABYTE);
  });

  it('G17, control: without the limit the flood is in memory', async () => {
    const worker = shell('head -c 200000000 /dev/zero', { outputBytes: 300 * MEGABYTE });
    const grown = await grownBy(async () => {
      expect((await askOnce(worker)).failure).toMatchObject({ code: 'AGENT_ANSWER_BAD' });
    });
    expect(grown).toBeGreaterThan(150 * MEGABYTE);
  });
});
