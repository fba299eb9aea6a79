import { createRegistry, type Registry } from './actors/registry.ts';
import type { Parts } from './assembly.ts';
import type { AuditFilter } from './audit/audit-filter.ts';
import { type AuditTrail, auditTrail } from './audit/audit-trail.ts';
import { type CompareOptions, type Comparison, compareMachines } from './audit/compare.ts';
import { recordedCalls as callsOfRun, type RecordedCall } from './audit/recorded-calls.ts';
import { createReplay, type Replay } from './audit/replay.ts';
import type { WhatIfOptions } from './audit/what-if-options.ts';
import { type Why, whyOfSubject } from './audit/why.ts';
import { type Branch, openBranch } from './branch.ts';
import { createRedactor, type Redactor } from './events/redact.ts';
import { OWN_ACTORS } from './machines/own-actors.ts';
import type { Workflow } from './machines/workflow.ts';
import { OWN_PROJECTIONS } from './projections/own-projections.ts';
import type { Projection } from './projections/projection.ts';
import type { Runtime } from './runtime-api.ts';
import type { EventLog } from './store/event-log.ts';

/** What a runtime can tell of what was, and of what would have been. Nothing of it writes to the log. */
export interface LookingBack {
  /**
   * Who did what, when, why, caused by what, decided by which limit or person, and what it changed: by run, loop, agent,
   * requirement and time. As Markdown, or as JSON.
   *
   * @throws {RuntimeError} UNKNOWN_RUN, BAD_OPTION
   */
  auditOf(filter?: AuditFilter): Promise<AuditTrail>;
  /**
   * Why an event came (its id or position), why a run waits or has ended (its id), or what became of an actor or question (its
   * address): the chain of causes, the limit with the events that it counted, and the commands that let it go on.
   *
   * @throws {RuntimeError} UNKNOWN_RUN, UNKNOWN_ACTOR, BAD_OPTION
   */
  why(subject: string | number): Promise<Why>;
  /** The log, or one run of it, to be lived once more: to any position, step by step, or played at any speed. */
  replay(options?: { readonly run?: string }): Replay;
  /**
   * What would have been: a branch of a run with another answer, limits or machine, in a log of its own. Recorded answers are
   * used again for whoever asks for the same; calls that were never made are listed, or made if asked for.
   *
   * @throws {RuntimeError} UNKNOWN_RUN, BAD_BRANCH with everything that is wrong, BAD_OPTION, FILE_EXISTS, REPLAY_DIVERGED
   */
  whatIf(run: string, options?: WhatIfOptions): Promise<Branch>;
  /**
   * Lives stored runs again under other machines, with recorded answers, and says of each whether it is identical, goes another
   * way, ends otherwise, leaves an event unhandled or exceeds a limit, with the first difference. Nothing is called.
   */
  compareMachines(options?: CompareOptions): Promise<readonly Comparison[]>;
  /** Takes the secrets that were declared out of a text, as everything that comes in has them taken out. */
  readonly redactor: Redactor;
}

export interface LookingBackPorts {
  readonly parts: Parts;
  /** Throws if the runtime is closed. */
  readonly mustBeOpen: (action: string) => void;
  /** Opens a runtime on parts that are there already: those of a branch. */
  readonly open: (parts: Parts) => Promise<Runtime>;
}

export const lookBack = ({ parts, mustBeOpen, open }: LookingBackPorts): LookingBack => ({
  async auditOf(filter = {}) {
    mustBeOpen('auditOf');
    return auditTrail(parts, filter);
  },
  async why(subject) {
    mustBeOpen('why');
    return whyOfSubject(parts, subject);
  },
  replay({ run } = {}) {
    mustBeOpen('replay');
    const { log, registry, options } = parts;
    const projections = [...OWN_PROJECTIONS, ...(options.projections ?? [])];
    return createReplay({ log, registry, projections, ...(run !== undefined && { run }) });
  },
  async whatIf(run, options = {}) {
    mustBeOpen('whatIf');
    return openBranch(parts, open, { run, options });
  },
  async compareMachines(options = {}) {
    mustBeOpen('compareMachines');
    return compareMachines(parts, options);
  },
  redactor: createRedactor(parts.options.secrets ?? {}),
});

/** What it takes to read a log without a runtime: see `openLog`. */
export interface LogReader {
  /** The workflows that the log was made with, and those that they invoke. */
  readonly workflows: readonly Workflow[];
  readonly projections?: readonly Projection[];
}

const registryOf = (workflows: readonly Workflow[]): Registry => {
  const registry = createRegistry();
  registry.register(OWN_ACTORS);
  registry.register(workflows);
  return registry;
};

/**
 * The audit of a log that somebody else may be writing: `auditOf(await openLog(file), { run })`. Without workflows it does not
 * say what events changed in contexts.
 *
 * @throws {RuntimeError} UNKNOWN_RUN, BAD_OPTION
 */
export const auditOf = (
  log: EventLog,
  filter: AuditFilter = {},
  { workflows }: Pick<LogReader, 'workflows'> = { workflows: [] },
): Promise<AuditTrail> => auditTrail({ log, registry: registryOf(workflows) }, filter);

/** A log that somebody else may be writing, to be lived once more. */
export const replay = (
  log: EventLog,
  { workflows, projections = [], run }: LogReader & { readonly run?: string },
): Replay =>
  createReplay({
    log,
    registry: registryOf(workflows),
    projections: [...OWN_PROJECTIONS, ...projections],
    ...(run !== undefined && { run }),
  });

/** No log has a run that met another cap without saying so. */
const NO_CAP = { deliveriesPerTurn: Number.MAX_SAFE_INTEGER, turnsPerRun: Number.MAX_SAFE_INTEGER };

/**
 * What the agents of a recorded run were asked, and what they answered, in the order of the answers. `loopwright/testing` makes
 * agents of it.
 *
 * @throws {RuntimeError} UNKNOWN_RUN; REPLAY_DIVERGED or MACHINE_MISSING if the workflows are not those of the run
 */
export const recordedCalls = (
  log: EventLog,
  { run, workflows }: Pick<LogReader, 'workflows'> & { readonly run: string },
): Promise<readonly RecordedCall[]> =>
  callsOfRun({ log, registry: registryOf(workflows), limits: NO_CAP }, run);
