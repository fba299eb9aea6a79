import { Worker } from 'node:worker_threads';
import type { Part, ScannedRows } from './scan-reader.ts';

/** A thread takes a while to start, and opens the file once more. */
const WORTH_A_THREAD = 50_000;
/** How many parts may be read before they are asked for. */
const PARTS_AHEAD = 8;

/**
 * Reads parts of a log in a thread of its own, ahead of whoever folds them, since reading takes half as long as folding. It is a help and
 * nothing more: where it cannot be (sources that are not compiled, a log that nobody else may open) there is none, and whatever
 * goes wrong in it ends it, so that the caller reads the rest by itself and meets the same fault.
 */
export class ReadAhead {
  readonly #worker: Worker;
  readonly #before: number;
  readonly #limit: number;
  readonly #asked: Promise<ScannedRows | undefined>[] = [];
  readonly #waiting: ((rows: ScannedRows | undefined) => void)[] = [];
  #next: number;
  #isOver = false;

  private constructor(worker: Worker, { after, before, limit }: Part) {
    this.#worker = worker;
    this.#next = after;
    this.#before = before;
    this.#limit = limit;
    worker.on('message', (rows: ScannedRows) => this.#waiting.shift()?.(rows));
    worker.on('error', () => this.#leave());
    worker.on('exit', () => this.#leave());
  }

  /** Undefined if it is not worth a thread, or there can be none. */
  static start(file: string, part: Part): ReadAhead | undefined {
    const isCompiled = !import.meta.url.endsWith('.ts');
    if (!isCompiled || file === ':memory:' || part.before - part.after < WORTH_A_THREAD) return undefined;
    return new ReadAhead(new Worker(new URL('scan-worker.js', import.meta.url), { workerData: file }), part);
  }

  /** The next part; undefined if the thread is over. */
  async next(): Promise<ScannedRows | undefined> {
    while (this.#asked.length < PARTS_AHEAD && this.#next < this.#before - 1) this.#ask();
    // It keeps the process alive only while somebody waits for it.
    this.#worker.ref();
    try {
      return await this.#asked.shift();
    } finally {
      this.#worker.unref();
    }
  }

  async end(): Promise<void> {
    await this.#worker.terminate();
  }

  #ask(): void {
    if (this.#isOver) return void this.#asked.push(Promise.resolve(undefined));
    this.#asked.push(new Promise((resolve) => this.#waiting.push(resolve)));
    const part: Part = { after: this.#next, before: this.#before, limit: this.#limit };
    this.#worker.postMessage(part, []);
    // Positions have no gaps: where a part ends is known before it is read.
    this.#next += this.#limit;
  }

  #leave(): void {
    this.#isOver = true;
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }
}
