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
  compare({ old: before, value: after, segments: [], places: pattern.start, above: undefined });
  return changes;

  function compare({ old, value, segments, places, above }: Visit): void {
    if (Object.is(old, value)) return;
    const here = pattern.isMatch(places) ? { old, value, segments, isTold: false } : above;
    if (here === undefined && places.length === 0) return;
    // Whatever else is different below would tell the same path again.
    if (here?.isTold === true && places.length === 0) return;
    if (kindOf(old) !== kindOf(value) || !isContainer(value)) tell(here);
    for (const key of keysOf(old, value)) {
      const step = { old: childOf(old, key), value: childOf(value, key) };
      if (Object.is(step.old, step.value)) continue;
      const next = pattern.step(places, key);
      compare({ ...step, segments: [...segments, segmentOf(old, value, key)], places: next, above: here });
    }
  }

  function tell(match: Match | undefined): void {
    if (match === undefined || match.isTold) return;
    match.isTold = true;
    const { segments, value, old } = match;
    changes.push({ path: segments.join('.'), segments, value, old, position });
  }
};

const ANYTHING = compilePattern('**');

/** Whether both sides of a step hold the same data, be it in other objects. */
export const changesNothing = (step: Step): boolean => changesIn(step, ANYTHING).length === 0;

/** A path that matches, and whether it was told already. */
interface Match {
  readonly old: unknown;
  readonly value: unknown;
  readonly segments: readonly PathKey[];
  isTold: boolean;
}

interface Visit extends Omit<Match, 'isTold'> {
  readonly places: Places;
  /** The deepest match on the way here. */
  readonly above: Match | undefined;
}

const kindOf = (value: unknown): 'array' | 'object' | 'scalar' => {
  if (!isContainer(value)) return 'scalar';
  return Array.isArray(value) ? 'array' : 'object';
};

const childOf = (value: unknown, key: string): unknown =>
  isContainer(value) ? memberOf(value, key) : undefined;

/** A number if the key is one of an array. */
const segmentOf = (old: unknown, value: unknown, key: string): PathKey =>
  Array.isArray(isContainer(value) && Object.hasOwn(value, key) ? value : old) ? Number(key) : key;

/** The keys of the newer value in its order, then those that only the older one has. */
function keysOf(old: unknown, value: unknown): readonly string[] {
  const newer = isContainer(value) ? Object.keys(value) : [];
  if (!isContainer(old)) return newer;
  const gone = Object.keys(old).filter((key) => !isContainer(value) || !Object.hasOwn(value, key));
  return gone.length === 0 ? newer : [...newer, ...gone];
}
