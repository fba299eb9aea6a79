import type { OpenCall } from '../events/turn.ts';
import type { EventLog } from '../store/event-log.ts';
import type { Executors } from './executors.ts';
import type { Registry } from './registry.ts';
import type { Timers } from './timers.ts';

/**
 * Takes up what was open when the last runtime ended, however it ended. No actor is loaded for it: a call's input is in
 * its row. It costs what is open in the log, not what was ever written to it.
 */
export const recover = async (ports: RecoveryPorts): Promise<void> => {
  const { log, registry, executors, timers, warn, takesUp = () => true } = ports;
  const { calls, timers: open } = await log.openWork();
  const roots = createRootCheck(log, registry);
  for (const call of calls.filter(({ run }) => takesUp(run))) {
    const { run, machine, machineVersion } = call;
    const unknown = isKnown(registry, machine, machineVersion)
      ? await roots.unknownRoot(call)
      : { machine, version: machineVersion };
    if (!unknown) executors.start(call);
    else
      warn(
        `The run "${run}" is parked: version ${unknown.version} of "${unknown.machine}" is not registered.`,
      );
  }
  for (const timer of open) if (takesUp(timer.run)) timers.open(timer);
};

export interface RecoveryPorts {
  readonly log: EventLog;
  readonly registry: Registry;
  readonly executors: Executors;
  readonly timers: Timers;
  readonly warn: (warning: string) => void;
  /** Which runs are taken up; all unless set. */
  readonly takesUp?: (run: string) => boolean;
}

/** A call of a version that can neither be run nor migrated would be paid for, and its answer lost. */
const isKnown = (registry: Registry, machine: string, version: number): boolean =>
  registry.find(machine, version) !== undefined ||
  registry.newest(machine)?.workflow.options.migrations?.[version] !== undefined;

/** What a child is told goes on to the root of its run: a call of a child is worth nothing while its root is parked. */
const createRootCheck = (log: EventLog, registry: Registry) => {
  const unknownByRun = new Map<string, { readonly machine: string; readonly version: number } | undefined>();
  return {
    async unknownRoot({ run: id, actor }: OpenCall) {
      if (actor === id) return undefined;
      if (!unknownByRun.has(id)) {
        const run = await log.run(id);
        const isWell = !run || isKnown(registry, run.workflow, run.workflowVersion);
        unknownByRun.set(id, isWell ? undefined : { machine: run.workflow, version: run.workflowVersion });
      }
      return unknownByRun.get(id);
    },
  };
};
