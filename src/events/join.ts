import type { Encoded } from './encode.ts';
import type { Json } from './json.ts';

/**
 * An object of values that are encoded already, without encoding them again: an agent's answer is often large, and stands in
 * several rows. The members must come in canonical order.
 */
export const joined = (members: readonly (readonly [key: string, content: Encoded])[]): Encoded => {
  const value: Record<string, Json> = {};
  let json = '{';
  for (const [key, content] of members) {
    value[key] = content.value;
    json += `${json.length === 1 ? '' : ','}"${key}":${content.json}`;
  }
  return { value, json: `${json}}` };
};

/** A string, number or null as an encoded value. */
export const plain = (value: string | number | null): Encoded => ({ value, json: JSON.stringify(value) });
