import { isBlobRef, largeInWords } from '../events/blob.ts';
import { delivery, type PureFunction } from '../events/delivery.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import { problemsNow, type StandardSchema } from '../events/standard-schema.ts';

/** A schema as a function of a workflow: it gives what is wrong, in words. */
export const asFunction =
  (schema: StandardSchema): PureFunction =>
  (value) =>
    problemsNow(schema, value);

/** Whether a schema lets wait for its answer, as far as it shows. */
export const isAsynchronous = (schema: StandardSchema): boolean => {
  try {
    const result = schema['~standard'].validate(undefined);
    if (!('then' in result)) return false;
    // Nobody waits for it: should it be rejected, that must not end the process.
    void result.then(undefined, () => undefined);
    return true;
  } catch {
    return false;
  }
};

/** A text is as long as it is, up to so many characters: long enough for what a shape may ask of it. */
const STANDIN_LENGTH_MAX = 10_000;

/** The log keeps large texts elsewhere. A shape is shown a text that stands for each: it is not there to be read. */
const shownTo = (value: Json): Json => {
  if (isBlobRef(value)) return largeInWords(value).padEnd(Math.min(value.bytes, STANDIN_LENGTH_MAX), '.');
  if (Array.isArray(value)) return value.map((item: Json) => shownTo(item));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, shownTo(child)]));
};

/**
 * What a function of the workflow finds wrong with a value.
 *
 * @throws whatever the function throws
 */
export const shapeProblems = (name: string, value: Json): readonly Json[] => {
  const { functions } = delivery();
  const found = Object.hasOwn(functions, name) ? functions[name]?.(shownTo(value)) : undefined;
  if (found === undefined) throw new Error(`there is no function "${name}"`);
  if (found === null || found === true || found === '') return [];
  if (found === false) return [`it is refused by "${name}"`];
  return Array.isArray(found) ? found : [found];
};
