import { isAbsolute, normalize } from 'node:path';
import { RuntimeError } from '../errors.ts';
import type { AgentOptions } from './agent.ts';
import { TAGS } from './processes.ts';

/** How a command is started, what it is given, and which of what it does is an answer. */
export interface CommandOptions extends AgentOptions {
  /** Where it runs; where the host runs unless set. */
  readonly cwd?: string;
  /** Variables of its environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** Names of variables that it may see of the host's environment, beside the few that it always does (`SEEN_BY_ALL`). */
  readonly passEnv?: readonly string[];
  /**
   * `json` (default): one document, see schema/agent-request.schema.json. `text`: the `prompt` of the input if it has one, which is
   * all of it in words, else the input; then the feedback.
   */
  readonly input?: 'json' | 'text';
  /**
   * `json` (default): one document, the output itself or see schema/agent-answer.schema.json. `json-lines`: the last line is
   * that document, each before it is progress. `text`: whatever it writes; the output is { text, exitCode }.
   */
  readonly output?: 'json' | 'json-lines' | 'text';
  /** Exit codes with which it has answered; with others it has failed. `zero` unless set, `any` for text. */
  readonly exitCodes?: 'zero' | 'any' | readonly number[];
  /** One that writes more to standard output is ended, and has failed; 10 MiB unless set. */
  readonly outputBytes?: number;
  /** How long it has between SIGTERM and SIGKILL; 5 seconds unless set. */
  readonly graceMs?: number;
  /**
   * It runs tests, and reports on them in this form. Then the answer is made of the report: { passed, issues, tests, exitCode,
   * text }. Without a report that can be read it has failed, whatever its exit code.
   */
  readonly results?: ResultsForm;
  /** Where in `cwd` it writes its report; to standard output unless set. A file from before the call does not count. */
  readonly resultsFile?: string;
  /** Whether a run without a single test has passed; false unless set. */
  readonly allowNoTests?: boolean;
}

export type ResultsForm = 'junit' | 'vitest' | 'jest';

type OwnOptions = Omit<CommandOptions, keyof AgentOptions>;

/** A command, checked and with all that was left out. */
export interface CommandSpec extends Required<Omit<OwnOptions, 'cwd' | 'results' | 'resultsFile'>> {
  readonly file: string;
  readonly args: readonly string[];
  readonly cwd: string | undefined;
  readonly results: ResultsForm | undefined;
  readonly resultsFile: string | undefined;
}

/** What every command sees of the host's environment: enough to find programs, files and a language. No secrets live there. */
export const SEEN_BY_ALL = [
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
] as const;

const OUTPUT_BYTES = 10 * 1024 * 1024;
const GRACE_MS = 5_000;
const EXIT_CODE_MAX = 255;
/** The longest that a timer can wait. */
const GRACE_MS_MAX = 2 ** 31 - 1;

type Check = readonly [isGood: (value: unknown) => boolean, expected: string];

const isText = (value: unknown): value is string => typeof value === 'string' && !value.includes('\0');
const isOneOf =
  (...known: readonly string[]) =>
  (value: unknown): boolean =>
    typeof value === 'string' && known.includes(value);
const isListOf =
  (isItem: (item: unknown) => boolean) =>
  (value: unknown): boolean =>
    Array.isArray(value) && value.every(isItem);
const isExitCode = (value: unknown): boolean =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= EXIT_CODE_MAX;

/** The tags are not the host's to set: with others, its processes could not be found. */
const isVariable = (name: unknown): boolean =>
  isText(name) && /^[^=]+$/.test(name) && !Object.values<string>(TAGS).includes(name);
const isEnvironment = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.entries(value).every(([name, text]) => isVariable(name) && isText(text));

/** Nothing that leads out of the directory; links are looked at when it is read. */
const isInner = (value: unknown): boolean =>
  isText(value) && value !== '' && !isAbsolute(value) && !normalize(value).split(/[/\\]/).includes('..');

const VARIABLES = `not ${Object.values(TAGS).join(', ')}, and without "=" and NUL`;

const CHECKS: { readonly [Option in keyof CommandSpec]: Check } = {
  file: [(value) => isText(value) && value !== '', 'the name or path of a program, without NUL'],
  args: [isListOf(isText), 'a list of strings without NUL'],
  cwd: [
    (value) => value === undefined || (isText(value) && value !== ''),
    'the path of a directory, without NUL',
  ],
  env: [isEnvironment, `strings by the name of their variable: ${VARIABLES}`],
  passEnv: [isListOf(isVariable), `a list of names of variables: ${VARIABLES}`],
  input: [isOneOf('json', 'text'), '"json" or "text"'],
  output: [isOneOf('json', 'json-lines', 'text'), '"json", "json-lines" or "text"'],
  exitCodes: [
    (value) => isOneOf('zero', 'any')(value) || isListOf(isExitCode)(value),
    `"zero", "any" or a list of integers from 0 to ${EXIT_CODE_MAX}`,
  ],
  outputBytes: [(value) => Number.isSafeInteger(value) && Number(value) >= 1, 'an integer from 1'],
  graceMs: [
    (value) => typeof value === 'number' && value >= 0 && value <= GRACE_MS_MAX,
    `a number from 0 to ${GRACE_MS_MAX}`,
  ],
  results: [
    (value) => value === undefined || isOneOf('junit', 'vitest', 'jest')(value),
    '"junit", "vitest" or "jest"',
  ],
  resultsFile: [
    (value) => value === undefined || isInner(value),
    'the path of a file inside the directory that the command runs in, relative to it',
  ],
  allowNoTests: [(value) => typeof value === 'boolean', 'true or false'],
};

/** @throws {RuntimeError} BAD_OPTION */
export const checkedCommand = (file: string, args: readonly string[], options: OwnOptions): CommandSpec => {
  for (const option of Object.keys(options)) {
    // Who asks for a shell must not believe to have got one.
    if (!Object.hasOwn(CHECKS, option) || option === 'file' || option === 'args')
      refuse(option, 'unknown', `one of these names: ${Object.keys(CHECKS).slice(2).join(', ')}`);
  }
  const { output = 'json', results } = options;
  if (results === undefined && (options.resultsFile !== undefined || options.allowNoTests !== undefined))
    refuse('results', 'missing', '"junit", "vitest" or "jest", or leave out resultsFile and allowNoTests');
  if (results !== undefined && options.output !== undefined)
    refuse('output', JSON.stringify(output), 'nothing: with "results" the answer is made of the report');
  const command: CommandSpec = {
    cwd: undefined,
    env: {},
    passEnv: [],
    input: 'json',
    exitCodes: output === 'text' || results !== undefined ? 'any' : 'zero',
    outputBytes: OUTPUT_BYTES,
    graceMs: GRACE_MS,
    resultsFile: undefined,
    allowNoTests: false,
    ...options,
    output,
    results,
    file,
    args,
  };
  for (const [option, [isGood, expected]] of Object.entries(CHECKS)) {
    const value: unknown = command[option as keyof CommandSpec]; // The checks are by the names of the command's members.
    if (!isGood(value)) refuse(option, describe(value), expected);
  }
  // Its caller may change these lists later.
  return { ...command, args: [...args], env: { ...command.env }, passEnv: [...command.passEnv] };
};

const refuse = (option: string, found: string, expected: string): never => {
  throw new RuntimeError('BAD_OPTION', { option, found, expected });
};

/** Without the values: an environment may hold secrets. */
const describe = (value: unknown): string => {
  if (typeof value === 'object' && value !== null)
    return Array.isArray(value) ? 'a list with other items' : 'an object with other members';
  return typeof value === 'string' ? JSON.stringify(value) : String(value);
};
