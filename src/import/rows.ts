import type { Json } from '../events/json.ts';
import { createRedactor, type Redactor } from '../events/redact.ts';

/** The files of other systems that can be brought in. */
export type ImportFormat = 'feedback' | 'progress' | 'stories' | 'settings';

/** A row that was taken. */
export interface AcceptedRow {
  /** Where it stands: `line 3`, `feedback_loop.iterations[0]`, the path of a file. */
  readonly place: string;
  /** What it is, in short. */
  readonly text: string;
}

/** A row that was not taken, and why. */
export interface RefusedRow extends AcceptedRow {
  readonly reason: string;
}

/** What was read of a file: each of its rows is among the accepted or the refused. */
export interface ReadRows {
  readonly accepted: readonly AcceptedRow[];
  readonly refused: readonly RefusedRow[];
  /** What else there is to know: members that nobody reads, numbers that changed. */
  readonly notes: readonly string[];
}

/** How large what is read may be. */
export const IMPORT_LIMITS = {
  /** Of a file, in bytes. */
  file: 64 * 1024 * 1024,
  /** Of a line or row, in characters. */
  row: 1024 * 1024,
  /** Of objects in objects. */
  depth: 64,
  rows: 10_000,
} as const;

const EXCERPT_LENGTH = 120;
const usual = createRedactor({});

/** The beginning of a row, without its secrets: those are looked for in all of it, since a part of one is not known by its shape. */
export const excerptOf = (text: string, redactor: Redactor = usual): string => {
  const clean = redactor.text(text.slice(0, IMPORT_LIMITS.row)).toWellFormed();
  return clean.length > EXCERPT_LENGTH ? `${clean.slice(0, EXCERPT_LENGTH).toWellFormed()}…` : clean;
};

/** A text that is JSON and no danger to whoever walks through it, or what is wrong with it. */
export const parseRow = (text: string): { readonly value?: Json; readonly fault?: string } => {
  if (isDeeper(text, IMPORT_LIMITS.depth)) return { fault: `it has more than ${IMPORT_LIMITS.depth} levels` };
  try {
    const value = JSON.parse(text) as Json;
    const unsafe = unsafeNameIn(value);
    return unsafe === undefined ? { value } : { fault: `"${unsafe}" cannot be the name of a member` };
  } catch (error) {
    return { fault: `it is not JSON: ${messageOf(error)}` };
  }
};

/** Without what the parser quotes of the text, which may be a secret. */
const messageOf = (error: unknown): string =>
  /position \d+|end of JSON input/.exec(error instanceof Error ? error.message : '')?.[0] ?? 'not at all';

const UNSAFE = ['__proto__', 'constructor', 'prototype'];

const unsafeNameIn = (value: Json): string | undefined => {
  if (typeof value !== 'object' || value === null) return undefined;
  for (const [name, member] of Object.entries(value)) {
    const found = UNSAFE.includes(name) ? name : unsafeNameIn(member);
    if (found !== undefined) return found;
  }
  return undefined;
};

/** Counts brackets outside of strings: a parser may take any depth, but what comes after it does not. */
const isDeeper = (text: string, max: number): boolean => {
  let depth = 0;
  let isInString = false;
  for (let index = 0; index < text.length; index += 1) {
    const character = text[index];
    if (character === '\\') index += 1;
    else if (character === '"') isInString = !isInString;
    else if (isInString) continue;
    else if (character === '[' || character === '{') depth += 1;
    else if (character === ']' || character === '}') depth -= 1;
    if (depth > max) return true;
  }
  return false;
};

/** A file begins with it at times; JSON does not take it. */
export const withoutMark = (text: string): string => text.replace(/^\uFEFF/, '');
