import { compilePattern, type PathKey, type PathPattern, type Places } from './path-pattern.ts';
import { isContainer, memberOf, type StateData } from './state-data.ts';

/** One place in a projection's state that is not what it was. */
export interface Change {
  /** The keys with dots between them. A key may have a dot itself: `segments` tells them apart. */
  readonly path: string;
  readonly segments: readonly PathKey[];
  /** Undefined if it is no longer there. */
  readonly value: unknown;
  /** Undefined if it was not there before. */
  readonly old: unknown;
  /** Of the event that made the change. */
  readonly position: number;
}

/** A projection's state on both sides of an event. Parts that the event left alone are the same objects. */
export interface Step {
  readonly before: StateData;
  readonly after: StateData;
  readonly position: number;
}

/**
 * What a step changed, as far as a pattern asks for it. Each difference (a value that is another, came or went) tells the
 * deepest path that leads to it and matches: the one that set `agents` as a whole tells a watcher of `agents.*.status`
 * of each status in it that is another now, and one that set `agents.dev.status` tells a watcher of `agents.dev`. A path is
 * told once for each step. It makes no difference to a watcher how the fold wrote it.
 *
 * Costs what changed, not the size of the state: equal objects are passed over, and so is what the pattern cannot reach.
 */
export const changesIn = ({ before, after, position }: Step, pattern: PathPattern): readonly Change[] => {
  const changes: Change[] = [];
  compare(before, after, { places: pattern.start, key: '', parent: undefined, above: undefined });
  return changes;

  function compare(old: unknown, value: unknown, trail: Trail): void {
    const match = pattern.isMatch(trail.places) ? { old, value, trail, isTold: false } : trail.above;
    const isDeadEnd = trail.places.length === 0;
    // Nobody asks for what is below, or whatever is different there would tell the same path again.
    if (isDeadEnd && (match === undefined || match.isTold)) return;
    if (kindOf(old) !== kindOf(value) || !isContainer(value)) tell(match);
    if (isContainer(value)) compareMembers(old, value, { ...trail, above: match });
    if (isContainer(old)) compareGone(old, value, { ...trail, above: match });
  }

  function compareMembers(old: unknown, value: StateData, parent: Trail): void {
    const container = isContainer(old) ? old : NOTHING;
    for (const key of Object.keys(value)) {
      // Most members are untouched. (What is not a member of the old value, but of every object, is never the same as data.)
      if (Object.is(container[key], value[key])) continue;
      compare(memberOf(container, key), value[key], below(parent, Array.isArray(value), key));
    }
  }

  function compareGone(old: StateData, value: unknown, parent: Trail): void {
    const container = isContainer(value) ? value : NOTHING;
    for (const key of Object.keys(old)) {
      if (Object.hasOwn(container, key)) continue;
      compare(memberOf(old, key), undefined, below(parent, Array.isArray(old), key));
    }
  }

  function below(parent: Trail, isIndex: boolean, key: string): Trail {
    const places = pattern.step(parent.places, key);
    return { places, key: isIndex ? Number(key) : key, parent, above: parent.above };
  }

  function tell(match: Match | undefined): void {
    if (match === undefined || match.isTold) return;
    match.isTold = true;
    const segments = segmentsOf(match.trail);
    changes.push({ path: segments.join('.'), segments, value: match.value, old: match.old, position });
  }
};

const ANYTHING = compilePattern('**');

/** Whether both sides of a step hold the same data, be it in other objects. */
export const changesNothing = (step: Step): boolean => changesIn(step, ANYTHING).length === 0;

/** The way to a place in the state. */
interface Trail {
  readonly places: Places;
  readonly key: PathKey;
  /** Undefined for the root, which has no key. */
  readonly parent: Trail | undefined;
  /** The deepest match on the way here. */
  readonly above: Match | undefined;
}

/** A path that matches, and whether it was told already. */
interface Match {
  readonly old: unknown;
  readonly value: unknown;
  readonly trail: Trail;
  isTold: boolean;
}

const NOTHING: StateData = {};

const segmentsOf = ({ parent, key }: Trail): readonly PathKey[] =>
  parent === undefined ? [] : [...segmentsOf(parent), key];

const kindOf = (value: unknown): 'array' | 'object' | 'scalar' => {
  if (!isContainer(value)) return 'scalar';
  return Array.isArray(value) ? 'array' : 'object';
};
