import { readdirSync, readFileSync, statSync } from 'node:fs';
import { setImmediate as nextRound } from 'node:timers/promises';

/** Names in the environment of every process that a command agent starts, and of all that come from it. */
export const TAGS = {
  /** The log that its call is in. */
  log: 'LOOPWRIGHT_LOG',
  /** The idempotency key of its call. */
  call: 'LOOPWRIGHT_CALL',
  /** This one start of the command: the same call may be started anew while an older process is still ending. */
  start: 'LOOPWRIGHT_START',
} as const;

/** A process of this user that is alive, and that is neither this one nor one from which it comes. */
export interface FoundProcess {
  readonly pid: number;
  readonly group: number;
  /** What to give to `process.kill`: its whole group, or itself alone if that group is not safe to kill. */
  readonly target: number;
  readonly name: string;
  /** Undefined if it has no such tag, or does not let its environment be read. */
  readonly log: string | undefined;
  readonly call: string | undefined;
  readonly start: string | undefined;
}

interface Stat {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly name: string;
}

/** The thread is free again after so many processes: a machine may have tens of thousands. */
const PROCESSES_AT_ONCE = 50;

let underWay: Promise<unknown> = Promise.resolve();
let next: Promise<readonly FoundProcess[] | undefined> | undefined;

/**
 * The processes of this user as they are after the call; undefined where they cannot be listed, as on any system but Linux.
 * Many who ask at once share one look.
 */
export const listProcesses = (): Promise<readonly FoundProcess[] | undefined> => {
  next ??= underWay.then(() => {
    next = undefined;
    // What fails here (too many open files) must not be taken for a sign that nobody is left.
    const looking = look().catch(() => undefined);
    underWay = looking;
    return looking;
  });
  return next;
};

/**
 * Whether some process may be of a log: false where they cannot be listed. Only environments are looked at, and not
 * who a process is; every runtime begins with this, and next to none finds anything.
 */
export const mayHaveProcesses = async (log: string): Promise<boolean> => {
  try {
    for await (const id of processIds()) if (readEnvironment(id).includes(`${TAGS.log}=${log}`)) return true;
    return false;
  } catch {
    // What fails here (too many open files) must not be taken for a sign that nobody is left.
    return true;
  }
};

/** What there is in `/proc`, which only Linux has. */
async function* processIds(): AsyncGenerator<string> {
  if (process.platform !== 'linux') return;
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  for (const [index, id] of ids.entries()) {
    if (index % PROCESSES_AT_ONCE === PROCESSES_AT_ONCE - 1) await nextRound();
    yield id;
  }
}

const look = async (): Promise<readonly FoundProcess[] | undefined> => {
  const own = process.platform === 'linux' ? ownLine() : new Map<number, Stat>();
  // Without ourselves in it, this is no list of our system; its numbers could be those of others here.
  if (!own.has(process.pid)) return undefined;
  const keptGroups = new Set([...own.values()].map(({ group }) => group));
  const found: FoundProcess[] = [];
  for await (const id of processIds()) {
    const stat = readStat(id);
    if (!stat || own.has(stat.pid)) continue;
    const { pid, group, name } = stat;
    // To kill, 0 means the caller's own group and -1 everyone. A group whose leader is outside of a container reads as 0.
    const target = group > 1 && !keptGroups.has(group) ? -group : pid;
    found.push({ pid, group, target, name, ...tagsOf(id) });
  }
  return found;
};

/** This process, its parent, and so on: whoever opens a log from inside of an agent must not end itself. */
const ownLine = (): ReadonlyMap<number, Stat> => {
  const line = new Map<number, Stat>();
  for (let stat = readStat('self', false); stat && !line.has(stat.pid); ) {
    line.set(stat.pid, stat);
    stat = readStat(String(stat.parent), false);
  }
  return line;
};

/** Undefined for one that has ended (its parent may not have asked how yet), or is of another user. */
const readStat = (id: string, ownOnly = true): Stat | undefined => {
  try {
    if (ownOnly && statSync(`/proc/${id}`).uid !== process.geteuid?.()) return undefined;
    const text = readFileSync(`/proc/${id}/stat`, 'latin1');
    // The name stands in parentheses and may hold anything, parentheses too.
    const [nameStart, nameEnd] = [text.indexOf('('), text.lastIndexOf(')')];
    const [state, parent, group] = text.slice(nameEnd + 2).split(' ');
    if (state === 'Z' || state === 'X') return undefined;
    return {
      pid: Number(text.slice(0, nameStart)),
      parent: Number(parent),
      group: Number(group),
      name: text.slice(nameStart + 1, nameEnd),
    };
  } catch (error) {
    return skip(error, undefined);
  }
};

const tagsOf = (id: string): Pick<FoundProcess, 'log' | 'call' | 'start'> => {
  const environment = readEnvironment(id);
  const valueOf = (name: string): string | undefined =>
    environment.find((entry) => entry.startsWith(`${name}=`))?.slice(name.length + 1);
  return { log: valueOf(TAGS.log), call: valueOf(TAGS.call), start: valueOf(TAGS.start) };
};

const readEnvironment = (id: string): readonly string[] => {
  try {
    const text = readFileSync(`/proc/${id}/environ`, 'utf8');
    return text.includes(`${TAGS.log}=`) ? text.split('\0') : [];
  } catch (error) {
    return skip(error, []);
  }
};

/** Ended in the meantime, or hidden from us: all else is no reason to pass over a process. */
const SKIPPED = new Set(['ENOENT', 'ESRCH', 'EACCES', 'EPERM']);

const skip = <Instead>(error: unknown, instead: Instead): Instead => {
  if (error instanceof Error && 'code' in error && SKIPPED.has(String(error.code))) return instead;
  throw error;
};
