import { constants } from 'node:fs';
import { type FileHandle, open, realpath, stat } from 'node:fs/promises';
import { isAbsolute, join, relative, sep } from 'node:path';
import { RuntimeError } from '../errors.ts';
import type { JsonObject } from '../events/json.ts';
import { BadReport, type FailedTest, type TestReport } from '../results/test-report.ts';
import type { CommandSpec } from './command-options.ts';
import type { ProcessEnd } from './command-process.ts';

type Command = Pick<CommandSpec, 'file' | 'cwd' | 'results' | 'resultsFile' | 'allowNoTests' | 'outputBytes'>;

/** How many failures are told of, one by one; and how much of them: what is found in a pass must fit into one event. */
const ISSUES_MAX = 300;
const NAME_LENGTH_MAX = 300;
const MESSAGES_LENGTH_MAX = 60_000;
/** How much is said in one text, for agents that take no lists. */
const TEXT_LENGTH_MAX = 8_000;

export interface ResultsReader {
  take(piece: Buffer): void;
  /** @throws {RuntimeError} AGENT_RESULTS_BAD */
  finish(end: Pick<ProcessEnd, 'exitCode' | 'stderr'>): Promise<JsonObject>;
}

/**
 * Reads the results of tests from a file, or from what is written. Made before the command starts: a file from before is none of its.
 * `redact` takes secrets out of texts before they are cut.
 */
export const createResultsReader = async (
  command: Command,
  redact: (text: string) => string,
): Promise<ResultsReader> => {
  const pieces: Buffer[] = [];
  let takenBytes = 0;
  const before = await stampOf(command);
  return {
    take(piece) {
      if (command.resultsFile !== undefined) return;
      takenBytes += piece.byteLength;
      if (takenBytes > command.outputBytes)
        throw new RuntimeError('AGENT_FLOODED', { file: command.file, limitBytes: command.outputBytes });
      pieces.push(piece);
    },
    async finish(end) {
      try {
        const bytes =
          command.resultsFile === undefined ? Buffer.concat(pieces) : await fileBytes(command, before);
        const report = await parse(command, bytes);
        const root = await realpath(command.cwd ?? process.cwd());
        return answerOf(redacted(report, redact), { command, end, root });
      } catch (error) {
        if (!(error instanceof BadReport)) throw error;
        const { file, resultsFile = 'standard output' } = command;
        const { exitCode, stderr } = end;
        throw new RuntimeError('AGENT_RESULTS_BAD', {
          file,
          from: resultsFile,
          problem: error.message,
          exitCode,
          stderr,
        });
      }
    },
  };
};

const redacted = (report: TestReport, redact: (text: string) => string): TestReport => ({
  ...report,
  failures: report.failures.map(({ name, file, line, message }) => ({
    name: redact(name),
    file: file === null ? null : redact(file),
    line,
    message: redact(message),
  })),
});

const pathOf = ({ cwd = process.cwd(), resultsFile = '' }: Command): string => join(cwd, resultsFile);

/** What changes whenever a file is written or replaced, whatever its writer does to its times. */
const stampOf = async (command: Command): Promise<string | undefined> => {
  if (command.resultsFile === undefined) return undefined;
  try {
    const { ino, size, ctimeNs } = await stat(pathOf(command), { bigint: true });
    return `${ino} ${size} ${ctimeNs}`;
  } catch {
    return undefined;
  }
};

const fileBytes = async (command: Command, before: string | undefined): Promise<Buffer> => {
  const after = await stampOf(command);
  if (after === undefined) throw new BadReport('there is no such file in the directory that it ran in');
  if (after === before)
    throw new BadReport('the file is from before this call: the command has not written it');
  const path = await realpath(pathOf(command));
  const root = await realpath(command.cwd ?? process.cwd());
  if (!path.startsWith(root === sep ? root : `${root}${sep}`))
    throw new BadReport('the file is outside of the directory that the command ran in');
  // One that is a pipe would be waited for.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return await wholeOf(handle, command.outputBytes);
  } finally {
    await handle.close();
  }
};

const wholeOf = async (handle: FileHandle, limitBytes: number): Promise<Buffer> => {
  const { size, isFile } = await handle
    .stat()
    .then((found) => ({ size: found.size, isFile: found.isFile() }));
  if (!isFile) throw new BadReport('it is not a regular file');
  if (size > limitBytes) throw new BadReport(`the file has more than ${limitBytes} bytes`);
  const buffer = Buffer.alloc(size);
  const { bytesRead } = await handle.read(buffer, 0, size, 0);
  return buffer.subarray(0, bytesRead);
};

/** Loaded when they are needed: most runtimes read no reports. */
const READERS: Readonly<Record<string, () => Promise<(text: string) => TestReport>>> = {
  junit: async () => (await import('../results/junit.ts')).readJunit,
  jest: async () => (await import('../results/json-report.ts')).readJsonReport,
  vitest: async () => (await import('../results/json-report.ts')).readJsonReport,
};

const parse = async ({ results = 'junit' }: Command, bytes: Buffer): Promise<TestReport> => {
  const read = await READERS[results]?.();
  if (!read) throw new BadReport(`there is no reader for "${results}"`);
  try {
    return read(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (error) {
    throw error instanceof TypeError ? new BadReport('it is not UTF-8') : error;
  }
};

interface Told {
  readonly command: Command;
  readonly end: Pick<ProcessEnd, 'exitCode' | 'stderr'>;
  /** Where the command ran: files are told from there. */
  readonly root: string;
}

/** What a gate, or the tests of a tight loop, understand. Passed is only what is known to be. */
const answerOf = (report: TestReport, { command, end, root }: Told): JsonObject => {
  const { passed, failed, skipped } = report;
  const failures = [...report.failures, ...besides(report, command, end)];
  const told = failures.slice(0, ISSUES_MAX);
  const lengthMax = Math.floor(MESSAGES_LENGTH_MAX / Math.max(1, told.length));
  const issues = told.map((test) => issueOf({ ...test, message: cut(test.message, lengthMax) }, root));
  return {
    passed: failures.length === 0,
    issues,
    tests: { total: passed + failed + skipped, passed, failed, skipped },
    exitCode: end.exitCode,
    text: textOf(failures),
  };
};

/** What speaks against a report in which no test has failed. */
const besides = (
  { passed, failures }: TestReport,
  { allowNoTests }: Command,
  { exitCode, stderr }: Told['end'],
): readonly FailedTest[] => {
  if (failures.length > 0) return [];
  if (exitCode !== 0)
    return [
      {
        ...NOWHERE,
        name: `the test command ended with exit code ${exitCode} although no test failed`,
        message: stderr,
      },
    ];
  return passed > 0 || allowNoTests
    ? []
    : [{ ...NOWHERE, name: 'no test was run', message: 'A run without a single test shows nothing.' }];
};

const NOWHERE = { file: null, line: null };

const issueOf = ({ name, file, line, message }: FailedTest, root: string): JsonObject => ({
  severity: 'high',
  category: 'test',
  description: cut(name, NAME_LENGTH_MAX),
  ...(file !== null && { file: cut(within(root, file), NAME_LENGTH_MAX) }),
  ...(line !== null && { line }),
  ...(message !== '' && { message }),
});

const cut = (text: string, lengthMax: number): string =>
  text.length <= lengthMax ? text : `${text.slice(0, lengthMax).toWellFormed()}…`;

/** A path that does not depend on where the project lies: the same fault in a copy is the same. */
const within = (root: string, file: string): string => {
  const path = file.startsWith('file://') ? file.slice('file://'.length) : file;
  if (!isAbsolute(path)) return path;
  const found = relative(root, path);
  return found.startsWith('..') ? path : found;
};

const textOf = (failures: readonly FailedTest[]): string => {
  const parts = failures
    .slice(0, ISSUES_MAX)
    .map(({ name, message }) => (message === '' ? name : `${name}\n${message}`));
  const more = failures.length - parts.length;
  return `${cut(parts.join('\n\n'), TEXT_LENGTH_MAX)}${more > 0 ? `\n\n${more} more failed.` : ''}`;
};
