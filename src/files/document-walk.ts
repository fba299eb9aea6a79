import { type Alias, isAlias, isMap, isScalar, isSeq, type Node, type Pair, type YAMLMap } from 'yaml';
import type { FileProblem } from '../errors.ts';
import type { Json } from '../events/json.ts';
import { define, UNSAFE_KEYS } from '../events/members.ts';
import { type Path, type Place, problemAt } from './place.ts';

const DEPTH_MAX = 40;
/** Values of all kinds together: aliases count as what they stand for. */
const VALUES_MAX = 10_000;

export const TOO_DEEP = { problem: 'it has too many levels', allowed: `at most ${DEPTH_MAX}` };

/** Makes JSON of a parsed document, and remembers where each value and key stands. What JSON has no word for is a problem. */
export class DocumentWalk {
  readonly problems: FileProblem[] = [];
  readonly #placeOf: (offset: number) => Place;
  readonly #values = new Map<string, Place>();
  readonly #keys = new Map<string, Place>();
  readonly #anchors = new Map<string, Node>();
  #count = 0;

  constructor(placeOf: (offset: number) => Place) {
    this.#placeOf = placeOf;
  }

  read(node: unknown, path: Path = []): Json {
    this.#values.set(keyOf(path), this.#placeOfNode(node));
    this.#count += 1;
    if (this.#count === VALUES_MAX + 1)
      this.#refuse(node, path, {
        problem: 'it has too many values',
        allowed: `at most ${VALUES_MAX}, aliases written out`,
      });
    if (this.#count > VALUES_MAX || !isNode(node)) return null;
    if (path.length > DEPTH_MAX) return this.#refuse(node, path, TOO_DEEP);
    if (isAlias(node)) return this.#readAlias(node, path);
    if (node.tag !== undefined)
      return this.#refuse(node, path, {
        problem: `it has the tag "${node.tag}"`,
        allowed: 'a value without a tag: nothing in a file is evaluated',
      });
    const value = this.#readPlain(node, path);
    if (node.anchor !== undefined) this.#anchors.set(node.anchor, node);
    return value;
  }

  /** Where a value begins, or the nearest around it that is there. */
  valueAt(path: Path): Place {
    return this.#values.get(keyOf(path)) ?? this.#around(path);
  }

  keyAt(path: Path): Place {
    return this.#keys.get(keyOf(path)) ?? this.valueAt(path);
  }

  #around(path: Path): Place {
    if (path.length === 0) return this.#placeOf(0);
    const above = path.slice(0, -1);
    return above.length === 0 ? this.valueAt(above) : this.keyAt(above);
  }

  #placeOfNode(node: unknown): Place {
    return this.#placeOf((isNode(node) ? node.range?.[0] : undefined) ?? 0);
  }

  #refuse(node: unknown, path: Path, found: { readonly problem: string; readonly allowed?: string }): null {
    this.problems.push(problemAt(this.#placeOfNode(node), path, found));
    return null;
  }

  #readAlias(alias: Alias, path: Path): Json {
    const target = this.#anchors.get(alias.source);
    if (target) return this.read(target, path);
    return this.#refuse(alias, path, {
      problem: `there is no anchor "&${alias.source}" that ends before it`,
    });
  }

  #readPlain(node: Node, path: Path): Json {
    if (isMap(node)) return this.#readMap(node, path);
    if (isSeq(node)) return node.items.map((item, index) => this.read(item, [...path, index]));
    const value: unknown = isScalar(node) ? node.value : undefined;
    if (value === null || typeof value === 'boolean') return value;
    if (typeof value === 'number' && Number.isFinite(value)) return value;
    if (typeof value === 'string' && value.isWellFormed()) return value;
    return this.#refuse(node, path, {
      problem: 'JSON has no such value',
      allowed: 'null, true, false, finite numbers, texts, lists and mappings',
    });
  }

  #readMap(map: YAMLMap, path: Path): Json {
    const object: Record<string, Json> = {};
    for (const { key: node, value } of map.items as readonly Pair[]) {
      const key = textOf(node);
      if (key === undefined) {
        const found = { problem: 'a key is not a text', allowed: 'a text: put it in quotes' };
        this.#refuse(node ?? map, path, found);
        continue;
      }
      const place = [...path, key];
      if (UNSAFE_KEYS.has(key) || !key.isWellFormed()) {
        this.#refuse(node, place, { problem: 'no member may have this name' });
        continue;
      }
      if (Object.hasOwn(object, key)) {
        this.#refuse(node, place, { problem: `"${key}" is there twice`, allowed: 'each key once' });
        continue;
      }
      this.#keys.set(keyOf(place), this.#placeOfNode(node));
      define(object, { key, isInherited: key in Object.prototype }, this.read(value, place));
    }
    return object;
  }
}

const keyOf = (path: Path): string => JSON.stringify(path);

const isNode = (value: unknown): value is Node =>
  isMap(value) || isSeq(value) || isScalar(value) || isAlias(value);

const textOf = (key: unknown): string | undefined =>
  isScalar(key) && typeof key.value === 'string' && key.tag === undefined ? key.value : undefined;
