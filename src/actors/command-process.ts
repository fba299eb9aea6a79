import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { RuntimeError } from '../errors.ts';
import { invariant } from '../invariant.ts';
import type { CommandSpec } from './command-options.ts';
import { endProcesses } from './end-processes.ts';
import { listProcesses } from './processes.ts';
import { createTail } from './tail.ts';

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export interface ProcessOptions {
  readonly command: Pick<CommandSpec, 'file' | 'args' | 'cwd' | 'graceMs'>;
  readonly env: Readonly<Record<string, string>>;
  /** The tag in `env` by which all that comes from this process is known. */
  readonly start: string;
  readonly stdin: string;
  /** Takes what it writes to standard output. If this throws, the process is ended. */
  readonly take: (piece: Buffer) => void;
  /** Ends it when aborted. */
  readonly signal: AbortSignal;
  /** Takes the secrets out of what it wrote to standard error. */
  readonly redact: (text: string) => string;
}

/** How a process ended. */
export interface ProcessEnd {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** The end of what it wrote to standard error. */
  readonly stderr: string;
  /** What `take` threw. */
  readonly fault: unknown;
  /** Resolves when nothing that it started is left, or what is left cannot be killed. */
  readonly gone: Promise<unknown>;
}

/** Someone who outlives the process may hold its pipes: they are read for so many rounds of so many milliseconds after its end. */
const PIPE_ROUNDS = 10;
const PIPE_ROUND_MS = 50;

/**
 * Runs a process in a group of its own, without a shell. Whatever ends it, all that it started is ended with it: first its
 * group, then (on Linux) whoever left the group but has its tag.
 *
 * @throws {RuntimeError} AGENT_NOT_STARTED
 */
export const runProcess = async (options: ProcessOptions): Promise<ProcessEnd> => {
  const { command, start, take, signal } = options;
  const { child, pid } = await launch(options);
  let giveUp = (): void => undefined;
  const exited = new Promise<Pick<ProcessEnd, 'exitCode' | 'signal'>>((resolve) => {
    child.once('exit', (exitCode, by) => resolve({ exitCode, signal: by }));
    giveUp = () => resolve({ exitCode: null, signal: 'SIGKILL' });
  });
  const closed = Promise.all([hasClosed(child.stdout), hasClosed(child.stderr)]);
  let ending: Promise<unknown> | undefined;
  const end = () => {
    // One that hangs in the kernel does not even end when it is killed: nobody must wait for it for ever.
    ending ??= endProcesses({ find: () => findAll(pid, start), graceMs: command.graceMs }).then(giveUp);
    return ending;
  };
  const onAbort = () => void end();
  signal.addEventListener('abort', onAbort);
  if (signal.aborted) onAbort();

  let fault: unknown;
  child.stdout.on('data', (piece: Buffer) => {
    try {
      if (fault === undefined) take(piece);
    } catch (error) {
      fault = error;
      // It has nobody to write to any more, and memory is not filled any further.
      child.stdout.destroy();
      void end();
    }
  });
  const tail = createTail();
  child.stderr.on('data', (piece: Buffer) => tail.take(piece));
  child.stdin.end(options.stdin);

  const exit = await exited;
  signal.removeEventListener('abort', onAbort);
  const gone = end();
  await Promise.race([closed, roundsOver()]);
  child.stdout.destroy();
  child.stderr.destroy();
  return { ...exit, stderr: tail.text(options.redact), fault, gone };
};

const launch = async ({ command, env }: ProcessOptions): Promise<{ child: Child; pid: number }> => {
  const { file, args, cwd } = command;
  try {
    const child = spawn(file, args, {
      env,
      shell: false,
      detached: true,
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
      ...(cwd !== undefined && { cwd }),
    });
    // It may end, or close its pipes, before it has read its input: then how it ends says what that meant.
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => undefined);
    await once(child, 'spawn');
    child.on('error', () => undefined);
    const { pid } = child;
    invariant(pid !== undefined, 'a process that was started has a number');
    return { child, pid };
  } catch (error) {
    throw notStarted(command, error);
  }
};

/** What no second attempt will find otherwise; that there are too many processes may pass. */
const LASTING: ReadonlySet<string> = new Set(['ENOENT', 'ENOTDIR', 'EACCES', 'ENOEXEC']);

const notStarted = ({ file, cwd = process.cwd() }: ProcessOptions['command'], error: unknown): Error => {
  const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
  // The system has one word for both.
  const problem = existsSync(cwd) ? code : `${code}: there is no such directory`;
  const found = new RuntimeError('AGENT_NOT_STARTED', { file, cwd, problem }, { cause: error });
  return LASTING.has(code) ? Object.assign(found, { final: true }) : found;
};

const hasClosed = (stream: Readable): Promise<unknown> =>
  new Promise((resolve) => {
    stream.once('close', resolve);
  });

/** Rounds rather than a time: in each, what is in the pipes is read, however busy the thread was before. */
const roundsOver = async (): Promise<void> => {
  for (let round = 0; round < PIPE_ROUNDS; round += 1) await sleep(PIPE_ROUND_MS, undefined, { ref: false });
};

/** A number of a group is not given to anyone else for as long as one member of it is there. */
const findAll = async (group: number, start: string) => {
  const listed = await listProcesses();
  if (listed) return listed.filter((found) => found.group === group || found.start === start);
  return isGroupThere(group) ? [{ pid: group, target: -group }] : [];
};

const isGroupThere = (group: number): boolean => {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
};
