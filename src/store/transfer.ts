import { createHash, type Hash } from 'node:crypto';
import { isRuntimeError, RuntimeError } from '../errors.ts';
import type { RunRecord } from '../events/turn.ts';
import { EMPTY_CHAIN } from './chain.ts';
import type { EventLog, Head, OpenWork } from './event-log.ts';
import { BadLine } from './line-shapes.ts';
import { explainFault, messageOf } from './sqlite/faults.ts';
import { type ImportSession, importInto } from './sqlite/import-session.ts';
import { type ExportLine, headerLine, parseLine, toTurn, turnLine } from './transfer-lines.ts';

const EMPTY_HEAD: Head = { position: 0, turn: 0, chain: EMPTY_CHAIN, atMs: 0 };

/** How often to look again if someone commits just while the end of the log is read. */
const LOOKS_MAX = 100;

interface Ending extends OpenWork {
  readonly head: Head;
  readonly runs: readonly RunRecord[];
}

/**
 * Writes a log as lines of JSON: first the head that an import of them will have, then every turn, then what is derived from
 * them and could not be made again without the machines: runs, what is open, large values. The last line has a digest over
 * all lines before it. A log that is in use is written up to the head that it had when this began.
 */
export async function exportLog(log: EventLog, write: (line: string) => void | Promise<void>): Promise<Head> {
  const ending = await readEnding(log);
  const digest = createHash('sha256');
  const put = async (line: ExportLine): Promise<void> => {
    const text = JSON.stringify(line);
    digest.update(`${text}\n`);
    await write(text);
  };
  await put(headerLine(ending.head));
  for (let after = 0; after < ending.head.turn; ) {
    const turns = await log.turns({ after, limit: Math.min(100, ending.head.turn - after) });
    for (const turn of turns) await put(turnLine(turn));
    after += turns.length;
  }
  for (const run of ending.runs) await put({ run });
  for (const call of ending.calls) await put({ call });
  for (const timer of ending.timers) await put({ timer });
  for (let after = ''; ; ) {
    const hashes = await log.blobHashes({ after, limit: 100 });
    for (const [hash, text] of await log.blobs(hashes)) await put({ blob: { hash, text } });
    const last = hashes.at(-1);
    if (last === undefined) break;
    after = last;
  }
  await write(JSON.stringify({ end: { digest: digest.digest('hex') } }));
  return ending.head;
}

/** The head with all that is derived at that very head: read again if a commit came in between. */
async function readEnding(log: EventLog): Promise<Ending> {
  for (let look = 1; ; look += 1) {
    const head = await log.head();
    const [work, runs] = await Promise.all([log.openWork(), log.runs({})]);
    const { chain } = await log.head();
    if (chain === head.chain) return { head, ...work, runs };
    if (look === LOOKS_MAX) {
      throw new RuntimeError('LOG_READ_FAILED', {
        file: log.file ?? 'memory',
        problem: `it was written to at each of ${LOOKS_MAX} looks`,
      });
    }
  }
}

export interface ImportOptions {
  /** What the lines come from, for messages. */
  readonly source?: string;
}

/**
 * Reads what `exportLog` wrote into a new or empty log: all of it, or nothing. Every line is checked, and every turn must give
 * the chain that it had in the log it comes from, so that nothing that was altered on the way gets in.
 *
 * @throws {RuntimeError} IMPORT_NOT_EMPTY, IMPORT_BAD_LINE, and all that opening a log can throw
 */
export async function importLog(
  lines: AsyncIterable<string> | Iterable<string>,
  file: string,
  { source = 'the export' }: ImportOptions = {},
): Promise<Head> {
  return importInto(file, async (session) => {
    const reader = new ImportReader(session);
    let number = 0;
    try {
      for await (const line of lines) {
        number += 1;
        reader.take(line);
      }
      number += 1;
      reader.finish();
    } catch (error) {
      if (!(error instanceof BadLine)) throw error;
      throw new RuntimeError(
        'IMPORT_BAD_LINE',
        { file: source, line: number, problem: error.message },
        { cause: error },
      );
    }
  });
}

/** Takes the lines of an export one after the other. */
class ImportReader {
  readonly #session: ImportSession;
  readonly #digest: Hash = createHash('sha256');
  readonly #derived = {
    runs: [] as RunRecord[],
    calls: [] as OpenWork['calls'][number][],
    timers: [] as OpenWork['timers'][number][],
  };
  /** The head that the header promises. */
  #promised: Head | undefined;
  #head: Head = EMPTY_HEAD;
  #isEnded = false;

  constructor(session: ImportSession) {
    this.#session = session;
  }

  take(text: string): void {
    if (this.#isEnded) throw new BadLine('the export has ended before it');
    const line = parseLine(text);
    if ('end' in line) {
      this.#end(line.end.digest);
      return;
    }
    this.#digest.update(`${text}\n`);
    if ('loopwright' in line) {
      if (this.#promised) throw new BadLine('it is a second header');
      this.#promised = line.head;
      return;
    }
    if (!this.#promised) throw new BadLine('the first line must be the header of an export');
    if ('turn' in line) this.#append(line);
    else if ('run' in line) this.#derived.runs.push(line.run);
    else if ('call' in line) this.#derived.calls.push(line.call);
    else if ('timer' in line) this.#derived.timers.push(line.timer);
    else this.#session.putBlob(line.blob.hash, line.blob.text);
  }

  finish(): void {
    if (!this.#isEnded) throw new BadLine('the export ends too early');
  }

  #append(line: Extract<ExportLine, { readonly turn: unknown }>): void {
    const { turn, number, chain } = toTurn(line);
    try {
      this.#head = this.#session.append(turn);
    } catch (error) {
      throw isOfTheDisk(error) ? error : new BadLine(messageOf(error), { cause: error });
    }
    if (this.#head.turn !== number) throw new BadLine(`turn ${this.#head.turn} is missing`);
    if (this.#head.chain !== chain) throw new BadLine('the turn was altered: it does not match its chain');
  }

  #end(digest: string): void {
    if (this.#digest.copy().digest('hex') !== digest)
      throw new BadLine('a line before it was altered, added or removed');
    if (!this.#promised || !isSameHead(this.#promised, this.#head)) {
      throw new BadLine('the turns do not give the head that the header promises');
    }
    this.#session.restore(this.#derived);
    this.#isEnded = true;
  }
}

function isSameHead(one: Head, other: Head): boolean {
  return (
    one.position === other.position &&
    one.turn === other.turn &&
    one.chain === other.chain &&
    one.atMs === other.atMs
  );
}

/** Whether a failure to append is none of the line's: what else the log would refuse is a fault of the line. */
function isOfTheDisk(error: unknown): boolean {
  const explained = explainFault(error, { file: '', doing: 'writing' });
  return isRuntimeError(explained, 'DISK_FULL', 'LOG_FAULT', 'LOG_WRITE_FAILED', 'LOG_CORRUPT');
}
