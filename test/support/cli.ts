import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { openRuntime } from '../../src/cli/open.ts';
import { compareLog } from './compared-logs.ts';

/** The built command line in few files; `PUBLISHED` is what users get. */
export const BINARY = resolve('build/cli/main.cjs');
export const PUBLISHED = resolve('dist/cli/main.js');

export interface CommandRan {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A folder with workflow files in it, in which the built command line is called. */
export interface CliFolder {
  readonly folder: string;
  /** Writes a workflow file, and gives its name. */
  file(name: string, content: unknown): string;
  /** Runs a command to its end. */
  run(...args: readonly string[]): Promise<CommandRan>;
  /** The same with variables of the environment. */
  runWith(env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<CommandRan>;
  /** Runs a command, and gives the JSON that it prints. @throws unless it exits as expected */
  json(args: readonly string[], code?: number): Promise<unknown>;
  /** Runs a line as somebody who copies it into a shell does. */
  shell(line: string): Promise<CommandRan>;
  /** Starts a command. */
  start(...args: readonly string[]): Started;
  /** Compares every log that is in it with its machines, and removes it. */
  remove(): Promise<void>;
}

export interface Started {
  readonly child: ChildProcessWithoutNullStreams;
  /** Resolves when this text was written. */
  wrote(text: string): Promise<void>;
  readonly ended: Promise<CommandRan>;
}

export const cliFolder = (): CliFolder => {
  const folder = mkdtempSync(join(tmpdir(), 'loopwright-cli-'));
  const start = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Started =>
    startProgram(process.execPath, [BINARY, ...args], { folder, env });
  return {
    folder,
    file(name, content) {
      const text = typeof content === 'string' ? content : stringify(content);
      writeFileSync(join(folder, name), text);
      return name;
    },
    run: (...args) => start(args).ended,
    runWith: (env, ...args) => start(args, env).ended,
    async json(args, code = 0) {
      const ran = await start([...args, '--json']).ended;
      if (ran.code !== code)
        throw new Error(`${args.join(' ')}: exit ${ran.code}\n${ran.stdout}${ran.stderr}`);
      return JSON.parse(ran.stdout);
    },
    shell(line) {
      const program = `exec '${process.execPath}' '${BINARY}' "$@"`;
      const bin = join(folder, 'bin');
      mkdirSync(bin, { recursive: true });
      writeFileSync(join(bin, 'loopwright'), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
      const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}` };
      return startProgram('/bin/sh', ['-c', line], { folder, env }).ended;
    },
    start: (...args) => start(args),
    async remove() {
      try {
        for (const file of logsIn(folder)) await compareLog(file, () => openRuntime(file, { mode: 'look' }));
      } finally {
        rmSync(folder, { recursive: true, force: true });
      }
    },
  };
};

const logsIn = (folder: string): readonly string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.db'))
    .map((name) => join(folder, name));

export interface ProgramPlace {
  readonly folder: string;
  readonly env?: Readonly<Record<string, string>>;
}

export const startProgram = (
  file: string,
  args: readonly string[],
  { folder, env = {} }: ProgramPlace,
): Started => {
  const { LOOPWRIGHT_DB: _db, NO_COLOR: _color, FORCE_COLOR: _force, ...own } = process.env;
  const child = spawn(file, args, { cwd: folder, env: { ...own, ...env } });
  let stdout = '';
  let stderr = '';
  const waiting = new Set<{ readonly text: string; readonly resolve: () => void }>();
  const look = () => {
    for (const waiter of waiting) {
      if (!stdout.includes(waiter.text) && !stderr.includes(waiter.text)) continue;
      waiting.delete(waiter);
      waiter.resolve();
    }
  };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
    look();
  });
  const ended = new Promise<CommandRan>((done, fail) => {
    child.on('error', fail);
    child.on('close', (code) => done({ code, stdout, stderr }));
  });
  return {
    child,
    wrote: (text) =>
      new Promise((done, fail) => {
        waiting.add({ text, resolve: done });
        look();
        void ended.then(
          () => fail(new Error(`It ended without writing "${text}":\n${stdout}${stderr}`)),
          fail,
        );
      }),
    ended,
  };
};

/** What a command printed, line by line, as JSON. */
export const jsonLines = (stdout: string): readonly Readonly<Record<string, unknown>>[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Readonly<Record<string, unknown>>); // Every line is an object.

const SUMMARIES = ['one', 'two', 'three', 'four', 'five'].map((summary) => ({ summary }));

/** A tight loop of scripted agents. */
export const tight = (
  name: string,
  { review, test = [{ passed: true }], work = SUMMARIES, ...rest }: TightScript,
): Readonly<Record<string, unknown>> => ({
  name,
  loop: 'tight',
  onLimit: 'stop',
  ...rest,
  agents: {
    developer: { script: work },
    reviewer: { script: review },
    tester: { script: test },
  },
});

export interface TightScript extends Readonly<Record<string, unknown>> {
  readonly review: readonly unknown[];
  readonly test?: readonly unknown[];
  readonly work?: readonly unknown[];
}

export const rejects = (description: string) => ({ passed: false, issues: [{ description }] });
export const passes = { passed: true };
