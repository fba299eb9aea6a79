import { RuntimeError } from '../errors.ts';
import { answer } from '../events/answer.ts';
import type { Json } from '../events/json.ts';
import { envelopeDetails, isEnvelope } from './command-envelope.ts';
import type { CommandSpec } from './command-options.ts';

/** Takes what a command writes, piece by piece, and makes its answer of it. */
export interface OutputReader {
  /** @throws {RuntimeError} AGENT_FLOODED, AGENT_ANSWER_BAD: there is no use in going on */
  take(piece: Buffer): void;
  /** @throws {RuntimeError} AGENT_ANSWER_BAD */
  finish(exitCode: number): unknown;
}

type Progress = (update: Json) => void;

export const createOutputReader = (
  { file, output, outputBytes }: Pick<CommandSpec, 'file' | 'output' | 'outputBytes'>,
  progress: Progress,
): OutputReader => {
  const reader = READERS[output](file, progress);
  let takenBytes = 0;
  return {
    take(piece) {
      takenBytes += piece.byteLength;
      if (takenBytes > outputBytes)
        throw new RuntimeError('AGENT_FLOODED', { file, limitBytes: outputBytes });
      reader.take(piece);
    },
    finish: (exitCode) => reader.finish(exitCode),
  };
};

const textReader = (): OutputReader => {
  const pieces: Buffer[] = [];
  return {
    take: (piece) => pieces.push(piece),
    finish: (exitCode) => ({ text: Buffer.concat(pieces).toString('utf8'), exitCode }),
  };
};

const jsonReader = (file: string): OutputReader => {
  const pieces: Buffer[] = [];
  return {
    take: (piece) => pieces.push(piece),
    finish: () => toAnswer(file, parse(file, Buffer.concat(pieces), 'standard output')),
  };
};

const NEWLINE = 0x0a;

/** Which line is the last is known at the end only: each is kept until the next one is there. */
const jsonLinesReader = (file: string, progress: Progress): OutputReader => {
  let rest: Buffer[] = [];
  let lines = 0;
  let last: { readonly value: Json } | undefined;
  const takeLine = () => {
    const line = Buffer.concat(rest);
    rest = [];
    lines += 1;
    const found = parse(file, line, `line ${lines} of standard output`);
    if (!found) return;
    if (last) progress(last.value);
    last = found;
  };
  return {
    take(piece) {
      let from = 0;
      for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
        rest.push(piece.subarray(from, end));
        from = end + 1;
        takeLine();
      }
      if (from < piece.byteLength) rest.push(piece.subarray(from));
    },
    finish() {
      if (rest.length > 0) takeLine();
      return toAnswer(file, last);
    },
  };
};

const READERS = { text: textReader, json: jsonReader, 'json-lines': jsonLinesReader };

const bad = (file: string, problem: string): Error => new RuntimeError('AGENT_ANSWER_BAD', { file, problem });

/** The value, if there is one. @throws {RuntimeError} AGENT_ANSWER_BAD */
const parse = (file: string, bytes: Buffer, what: string): { readonly value: Json } | undefined => {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    return text.trim() === '' ? undefined : { value: JSON.parse(withoutFence(text)) };
  } catch (error) {
    const problem = error instanceof SyntaxError ? `not JSON (${error.message})` : 'not UTF-8';
    throw bad(file, `${what} is ${problem}`);
  }
};

/** Programs that ask a model often write its JSON as the model did: in a fence of Markdown. */
const withoutFence = (text: string): string =>
  text.trimStart().startsWith('```')
    ? (/^\s*```(?:json)?[ \t]*\n([^]*)\n```\s*$/.exec(text)?.[1] ?? text)
    : text;

const toAnswer = (file: string, found: { readonly value: Json } | undefined): unknown => {
  if (!found) throw bad(file, 'standard output is empty');
  const { value } = found;
  if (!isEnvelope(value)) return value;
  const { problem, output, details } = envelopeDetails(value);
  if (problem !== undefined) throw bad(file, problem);
  return answer(output, details);
};
