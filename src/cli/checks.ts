import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { delimiter, dirname, join, resolve } from 'node:path';
import { logOwner, type RunRecord, sqliteVersion } from '../index.ts';
import { type StoredDefinition, versionsOf } from './definitions.ts';

/** One thing that was looked at. */
export interface Check {
  readonly what: string;
  readonly result: 'good' | 'note' | 'bad';
  readonly found: string;
  /** What to do about it, if there is anything to do. */
  readonly advice: string | null;
}

const good = (what: string, found: string): Check => ({ what, result: 'good', found, advice: null });
const note = (what: string, found: string, advice: string | null = null): Check => ({
  what,
  result: 'note',
  found,
  advice,
});
const bad = (what: string, found: string, advice: string): Check => ({ what, result: 'bad', found, advice });

const NODE_NEEDED = [20, 19];
const SQLITE_NEEDED = [3, 51, 3];

const isAtLeast = (version: string, needed: readonly number[]): boolean => {
  const parts = version.replace(/^v/, '').split('.').map(Number);
  for (const [index, least] of needed.entries()) {
    const part = parts[index] ?? 0;
    if (part !== least) return part > least;
  }
  return true;
};

/** The programs that everything stands on. */
export const checkPrograms = (): readonly Check[] => [
  isAtLeast(process.version, NODE_NEEDED)
    ? good('node', process.version)
    : bad('node', process.version, `Install Node ${NODE_NEEDED.join('.')} or newer.`),
  checkSqlite(),
];

const checkSqlite = (): Check => {
  try {
    const version = sqliteVersion();
    return isAtLeast(version, SQLITE_NEEDED)
      ? good('sqlite', version)
      : bad('sqlite', version, `Install a better-sqlite3 with SQLite ${SQLITE_NEEDED.join('.')} or newer.`);
  } catch (error) {
    return bad(
      'sqlite',
      error instanceof Error ? error.message : String(error),
      'Run npm rebuild better-sqlite3.',
    );
  }
};

const RESERVE_BYTES = 64 * 1024 * 1024;
const SIDE_FILES = ['', '-wal', '-shm', '.inbox', '.lock', '.owner', '.head', '.runs'];
/** Anything for the group or for others. */
const FOREIGN_BITS = 0o077;

/** The log and where it is: room, rights, who works on it. */
export const checkLog = (file: string): readonly Check[] => {
  const folder = firstExisting(dirname(resolve(file)));
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const inMiB = `${Math.floor(free / 1024 / 1024)} MiB free`;
  const owner = logOwner(file);
  return [
    free >= RESERVE_BYTES
      ? good('disk', inMiB)
      : bad('disk', inMiB, 'Free some space: below 64 MiB no new work is taken.'),
    checkWritable(file, folder),
    owner === undefined
      ? good('owner', 'nobody works on the log')
      : note('owner', owner, 'Other processes can look, answer, pause and cancel.'),
    checkModes(file),
  ];
};

const firstExisting = (folder: string): string =>
  existsSync(folder) || dirname(folder) === folder ? folder : firstExisting(dirname(folder));

const checkWritable = (file: string, folder: string): Check => {
  try {
    accessSync(existsSync(file) ? file : folder, constants.W_OK);
    accessSync(folder, constants.W_OK | constants.X_OK);
    return existsSync(file)
      ? good('log', file)
      : note('log', `${file} is not there yet`, 'loopwright run FILE makes it.');
  } catch {
    return bad(
      'log',
      `${file} cannot be written`,
      'See to the rights of the file and of its folder, or use --db.',
    );
  }
};

const checkModes = (file: string): Check => {
  const open = SIDE_FILES.map((suffix) => `${file}${suffix}`).filter((path) => {
    const stat = statSync(path, { throwIfNoEntry: false });
    return stat !== undefined && (stat.mode & FOREIGN_BITS) !== 0;
  });
  if (open.length === 0) return good('rights', 'the files of the log are for their owner only');
  return bad('rights', `others may read ${open.join(', ')}`, `Run: chmod -R go= ${open.join(' ')}`);
};

/** Open runs that cannot go on, since the log does not have their workflows. */
export const checkRuns = (
  runs: readonly RunRecord[],
  definitions: readonly StoredDefinition[],
): readonly Check[] => {
  const known = new Set(versionsOf(definitions).map(({ name, version }) => `${name} ${version}`));
  const open = runs.filter(({ verdict }) => verdict === null);
  const lost = open.filter(({ workflow, workflowVersion }) => !known.has(`${workflow} ${workflowVersion}`));
  if (lost.length === 0) return [good('open runs', String(open.length))];
  return [
    note(
      'open runs',
      `${lost.map(({ id }) => id).join(', ')}: started by a program, whose workflows the log does not have`,
      'Go on with them in that program, or cancel them: loopwright cancel RUN.',
    ),
  ];
};

/** Programs that workflow files often name as agents. */
const WELL_KNOWN = ['claude', 'codex', 'gemini', 'opencode', 'aider', 'cursor-agent', 'git', 'npm', 'npx'];

/** Whether the commands of agents are there. */
export const checkCommands = (definitions: readonly StoredDefinition[]): readonly Check[] => {
  const newest = [...new Map(definitions.map((each) => [each.name, each])).values()];
  const needed = newest.flatMap(({ name, agents, directory }) =>
    Object.entries(agents).flatMap(([agent, { command }]) => {
      const program = Array.isArray(command) ? String(command[0]) : undefined;
      return program === undefined ? [] : [{ agent: `${name}: ${agent}`, program, directory }];
    }),
  );
  const missing = needed.filter(({ program, directory }) => !isThere(program, directory));
  const found = WELL_KNOWN.filter((program) => isThere(program, '.'));
  return [
    ...missing.map(({ agent, program }) =>
      bad(
        `agent ${agent}`,
        `"${program}" is not there`,
        'Install it, put it in PATH, or mend the workflow file.',
      ),
    ),
    ...(missing.length === 0 && needed.length > 0
      ? [good('agents', `${needed.length} commands, all there`)]
      : []),
    note('in PATH', found.length === 0 ? 'no well-known agent' : found.join(', ')),
  ];
};

/** Whether the variables that agents are to see are set. */
export const checkVariables = ({ agents }: StoredDefinition): readonly Check[] =>
  Object.entries(agents).flatMap(([agent, { passEnv, apiKeyEnv }]) => [
    ...(Array.isArray(passEnv) ? passEnv.map(String) : [])
      .filter((name) => !isSet(name))
      .map((name) =>
        note(`agent ${agent}`, `${name} is not set`, 'Set it, unless the program does without it.'),
      ),
    ...(typeof apiKeyEnv === 'string' && !isSet(apiKeyEnv)
      ? [bad(`agent ${agent}`, `${apiKeyEnv} is not set`, 'Set it to the key of its provider.')]
      : []),
  ]);

const isSet = (name: string): boolean => (process.env[name] ?? '') !== '';

const isThere = (program: string, directory: string): boolean => {
  const places = program.includes('/')
    ? [resolve(directory, program)]
    : (process.env['PATH'] ?? '').split(delimiter).map((folder) => join(folder, program));
  return places.some((path) => {
    try {
      accessSync(path, constants.X_OK);
      return statSync(path).isFile();
    } catch {
      return false;
    }
  });
};
