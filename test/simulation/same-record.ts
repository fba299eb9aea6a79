import type { ActorRecord, Timer, Waits } from '../../src/actors/actor-record.ts';
import type { Snapshot } from '../../src/actors/xstate-adapter.ts';

/** Whether two records are of one actor in one state: as the log says it, and as memory does. */
export const isSameRecord = (one: ActorRecord, other: ActorRecord): boolean =>
  one === other ||
  (one.version === other.version &&
    one.status === other.status &&
    one.address === other.address &&
    one.run === other.run &&
    one.machine === other.machine &&
    one.machineVersion === other.machineVersion &&
    one.parent === other.parent &&
    one.childId === other.childId &&
    isSameWaits(one.waits, other.waits) &&
    isSameSnapshot(one.snapshot, other.snapshot));

const isSameWaits = (one: Waits, other: Waits): boolean =>
  one === other ||
  (one.generation === other.generation &&
    isSameTable(one.calls, other.calls, isSame) &&
    isSameTable(one.timers, other.timers, isSameTimer) &&
    isSameTable(one.children, other.children, isSame) &&
    isSameTable(one.childCounts, other.childCounts, isSame));

const isSame = (one: unknown, other: unknown): boolean => one === other;

const isSameTimer = (one: Timer, other: Timer): boolean =>
  one.generation === other.generation &&
  one.dueMs === other.dueMs &&
  JSON.stringify(one.event) === JSON.stringify(other.event);

const isSameTable = <Value>(
  one: Readonly<Record<string, Value>>,
  other: Readonly<Record<string, Value>>,
  isSameValue: (one: Value, other: Value) => boolean,
): boolean => {
  const keys = Object.keys(one);
  if (keys.length !== Object.keys(other).length) return false;
  return keys.every((key) => {
    const [value, otherValue] = [one[key], other[key]];
    return value !== undefined && otherValue !== undefined && isSameValue(value, otherValue);
  });
};

/** The order of keys counts: a machine that goes through those of its context must find them as they were. */
const isSameSnapshot = (one: Snapshot | null, other: Snapshot | null): boolean =>
  one === other || (one !== null && other !== null && describeSnapshot(one) === describeSnapshot(other));

const describeSnapshot = ({ value, context, status, output, tags }: Snapshot): string =>
  JSON.stringify([value, context, status, output, [...tags]]);
