import type { Command } from 'commander';
import type { ExitCode } from './exit-codes.ts';
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

/** Every command, in the order in which help lists them. */
export const COMMANDS: readonly CommandRow[] = [
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
];
