import type { Address } from '../events/event.ts';
import { isJsonObject, type JsonObject } from '../events/json.ts';
import type { LimitName } from '../machines/limits.ts';

/** Limits that are to be others. */
export type ChangedLimits = { readonly [Name in LimitName]?: number | null };

/** A part of a run that has one limit of its own: a phase its failed passes, a loop among the nodes of a tree its repeats. */
export interface PartOfRun {
  readonly kind: 'phase' | 'node';
  readonly id: string;
  readonly limit: LimitName;
}

/** What a loop is started with, or what it knows: both have its limits in the same places. */
type Held = JsonObject;

const objectAt = (held: Held, key: string): JsonObject | undefined => {
  const value = Object.hasOwn(held, key) ? held[key] : undefined;
  return isJsonObject(value) ? value : undefined;
};

/** The part that has a bound of its own on this limit, if one of this name has. */
export const partNamed = (held: Held, id: string, limit: LimitName): PartOfRun | undefined => {
  const phases = objectAt(held, 'phases');
  if (limit === 'passes' && phases && objectAt(phases, id)) return { kind: 'phase', id, limit };
  const loop = loopOf(held, id);
  return limit === 'repeats' && loop?.['repeats'] != null ? { kind: 'node', id, limit } : undefined;
};

const nodesIn = (held: Held): readonly JsonObject[] => {
  const nodes = held['nodes'];
  return Array.isArray(nodes) ? nodes.filter(isJsonObject) : [];
};

const loopOf = (held: Held, id: string): JsonObject | undefined => {
  const node = nodesIn(held).find((each) => each['id'] === id);
  return node && objectAt(node, 'loop');
};

/** How a part is named where the address of a loop is asked for: no actor has such a one. */
export const addressOfPart = (run: string, { kind, id }: PartOfRun): Address => `${run}/${kind}:${id}`;

/** The part of a run that an address names. */
export const partAt = (held: Held, run: string, address: Address): PartOfRun | undefined => {
  const [, kind, id = ''] = /^(phase|node):(.*)$/s.exec(address.slice(run.length + 1)) ?? [];
  if (kind === 'phase') return partNamed(held, id, 'passes');
  return kind === 'node' && loopOf(held, id) ? { kind, id, limit: 'repeats' } : undefined;
};

/** The same with another bound for one part of it. */
export const withPart = (held: Held, { kind, id }: PartOfRun, bound: number | null): Held => {
  if (kind === 'phase') {
    const phases = objectAt(held, 'phases') ?? {};
    return { ...held, phases: { ...phases, [id]: { ...objectAt(phases, id), passes: bound } } };
  }
  return {
    ...held,
    nodes: nodesIn(held).map((node) =>
      node['id'] === id ? { ...node, loop: { ...objectAt(node, 'loop'), repeats: bound } } : node,
    ),
  };
};

/** The same with other limits; undefined if it has none. A run of stories has settings for all of them, and each story the same. */
export const withLimits = (held: Held, limits: ChangedLimits): Held | undefined => {
  const own = objectAt(held, 'limits');
  if (own) return { ...held, limits: merged(own, limits) };
  const settings = objectAt(held, 'settings');
  const ofStories = settings && objectAt(settings, 'limits');
  if (!ofStories) return undefined;
  const changed = { ...held, settings: { ...settings, limits: merged(ofStories, limits) } };
  return limits.reworks === undefined ? changed : withReworks(changed, limits.reworks);
};

const merged = (limits: JsonObject, changed: ChangedLimits): JsonObject => ({ ...limits, ...changed });

/** What a story has of its own stands before the settings: it is this that must be another for the story that is meant. */
const withReworks = (held: Held, max: number | null): Held => {
  const author = objectAt(held, 'author');
  if (!author) return held;
  // The file would be read again, and with it the limit that its author has set.
  const isFixed = objectAt(held, 'fixed') !== undefined || typeof held['file'] === 'string';
  return {
    ...held,
    ...(author['max'] != null && max !== null && { author: { ...author, max } }),
    ...(isFixed && { fixed: { max } }),
  };
};
