import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { isRuntimeError, type Json, type JsonObject, RuntimeError, type WorkflowFile } from '../index.ts';

export interface InputOptions {
  /** JSON, or `@` and the path of a file with JSON. */
  readonly input?: string;
  /** How stories are worked on, if it was said. */
  readonly mode?: 'auto' | 'manual';
}

/**
 * What a run is started with: a text, JSON, or what the file has.
 *
 * @throws {RuntimeError} WRONG_USE
 */
export const inputOf = (
  file: Pick<WorkflowFile, 'loop' | 'input'>,
  text: string | undefined,
  { input: given, mode }: InputOptions,
): Json => {
  if (text !== undefined && given !== undefined)
    throw wrong('There are two inputs: a text and --input.', 'Give one of them.');
  const input = given === undefined ? (fromText(file, text) ?? file.input ?? null) : parsed(given);
  if (file.loop !== 'stories' || mode === undefined) return input;
  return isObject(input) ? { ...input, mode } : input;
};

/** Loops whose agents have nothing to go by but the task. Steps of plans and nodes of trees may say by themselves what they are for. */
const OF_A_TASK: readonly WorkflowFile['loop'][] = ['tight', 'repeat', 'phases'];

/**
 * That there is something to do: agents would be called, and paid, for nothing.
 *
 * @throws {RuntimeError} WRONG_USE
 */
export const checkTask = ({ loop }: Pick<WorkflowFile, 'loop'>, input: Json): void => {
  const isNothing = input === null || (typeof input === 'string' && input.trim() === '');
  if (!isNothing || !OF_A_TASK.includes(loop)) return;
  throw wrong(
    'There is no task.',
    'Write it after the file (loopwright run FILE "Add CSV export"), give --input, or put "input:" into the file.',
  );
};

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Stories are named by their files. */
const fromText = ({ loop }: Pick<WorkflowFile, 'loop'>, text: string | undefined): Json | undefined =>
  text !== undefined && loop === 'stories' ? { stories: [text] } : text;

const parsed = (given: string): Json => {
  const isFile = given.startsWith('@');
  const where = isFile ? `The file "${given.slice(1)}" of --input` : '--input';
  try {
    return JSON.parse(isFile ? textOf(given.slice(1)) : given) as Json; // What JSON.parse gives is JSON.
  } catch (error) {
    if (isRuntimeError(error)) throw error;
    const problem = error instanceof Error ? error.message : String(error);
    throw wrong(
      `${where} cannot be read as JSON: ${problem}.`,
      `Give JSON (--input '{"task":"…"}'), @ and the path of a file with JSON, or a text without --input.`,
    );
  }
};

const BYTES_MAX = 64 * 1024 * 1024;
const DEPTH_MAX = 1_000;

/** The runtime takes far less; but a parser takes any depth, and hundreds of megabytes for it. */
const isFarTooDeep = (text: string): boolean => {
  let depth = 0;
  let isText = false;
  for (let index = 0; index < text.length && depth <= DEPTH_MAX; index += 1) {
    const character = text[index];
    if (character === '"') isText = !isText;
    else if (isText) index += character === '\\' ? 1 : 0;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
  }
  return depth > DEPTH_MAX;
};

const textOf = (path: string): string => {
  // A pipe would be waited for without end.
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(descriptor);
    if (!found.isFile())
      throw wrong(`"${path}" of --input is no plain file.`, 'Give the path of a file with JSON.');
    if (found.size > BYTES_MAX)
      throw wrong(
        `"${path}" of --input has more than ${BYTES_MAX} bytes.`,
        'Keep it elsewhere, and name it.',
      );
    const text = readFileSync(descriptor, 'utf8');
    if (isFarTooDeep(text))
      throw wrong(`"${path}" of --input is nested more than ${DEPTH_MAX} levels deep.`, 'Keep it flatter.');
    return text;
  } finally {
    closeSync(descriptor);
  }
};

const wrong = (problem: string, instead: string): RuntimeError =>
  new RuntimeError('WRONG_USE', { problem, instead });
