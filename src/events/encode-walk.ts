import { isRuntimeError, RuntimeError } from '../errors.ts';
import { isLongerThan } from './bytes.ts';
import type { Encoded, EncodeLimits, EncodeOptions } from './encode.ts';
import type { Json } from './json.ts';
import { define, inOrder, type Member, membersOf } from './members.ts';
import { describe, describeObject, type Path, pathText } from './payload-path.ts';

/** What is longer is looked at last: V8 makes a string of each index to list them, which costs more than the walk. */
const LONG_ARRAY = 1_000;

/** What is longer is written at once: many small pieces take much memory until V8 joins them. */
const ITEMS_WRITTEN_SINGLY_MAX = 16;

/** What a member takes beside its key and value: two quotes, a colon, and a comma or bracket. */
const MEMBER_BYTES = 4;

/** All but the characters that stand in JSON as they are: quote, backslash, controls, and halves of surrogate pairs. */
const NEEDS_CARE = /[^ !#-[\]-\ud7ff\ue000-\uffff]/;

/** Undefined for a data property. For the items of an array it is five times as fast as a descriptor. */
const lookupGetter: (this: unknown, key: PropertyKey) => unknown = Reflect.get(
  Object.prototype,
  '__lookupGetter__',
);

/** One walk over one value, which copies and writes it. Where it is at any time is the path of an error. */
export class Walk {
  readonly #options: EncodeOptions;
  readonly #limits: EncodeLimits;
  /** The arrays and objects around the value in hand, outermost first. */
  readonly #open: object[] = [];
  /** For each of them, the key or index that the walk is at. */
  readonly #path: (string | number)[] = [];
  #longArrays: { readonly items: readonly unknown[]; readonly path: Path }[] | undefined;
  #json = '';
  /** Within an array that will be written at once, what its items add to the text is not kept. */
  #discards = false;
  /** At least so many bytes will be written for what was seen so far. */
  #bytes = 0;
  #keys = 0;
  /** What this walk itself has thrown, as opposed to the value that it walks. */
  #failure: unknown;

  constructor(options: EncodeOptions, limits: EncodeLimits) {
    this.#options = options;
    this.#limits = limits;
  }

  run(value: unknown): Encoded {
    try {
      const copy = this.#copy(value, undefined);
      for (const { items, path } of this.#longArrays ?? []) this.#refuseExtras(items, path);
      if (isLongerThan(this.#json, this.#limits.bytes)) throw this.#tooLarge('bytes', this.#limits.bytes);
      return { value: copy, json: this.#json };
    } catch (error) {
      if (this.#failure !== undefined && error === this.#failure) throw error;
      throw this.#unsupported('a value that throws when it is read');
    }
  }

  #copy(value: unknown, key: string | undefined): Json {
    switch (typeof value) {
      case 'string':
        return this.#options.onString === undefined ? this.#copyString(value) : this.#askOnString(value, key);
      case 'number':
        if (!Number.isFinite(value) || Object.is(value, -0)) break;
        return this.#copyNumber(value);
      case 'boolean':
        this.#spend(4);
        this.#json += value ? 'true' : 'false';
        return value;
      case 'object':
        if (value !== null) return this.#copyContainer(value);
        this.#spend(4);
        this.#json += 'null';
        return null;
      default:
    }
    throw this.#unsupported(describe(value));
  }

  #copyNumber(value: number): number {
    const text = String(value);
    this.#spend(text.length);
    this.#json += text;
    return value;
  }

  #copyString(text: string): string {
    this.#spend(text.length + 2);
    if (!NEEDS_CARE.test(text)) this.#json += `"${text}"`;
    else if (text.isWellFormed()) this.#json += JSON.stringify(text);
    else throw this.#unsupported('a string with half a surrogate pair');
    return text;
  }

  #copyContainer(value: object): Json {
    if (this.#open.length >= this.#limits.depth) throw this.#tooDeep(value);
    this.#spend(1);
    const prototype: unknown = Object.getPrototypeOf(value);
    if (Array.isArray(value)) {
      if (prototype === Array.prototype) return this.#copyArray(value);
    } else if (prototype === Object.prototype || prototype === null) {
      return this.#copyObject(value);
    }
    throw this.#unsupported(describeObject(prototype));
  }

  #copyArray(items: readonly unknown[]): Json {
    const { length } = items;
    // Each item takes two bytes at least. Without this, an array of a billion holes would be walked.
    if (length * 2 > this.#limits.bytes - this.#bytes) throw this.#tooLarge('bytes', this.#limits.bytes);
    this.#spend(length);
    const copy: Json[] = [];
    const before = this.#json;
    const wasDiscarded = this.#discards;
    this.#discards ||= length > ITEMS_WRITTEN_SINGLY_MAX;
    this.#json += '[';
    const depth = this.#open.push(items) - 1;
    for (let index = 0; index < length; index += 1) {
      this.#path[depth] = index;
      if (lookupGetter.call(items, index) !== undefined) throw this.#unsupported('a getter');
      const item = items[index];
      if (typeof item === 'object' && item !== null) this.#countKeys(1);
      if (this.#discards) this.#json = '';
      else if (index > 0) this.#json += ',';
      copy.push(this.#copy(item, undefined));
    }
    this.#open.pop();
    if (this.#discards && !wasDiscarded) this.#json = before + JSON.stringify(copy);
    else this.#json += ']';
    this.#discards = wasDiscarded;
    if (length <= LONG_ARRAY) this.#refuseExtras(items, undefined);
    else (this.#longArrays ??= []).push({ items, path: this.#where() });
    return copy;
  }

  /** Indices come first in the list of keys, then `length`: if that stands after the last index, there are no holes. */
  #refuseExtras(items: readonly unknown[], path: Path | undefined): void {
    const keys = Reflect.ownKeys(items);
    if (keys[items.length] !== 'length') throw this.#unsupported('an array with holes', path);
    if (keys.length !== items.length + 1)
      throw this.#unsupported('an array with members beside its items', path);
  }

  #copyObject(value: object): Json {
    const keys = Object.keys(value);
    // Counted before the hidden ones are listed, which takes three times as long if there are many.
    this.#countKeys(keys.length);
    if (Object.getOwnPropertyNames(value).length !== keys.length) {
      throw this.#unsupported('an object with members that are not enumerable');
    }
    if (Object.getOwnPropertySymbols(value).length > 0)
      throw this.#unsupported('an object with symbols as keys');
    // Spent before they are sorted and quoted, since a key may be of any length.
    for (const key of keys) this.#spend(key.length + MEMBER_BYTES);
    const copy: Record<string, Json> = {};
    const depth = this.#open.push(value) - 1;
    let isEmpty = true;
    for (const member of membersOf(keys)) {
      this.#path[depth] = member.key;
      const content = this.#read(value, member);
      if (content === undefined && this.#options.undefinedMembers === 'drop') {
        this.#bytes -= member.key.length + MEMBER_BYTES;
        continue;
      }
      this.#json += isEmpty ? member.first : member.next;
      isEmpty = false;
      define(copy, member, this.#copyMember(member.key, content));
    }
    this.#json += isEmpty ? '{}' : '}';
    this.#open.pop();
    return copy;
  }

  #read(value: object, { key, problem }: Member): unknown {
    if (problem !== undefined) throw this.#unsupported(problem);
    const property = Object.getOwnPropertyDescriptor(value, key);
    if (property === undefined || !('value' in property)) throw this.#unsupported('a getter or setter');
    return property.value;
  }

  #copyMember(key: string, content: unknown): Json {
    if (this.#options.onMember === undefined) return this.#copy(content, key);
    const given = this.#ask(() => this.#options.onMember?.(key, content));
    return given === undefined ? this.#copy(content, key) : this.#take(given);
  }

  #askOnString(text: string, key: string | undefined): Json {
    return this.#take(this.#ask(() => this.#options.onString?.(text, key) ?? null));
  }

  #ask<Answer>(hook: () => Answer): Answer {
    try {
      return hook();
    } catch (error) {
      if (isRuntimeError(error, 'PAYLOAD_UNSUPPORTED')) throw this.#unsupported(error.fields.found);
      if (isRuntimeError(error, 'PAYLOAD_TOO_LARGE'))
        throw this.#tooLarge(error.fields.what, error.fields.limit);
      this.#failure = error;
      throw error;
    }
  }

  /** Takes what a hook gave in place of a value. */
  #take(given: Json): Json {
    if (typeof given === 'string') return this.#copyString(given);
    const ordered = inOrder(given);
    const text = JSON.stringify(ordered);
    this.#spend(text.length);
    this.#json += text;
    return ordered;
  }

  #spend(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > this.#limits.bytes) throw this.#tooLarge('bytes', this.#limits.bytes);
  }

  #countKeys(keys: number): void {
    this.#keys += keys;
    if (this.#keys > this.#limits.keys) throw this.#tooLarge('keys', this.#limits.keys);
  }

  #where(): Path {
    return this.#path.slice(0, this.#open.length);
  }

  #unsupported(found: string, path: Path = this.#where()): unknown {
    this.#failure = new RuntimeError('PAYLOAD_UNSUPPORTED', { path: this.#textOf(path), found });
    return this.#failure;
  }

  #tooLarge(what: keyof EncodeLimits, limit: number): unknown {
    this.#failure = new RuntimeError('PAYLOAD_TOO_LARGE', { path: this.#textOf(this.#where()), what, limit });
    return this.#failure;
  }

  /** A value that contains itself has no end to its depth: it is named as what it is, where it first comes again. */
  #tooDeep(value: object): unknown {
    const all = [...this.#open, value];
    const again = all.findIndex((container, depth) => all.indexOf(container) < depth);
    if (again === -1) return this.#tooLarge('depth', this.#limits.depth);
    return this.#unsupported('an object that contains itself', this.#path.slice(0, again));
  }

  #textOf(path: Path): string {
    return pathText(this.#options.root ?? 'payload', path);
  }
}
