import {
  closeSync,
  createReadStream,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { constants, createGunzip, gunzipSync } from 'node:zlib';
import { type GivenStoryFile, IMPORT_LIMITS, RuntimeError } from '../index.ts';
import { wrong } from './wrong-use.ts';

/** What is to be imported: a log of ours, the stories of a folder, or the bytes of a file. */
export type ImportSource =
  | { readonly kind: 'log'; readonly lines: () => AsyncIterable<string> }
  | { readonly kind: 'stories'; readonly files: readonly GivenStoryFile[] }
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array };

export const STANDARD_INPUT = '-';
const OWN = '{"loopwright":"log"';

/** Of a log of ours, which may have any length. */
const LOG_LIMITS = { line: 256 * 1024 * 1024, all: 64 * 1024 ** 3 };

/**
 * Looks at what a path names, and reads it as far as that may go.
 *
 * @throws {RuntimeError} WRONG_USE
 */
export const readSource = async (given: string): Promise<ImportSource> => {
  if (given === STANDARD_INPUT) return fromBytes(await readBounded(process.stdin, given), given);
  const found = statSync(given, { throwIfNoEntry: false });
  if (!found) throw wrong(`There is no file "${given}".`, 'Check the path.');
  if (found.isDirectory()) return { kind: 'stories', files: storiesIn(given) };
  if (!found.isFile()) throw wrong(`"${given}" is no file.`, 'Give a file, or a folder of stories.');
  if (isOwn(headOf(given))) return { kind: 'log', lines: () => linesOf(streamOf(given)) };
  if (found.size > IMPORT_LIMITS.file) throw tooLarge(given);
  return fromBytes(readFileSync(given), given);
};

const tooLarge = (given: string): RuntimeError =>
  wrong(`"${given}" has more than ${IMPORT_LIMITS.file} bytes.`, 'Import it in parts.');

const fromBytes = (bytes: Buffer, given: string): ImportSource => {
  const whole = isPacked(bytes) ? unpacked(bytes, given) : bytes;
  if (!isOwn(whole.subarray(0, OWN.length))) return { kind: 'bytes', bytes: whole };
  return { kind: 'log', lines: () => linesOf([whole]) };
};

const isPacked = (bytes: Uint8Array): boolean => bytes[0] === 0x1f && bytes[1] === 0x8b;
const isOwn = (bytes: Uint8Array): boolean => Buffer.from(bytes).toString('latin1').startsWith(OWN);

/** Stops where it would be too large, however small the packed file is. */
const unpacked = (bytes: Buffer, given: string): Buffer => {
  try {
    return gunzipSync(bytes, { maxOutputLength: IMPORT_LIMITS.file });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ERR_BUFFER_TOO_LARGE') throw tooLarge(given);
    throw wrong(`"${given}" cannot be unpacked.`, 'Check that it is whole.');
  }
};

/** The first bytes of a file, unpacked. */
const headOf = (path: string): Uint8Array => {
  const head = firstBytes(path, 64 * 1024);
  if (!isPacked(head)) return head.subarray(0, OWN.length);
  try {
    return gunzipSync(head, {
      finishFlush: constants.Z_SYNC_FLUSH,
      maxOutputLength: IMPORT_LIMITS.file,
    }).subarray(0, OWN.length);
  } catch {
    return head;
  }
};

const firstBytes = (path: string, count: number): Buffer => {
  const descriptor = openSync(path, 'r');
  try {
    const buffer = Buffer.alloc(count);
    return buffer.subarray(0, readSync(descriptor, buffer));
  } finally {
    closeSync(descriptor);
  }
};

const streamOf = (path: string): Readable => {
  const stream = createReadStream(path);
  if (!isPacked(firstBytes(path, 2))) return stream;
  const unpacking = createGunzip();
  // A pipe does not pass on what goes wrong before it.
  stream.on('error', (error) => unpacking.destroy(error));
  return stream.pipe(unpacking);
};

/** As a stream: whoever writes into a pipe may be slower than this process begins to read. */
const readBounded = async (stream: AsyncIterable<Buffer>, given: string): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > IMPORT_LIMITS.file) throw tooLarge(given);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/** Lines as they come. One that does not end, or a file without an end, is refused on the way. */
async function* linesOf(chunks: AsyncIterable<Buffer> | Iterable<Buffer>): AsyncIterable<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let rest = '';
  let size = 0;
  for await (const chunk of chunks) {
    size += chunk.length;
    if (size > LOG_LIMITS.all)
      throw wrong('The export is too large.', `It may have ${LOG_LIMITS.all} bytes.`);
    const parts = `${rest}${decoder.decode(chunk, { stream: true })}`.split('\n');
    rest = parts.pop() ?? '';
    if (rest.length > LOG_LIMITS.line)
      throw wrong('A line of the export is too long.', 'Export the log again.');
    yield* parts;
  }
  rest += decoder.decode();
  if (rest !== '') yield rest;
}

/** The Markdown files of a folder. What is behind a link is not in the folder. */
const storiesIn = (folder: string): readonly GivenStoryFile[] =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => storyAt(resolve(join(folder, name))));

const storyAt = (path: string): GivenStoryFile => {
  const found = lstatSync(path);
  if (found.isSymbolicLink()) return { path, problem: 'it is a symbolic link' };
  if (!found.isFile()) return { path, problem: 'it is no file' };
  if (found.size > IMPORT_LIMITS.row) return { path, problem: `it has more than ${IMPORT_LIMITS.row} bytes` };
  const bytes = readFileSync(path);
  const text = bytes.toString('utf8');
  return Buffer.from(text).equals(bytes) ? { path, text } : { path, problem: 'it is not UTF-8' };
};
