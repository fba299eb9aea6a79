import { existsSync } from 'node:fs';
import { v7 as uuid } from 'uuid';
import { workOf } from '../actors/agent-answer.ts';
import type { Registry } from '../actors/registry.ts';
import type { Outcome } from '../actors/stimulus.ts';
import type { KernelLimits } from '../actors/turn.ts';
import { RuntimeError } from '../errors.ts';
import { blobRefsIn } from '../events/blob.ts';
import type { Door } from '../events/door.ts';
import { decode } from '../events/encode.ts';
import type { OpenCall, Turn, Verdict } from '../events/turn.ts';
import type { EventLog } from '../store/event-log.ts';
import { createMemoryLog } from '../store/memory/memory-log.ts';
import { openSqliteLog } from '../store/sqlite/sqlite-log.ts';
import { addedTo, replacedIn } from './changed-registry.ts';
import { checkedChanges } from './changes.ts';
import type { Difference } from './difference.ts';
import { liveAgain, type Past } from './past.ts';
import { type RerunResult, rerun } from './rerun.ts';
import type { NeededCall, WhatIfOptions } from './what-if-options.ts';
import { type Taken, World } from './world.ts';

export interface WhatIfPorts {
  readonly log: EventLog;
  readonly registry: Registry;
  readonly limits: KernelLimits;
  readonly door: Door;
}

/** A run that was lived again with something changed, in a log of its own. */
export interface Branched {
  /** No id of the log can be like it: the ids of its turns, events and calls begin with it. */
  readonly id: string;
  readonly run: string;
  readonly log: EventLog;
  readonly registry: Registry;
  readonly lastAtMs: number;
  /** Null while it is open. */
  readonly verdict: Verdict | null;
  readonly difference: Difference | null;
  readonly reused: number;
  readonly needs: readonly NeededCall[];
  readonly unsent: readonly string[];
  /** What an agent said in the past to whoever asks for the same: each answer once. */
  readonly recorded: (call: OpenCall) => Outcome | undefined;
  readonly needOf: (call: OpenCall) => NeededCall;
}

/**
 * Makes a branch of a run: everything up to the change as it was, then whatever follows from it with the answers that are known.
 * The log that it comes from is only read.
 *
 * @throws {RuntimeError} UNKNOWN_RUN, BAD_BRANCH, BAD_OPTION, FILE_EXISTS, MACHINE_REFUSED, MACHINE_MISSING, REPLAY_DIVERGED
 */
export const branchOf = async (
  ports: WhatIfPorts,
  run: string,
  options: WhatIfOptions,
): Promise<Branched> => {
  if (options.file !== undefined && existsSync(options.file))
    throw new RuntimeError('FILE_EXISTS', { file: options.file });
  const past = await liveAgain(ports, run);
  if (past.problem) throw past.problem;
  const { registry: others, versions } = registryOf(ports.registry, options);
  const registry = withTurns(others, past, options.limits?.turns);
  const { changes, blobs } = checkedChanges({ past, door: ports.door, versions }, options);
  const id = `what-if-${uuid()}`;
  const turns: Turn[] = [];
  let count = 0;
  const world = new World(registry, past.caps);
  const result = rerun({
    past,
    world,
    changes,
    comparesData: false,
    nextId: () => {
      count += 1;
      return `${id}.${count.toString(36)}`;
    },
    onTurn: ({ turn }: Taken) => turns.push(turn),
  });
  const log = options.file === undefined ? createMemoryLog() : await openSqliteLog({ file: options.file });
  try {
    await write(log, turns, await largeTexts(ports.log, turns, blobs));
  } catch (error) {
    await log.close();
    throw error;
  }
  return { id, run, log, registry, lastAtMs: world.atMs, ...told(id, { past, world, result }) };
};

const registryOf = (
  registry: Registry,
  { machines = [], at }: WhatIfOptions,
): { readonly registry: Registry; readonly versions: ReadonlyMap<string, number> } => {
  if (machines.length === 0) return { registry, versions: new Map() };
  if (at === undefined) return { registry: replacedIn(registry, machines), versions: new Map() };
  const { registry: changed, added } = addedTo(registry, machines);
  return { registry: changed, versions: new Map(added.map(({ name, version }) => [name, version])) };
};

/** The cap of a run is that of its workflow, if it has one: then no runtime has another for it. */
const withTurns = (registry: Registry, { run, world }: Past, turnsMax: number | undefined): Registry => {
  const name = world.run(run)?.workflow;
  if (turnsMax === undefined || name === undefined) return registry;
  const capped = registry.versions(name).flatMap((version) => {
    const workflow = registry.find(name, version)?.workflow;
    return workflow ? [{ ...workflow, options: { ...workflow.options, turnsMax } }] : [];
  });
  return replacedIn(registry, capped);
};

const told = (
  id: string,
  { past, world, result }: { readonly past: Past; readonly world: World; readonly result: RerunResult },
): Pick<Branched, 'verdict' | 'difference' | 'reused' | 'needs' | 'unsent' | 'recorded' | 'needOf'> => {
  const needOf = (call: OpenCall): NeededCall => ({
    agent: call.agent,
    callId: `${id}:${call.callId}`,
    attempt: call.attempt,
    actor: call.actor,
    input: workOf(call, decode(call.input)).input,
  });
  return {
    verdict: world.run(past.run)?.verdict ?? null,
    difference: result.difference ?? null,
    reused: result.reused,
    needs: result.needs.map(needOf),
    unsent: result.unsent.map((stimulus) => (stimulus.kind === 'message' ? stimulus.type : stimulus.kind)),
    recorded: (call) => result.known.find(call)?.outcome ?? undefined,
    needOf,
  };
};

const TURNS_OF_A_COMMIT = 200;

const write = async (
  log: EventLog,
  turns: readonly Turn[],
  blobs: ReadonlyMap<string, string>,
): Promise<void> => {
  if (blobs.size > 0) await log.putBlobs(blobs);
  for (let next = 0; next < turns.length; next += TURNS_OF_A_COMMIT)
    await log.commit({ turns: turns.slice(next, next + TURNS_OF_A_COMMIT), snapshots: [] });
};

/** Every large text that the branch refers to. */
const largeTexts = async (
  log: EventLog,
  turns: readonly Turn[],
  given: ReadonlyMap<string, string>,
): Promise<ReadonlyMap<string, string>> => {
  const hashes = new Set<string>();
  for (const { events, openedCalls } of turns) {
    for (const { data } of events) for (const hash of blobRefsIn(data)) hashes.add(hash);
    for (const { input } of openedCalls) for (const hash of blobRefsIn(decode(input))) hashes.add(hash);
  }
  return new Map([...(await log.blobs([...hashes])), ...given]);
};
