import { readFileSync } from 'node:fs';
import { type Json, type JsonObject, RuntimeError, type WorkflowFile } from '../index.ts';

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

const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Stories are named by their files. */
const fromText = ({ loop }: Pick<WorkflowFile, 'loop'>, text: string | undefined): Json | undefined =>
  text !== undefined && loop === 'stories' ? { stories: [text] } : text;

const parsed = (given: string): Json => {
  const isFile = given.startsWith('@');
  const where = isFile ? `The file "${given.slice(1)}" of --input` : '--input';
  try {
    return JSON.parse(isFile ? readFileSync(given.slice(1), 'utf8') : given) as Json; // What JSON.parse gives is JSON.
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    throw wrong(
      `${where} cannot be read as JSON: ${problem}.`,
      `Give JSON (--input '{"task":"…"}'), @ and the path of a file with JSON, or a text without --input.`,
    );
  }
};

const wrong = (problem: string, instead: string): RuntimeError =>
  new RuntimeError('WRONG_USE', { problem, instead });
