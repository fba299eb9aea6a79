import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Agent } from './actors/agent.ts';
import type { BranchParts } from './actors/branch-parts.ts';
import { type Clock, createSystemClock } from './actors/clock.ts';
import type { Run } from './actors/run-handle.ts';
import type { Parts } from './assembly.ts';
import type { Difference } from './audit/difference.ts';
import { type Branched, branchOf } from './audit/what-if.ts';
import type { NeededCall, WhatIfOptions } from './audit/what-if-options.ts';
import { isJsonObject, type Json } from './events/json.ts';
import type { Verdict } from './events/turn.ts';
import type { Runtime } from './runtime-api.ts';

/** What would have been: a branch of a run, with a runtime on a log of its own. */
export interface Branch {
  /** The ids of its turns, events and calls begin with it: none of them can be in the log that it comes from. */
  readonly id: string;
  /** The run in the branch, under the address that it has in its log. */
  readonly run: Run;
  /** A runtime on the log of the branch. It calls agents only if that was asked for. */
  readonly runtime: Runtime;
  /** How the run ends with the answers that are known; null if it needs others. */
  readonly verdict: Verdict | null;
  /** The first event that is another than in the log; null if none is. */
  readonly difference: Difference | null;
  /** How many answers of agents and persons were taken from the log. */
  readonly reused: number;
  /** The calls that it cannot do without, and that were never made. */
  readonly calls: readonly NeededCall[];
  /** Those that it has made, in order: none, unless it was asked to. */
  made(): readonly NeededCall[];
  /** Messages from outside that came after what nobody knows here, and were not sent again. */
  readonly unsent: readonly string[];
  close(): Promise<void>;
}

/** Opens a runtime on the parts of a branch. */
type Open = (parts: Parts) => Promise<Runtime>;

/** Makes a branch of a run, and opens a runtime on it. */
export const openBranch = async (
  parts: Parts,
  open: Open,
  { run, options }: { readonly run: string; readonly options: WhatIfOptions },
): Promise<Branch> => {
  const { log, registry, limits, door } = parts;
  const branched = await branchOf({ log, registry, limits, door }, run, options);
  const isMaking = options.calls === 'make';
  const folders = createFolders(parts, options, isMaking);
  const made: NeededCall[] = [];
  const close = async (runtime?: Runtime): Promise<void> => {
    await (runtime ? runtime.close() : branched.log.close());
    folders.remove();
  };
  try {
    const runtime = await open({
      ...parts,
      options: {
        ...parts.options,
        file: options.file ?? ':memory:',
        idle: !isMaking,
        clock: clockFrom(branched.lastAtMs, parts.options.clock),
      },
      registry: branched.registry,
      log: branched.log,
      lastAtMs: branched.lastAtMs,
      runsFolder: folders.own,
      branch: hooksOf(branched, { run, folders, made }),
    });
    return {
      ...pick(branched),
      calls: branched.needs,
      run: await runtime.run(run),
      runtime,
      made: () => [...made],
      close: () => close(runtime),
    };
  } catch (error) {
    await close();
    throw error;
  }
};

const pick = ({ id, verdict, difference, reused, unsent }: Branched) => ({
  id,
  verdict,
  difference,
  reused,
  unsent,
});

/** The time of a branch goes on where its log ends, or else every timer of an old run would be overdue. */
const clockFrom = (lastAtMs: number, given: Clock | undefined): Clock => {
  const clock = given ?? createSystemClock(0);
  const beganMs = clock.now();
  return {
    now: () => lastAtMs + clock.now() - beganMs,
    after: (delayMs, callback) => clock.after(delayMs, callback),
  };
};

interface Folders {
  readonly own: string | null;
  /** The place of the branch's files for those of the run that it comes from. */
  readonly of: (folder: string) => string | null;
  readonly remove: () => void;
}

/** A branch never writes where the run that it comes from does. One in memory has its files only for as long as it is open. */
const createFolders = ({ options }: Parts, { file }: WhatIfOptions, isMaking: boolean): Folders => {
  if (!isMaking || options.runsFolder === null) return { own: null, of: () => null, remove: () => undefined };
  const isTemporary = file === undefined;
  const own = isTemporary ? mkdtempSync(join(tmpdir(), 'loopwright-what-if-')) : resolve(`${file}.runs`);
  return {
    own,
    of: (folder) => join(own, folder.slice(folder.lastIndexOf('/') + 1)),
    remove: () => {
      if (isTemporary) rmSync(own, { recursive: true, force: true });
    },
  };
};

const hooksOf = (
  { id, recorded, needOf }: Branched,
  { run, folders, made }: { readonly run: string; readonly folders: Folders; readonly made: NeededCall[] },
): BranchParts => {
  const moved = new Map<string, string>();
  return {
    recorded,
    calling: (agent, call) => callingAs(agent, { id, run, moved, note: () => made.push(needOf(call)) }),
    folder: (folder) => {
      const place = folder === null ? null : folders.of(folder);
      if (folder !== null && place !== null) moved.set(folder, place);
      return place;
    },
  };
};

interface Calling {
  readonly id: string;
  readonly run: string;
  /** Folders that are elsewhere for the branch: agents are told of its own. */
  readonly moved: ReadonlyMap<string, string>;
  readonly note: () => void;
}

const callingAs = (agent: Agent, { id, run, moved, note }: Calling): Agent => ({
  ...agent,
  run: (request) => {
    note();
    const callId = `${id}:${request.callId}`;
    return agent.run({
      ...request,
      callId,
      idempotencyKey: `${callId}/${request.attempt}`,
      run: `${run}~${id}`,
      actor: `${run}~${id}${request.actor.slice(request.run.length)}`,
      input: withFolders(request.input, moved) as never, // Only texts in it are others.
    });
  },
});

const withFolders = (value: Json, moved: ReadonlyMap<string, string>): Json => {
  if (typeof value === 'string')
    return [...moved].reduce((text, [from, to]) => text.replaceAll(from, to), value);
  if (Array.isArray(value)) return value.map((item: Json) => withFolders(item, moved));
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, withFolders(item, moved)]));
};
