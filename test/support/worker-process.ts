import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { onTestFinished } from 'vitest';
import type { Acknowledged } from './verify-ledger.ts';
import { workerPath } from './workers.ts';

export interface WorkerOptions {
  readonly arguments?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Shell commands to run first, in the same process: `ulimit -f 200`. */
  readonly before?: string;
}

/** How a worker ended. */
interface WorkerEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly errors: string;
}

/** A program of `test/workers` as a process of its own, as it was built before the tests began. */
export class WorkerProcess {
  /** Everything that it has said, line by line. */
  readonly lines: string[] = [];
  readonly ended: Promise<WorkerEnd>;
  readonly #process: ChildProcessByStdio<Writable, Readable, Readable>;
  readonly #listeners = new Set<() => void>();
  #rest = '';
  #errors = '';
  #isOver = false;

  constructor(name: string, { arguments: given = [], environment = {}, before }: WorkerOptions = {}) {
    const program = [process.execPath, workerPath(name), ...given];
    const [command = '', ...rest] =
      before === undefined ? program : ['bash', '-c', `${before}; exec "$@"`, 'bash', ...program];
    this.#process = spawn(command, rest, {
      env: { ...process.env, ...environment },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.#process.stdout.setEncoding('utf8').on('data', (text: string) => this.#take(text));
    this.#process.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text;
    });
    // It may be killed while we write to it.
    this.#process.stdin.on('error', () => undefined);
    this.ended = once(this.#process, 'close').then(([code, signal]) => {
      this.#isOver = true;
      this.#tell();
      return { code, signal, errors: this.#errors };
    });
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  /** The entries that it has acknowledged so far. */
  get acknowledged(): Acknowledged {
    return acknowledgedIn(this.lines);
  }

  /** Resolves with the first line that begins like this, said already or later. @throws if the process ends without it */
  async line(beginning: string): Promise<string> {
    for (;;) {
      const found = this.lines.find((line) => line.startsWith(beginning));
      if (found !== undefined) return found;
      if (this.#isOver)
        throw new Error(`The worker ended without "${beginning}": ${this.lines.at(-1)} ${this.#errors}`);
      await this.#news();
    }
  }

  /** Its line of that number, said already or later; undefined if it ends before. */
  async next(index: number): Promise<string | undefined> {
    while (index >= this.lines.length && !this.#isOver) await this.#news();
    return this.lines[index];
  }

  say(text: string): void {
    this.#process.stdin.write(text);
  }

  kill(): void {
    this.#process.kill('SIGKILL');
  }

  #news(): Promise<void> {
    return new Promise((told) => this.#listeners.add(told));
  }

  #take(text: string): void {
    const lines = `${this.#rest}${text}`.split('\n');
    this.#rest = lines.pop() ?? '';
    this.lines.push(...lines);
    if (lines.length > 0) this.#tell();
  }

  #tell(): void {
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    for (const told of listeners) told();
  }
}

/** Starts a worker that does not outlive the test. */
export function startWorker(name: string, options: WorkerOptions): WorkerProcess {
  const worker = new WorkerProcess(name, options);
  onTestFinished(async () => {
    worker.kill();
    await worker.ended;
  });
  return worker;
}

/** What lines like `ACK <number> <position>` say. */
const acknowledgedIn = (lines: readonly string[]): Acknowledged =>
  new Map(
    lines
      .filter((line) => line.startsWith('ACK '))
      .map((line) => line.split(' ').slice(1).map(Number))
      .map(([n = 0, position = 0]) => [n, position]),
  );
