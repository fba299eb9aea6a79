import type { ActorRecord, Waits } from '../../src/actors/actor-record.ts';
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
  one === other || (one.generation === other.generation && JSON.stringify(one) === JSON.stringify(other));

/** The order of keys counts: a machine that goes through those of its context must find them as they were. */
const isSameSnapshot = (one: Snapshot | null, other: Snapshot | null): boolean =>
  one === other || (one !== null && other !== null && describeSnapshot(one) === describeSnapshot(other));

const describeSnapshot = ({ value, context, status, output, tags }: Snapshot): string =>
  JSON.stringify([value, context, status, output, [...tags]]);
