import type { Command } from 'commander';
import type { ExitCode } from './exit-codes.ts';
import { LOOKING_BACK } from './looking-back-table.ts';
import type { Terminal } from './terminal.ts';

/** The options that every command takes. */
export interface CommonOptions {
  readonly db?: string;
  readonly json?: boolean;
}

/** What a command is given to add itself with. */
export interface Adding {
  readonly terminal: Terminal;
  /** Wraps what the command does: it is given its arguments, its options and those of every command. */
  readonly action: <Options>(
    work: (args: readonly string[], options: Options & CommonOptions) => Promise<ExitCode>,
  ) => (...given: unknown[]) => Promise<void>;
}

/** Says what a command takes, and what it does. The command has its name and summary already. */
export type AddCommand = (command: Command, adding: Adding) => void;

export interface CommandRow {
  readonly name: string;
  /** One line in the list of commands. */
  readonly summary: string;
  readonly group: string;
  /** Its module is loaded when it is called. */
  readonly load: () => Promise<AddCommand>;
}

const RUNNING = 'Run workflows:';
const LOOKING = 'Look at runs:';
const DECIDING = 'Decide:';
const CHECKING = 'Check:';

/** Every command, in the order in which help lists them. */
export const COMMANDS: readonly CommandRow[] = [
  {
    name: 'init',
    summary: 'write a starter workflow and its test',
    group: RUNNING,
    load: async () => (await import('./commands/init.ts')).addInit,
  },
  {
    name: 'demo',
    summary: 'run all five loops on scripted agents',
    group: RUNNING,
    load: async () => (await import('./commands/demo.ts')).addDemo,
  },
  {
    name: 'run',
    summary: 'start a run of a workflow file, and work on it',
    group: RUNNING,
    load: async () => (await import('./commands/run.ts')).addRun,
  },
  {
    name: 'resume',
    summary: 'go on with open runs',
    group: RUNNING,
    load: async () => (await import('./commands/resume.ts')).addResume,
  },
  {
    name: 'ps',
    summary: 'list runs',
    group: LOOKING,
    load: async () => (await import('./commands/ps.ts')).addPs,
  },
  {
    name: 'show',
    summary: 'show a run or a story',
    group: LOOKING,
    load: async () => (await import('./commands/show.ts')).addShow,
  },
  {
    name: 'events',
    summary: 'print the events of a run',
    group: LOOKING,
    load: async () => (await import('./commands/events.ts')).addEvents,
  },
  {
    name: 'issues',
    summary: 'list what was found and is not resolved',
    group: LOOKING,
    load: async () => (await import('./commands/issues.ts')).addIssues,
  },
  {
    name: 'stats',
    summary: 'add up runs by workflow',
    group: LOOKING,
    load: async () => (await import('./commands/stats.ts')).addStats,
  },
  {
    name: 'graph',
    summary: 'draw a workflow or a run for Mermaid',
    group: LOOKING,
    load: async () => (await import('./commands/graph.ts')).addGraph,
  },
  {
    name: 'questions',
    summary: 'list open questions',
    group: DECIDING,
    load: async () => (await import('./commands/questions.ts')).addQuestions,
  },
  {
    name: 'answer',
    summary: 'answer a question',
    group: DECIDING,
    load: async () => (await import('./commands/answer.ts')).addAnswer,
  },
  {
    name: 'pause',
    summary: 'let nothing new begin in a run',
    group: DECIDING,
    load: async () => (await import('./commands/pause.ts')).addPause,
  },
  {
    name: 'cancel',
    summary: 'end a run',
    group: DECIDING,
    load: async () => (await import('./commands/cancel.ts')).addCancel,
  },
  {
    name: 'reset',
    summary: 'set the count of refinements of a story back',
    group: DECIDING,
    load: async () => (await import('./commands/reset.ts')).addReset,
  },
  {
    name: 'prove',
    summary: 'say whether every run of a workflow ends',
    group: CHECKING,
    load: async () => (await import('./commands/prove.ts')).addProve,
  },
  {
    name: 'doctor',
    summary: 'look whether everything that runs need is there',
    group: CHECKING,
    load: async () => (await import('./commands/doctor.ts')).addDoctor,
  },
  ...LOOKING_BACK,
];
