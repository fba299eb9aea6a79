import type { ActorRecord } from '../../src/actors/actor-record.ts';
import { canonicalJson } from '../../src/events/encode.ts';
import type { Json } from '../../src/events/json.ts';
import { AGENT } from '../../src/machines/agent-machine.ts';
import type { ExploredSystem } from '../../src/proofs/explored-system.ts';
import type { Reduce } from '../../src/proofs/reduce.ts';

/**
 * What a system comes down to in a scene. Finer than the keys of the explorer, which takes a resting agent for a resting agent however
 * its last request ended: here each state of a machine is one to come to.
 */
export const createSceneKeys = (
  reductionOf: (machine: string) => Reduce | undefined,
): ((system: ExploredSystem) => string) => {
  // Most actors of a state are those of the state before it.
  const known = new WeakMap<ActorRecord, string>();
  const keyOf = (record: ActorRecord): string => {
    const found = known.get(record);
    if (found !== undefined) return found;
    const key = canonicalJson([placeOf(record.address), record.machine, ...stateOf(record, reductionOf)]);
    known.set(record, key);
    return key;
  };
  return (system) => {
    const active = [...system.actors.values()].filter(({ status }) => status === 'active');
    return `${system.verdict()} ${active.map(keyOf).sort().join(' ')}`;
  };
};

/** A child that was started anew has a number in its address: only one of them is active. */
const placeOf = (address: string): string => address.replaceAll(/~\d+/g, '');

const stateOf = (
  { snapshot, waits, machine }: ActorRecord,
  reductionOf: (machine: string) => Reduce | undefined,
): readonly Json[] => {
  const context = snapshot?.context as Json; // What a machine keeps is what the log can hold.
  const reduce = reductionOf(machine);
  return [
    snapshot?.value ?? null,
    reduce ? reduce(context) : context,
    machine === AGENT ? (context as { readonly rest: string }).rest : null,
    Object.keys(waits.calls).sort(),
    Object.keys(waits.timers).sort(),
    Object.keys(waits.children).sort(),
  ];
};
