import { isBlobRef, largeInWords } from '../events/blob.ts';
import { isJsonObject, type Json } from '../events/json.ts';

const TEXT_LENGTH_MAX = 200;

/** A value as a short text, whatever it is. */
export const short = (value: unknown, lengthMax = TEXT_LENGTH_MAX): string => {
  const text = typeof value === 'string' ? value : textOf(value);
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`;
};

const textOf = (value: unknown): string => {
  if (value === undefined) return 'nothing';
  // What is shown here came from rows and contexts.
  return isBlobRef(value) ? largeInWords(value) : JSON.stringify(value);
};

/** The text that an object has under a key, if it has one. */
export const textIn = (value: Json | undefined, key: string): string | undefined =>
  isJsonObject(value) && typeof value[key] === 'string' ? value[key] : undefined;

/** The texts of a list; none if it is not one. */
export const textsIn = (value: Json | undefined): readonly string[] =>
  Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
