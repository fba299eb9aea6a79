import { hashText } from './blob.ts';
import { canonicalJson } from './encode.ts';
import type { Json } from './json.ts';

/** What a person has before them when they answer. */
export interface Shown {
  readonly text: string;
  readonly details: unknown;
  readonly options: readonly unknown[];
  readonly isFree: boolean;
}

const LENGTH = 12;

/** A short name of what a question shows: text, details and options. Another question, or the same with anything else in it, has another. */
export const questionFingerprint = ({ text, details, options, isFree }: Shown): string =>
  // All of it comes from the log.
  hashText(canonicalJson({ text, details: details ?? null, options, isFree } as Json)).slice(0, LENGTH);
