import { isJsonObject, type Json } from './json.ts';

/**
 * What an agent was given, as a text. What loops give has a member `prompt` with all of it in words; what that only refers to, since it
 * is long, comes after it.
 */
export const inputInWords = (input: Json): string => {
  const prompt = isJsonObject(input) ? input['prompt'] : undefined;
  if (!isJsonObject(input) || typeof prompt !== 'string') return asText(input);
  const meant = Object.entries(input).filter(([name]) =>
    prompt.includes(`what "${name}" of your input says`),
  );
  return [prompt, ...meant.map(([name, value]) => `\n"${name}" of your input:\n\n${asText(value)}`)].join(
    '\n',
  );
};

/** A text as it is, anything else as JSON for people. */
export const asText = (value: Json): string =>
  typeof value === 'string' ? value : JSON.stringify(value, null, 2);
