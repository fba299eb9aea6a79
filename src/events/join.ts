import type { Encoded } from './encode.ts';
import type { Json } from './json.ts';

type Members = readonly (readonly [key: string, content: Encoded])[];

/** Its text is made when somebody asks for it. */
class JoinedEncoded implements Encoded {
  readonly value: Json;
  readonly #members: Members;

  constructor(members: Members) {
    const value: Record<string, Json> = {};
    for (const [key, content] of members) value[key] = content.value;
    this.value = value;
    this.#members = members;
  }

  get json(): string {
    let json = '{';
    for (const [key, content] of this.#members)
      json += `${json.length === 1 ? '' : ','}"${key}":${content.json}`;
    return `${json}}`;
  }
}

/**
 * An object of values that are encoded already, without encoding them again: an agent's answer is often large, and stands in
 * several rows. The members must come in canonical order.
 */
export const joined = (members: Members): Encoded => new JoinedEncoded(members);

/** A string, number or null as an encoded value. */
export const plain = (value: string | number | null): Encoded => ({ value, json: JSON.stringify(value) });
