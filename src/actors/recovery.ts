import type { OpenCall, Recorded } from '../events/turn.ts';
import type { EventLog } from '../store/event-log.ts';
import type { Executors } from './executors.ts';
import type { Registry } from './registry.ts';
import type { Timers } from './timers.ts';

/**
 * Takes up what was open when the last runtime ended, however it ended. No actor is loaded for it: a call's input is in
 * its row. It costs what is open in the log, not what was ever written to it.
 */
export const recover = async ({ log, registry, executors, timers, warn }: RecoveryPorts): Promise<void> => {
  const { calls, timers: open } = await log.openWork();
  for (const call of calls) {
    if (isKnown(registry, call)) executors.start(call);
    else
      warn(
        `The run "${call.run}" is parked: version ${call.machineVersion} of "${call.machine}" is not registered.`,
      );
  }
  for (const timer of open) timers.open(timer);
};

export interface RecoveryPorts {
  readonly log: EventLog;
  readonly registry: Registry;
  readonly executors: Executors;
  readonly timers: Timers;
  readonly warn: (warning: string) => void;
}

/** A call of a version that can neither be run nor migrated would be paid for, and its answer lost. */
const isKnown = (registry: Registry, { machine, machineVersion }: Recorded<OpenCall>): boolean =>
  registry.find(machine, machineVersion) !== undefined ||
  registry.newest(machine)?.workflow.options.migrations?.[machineVersion] !== undefined;
