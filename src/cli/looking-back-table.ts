import type { CommandRow } from './command-table.ts';

const BACK = 'Look back:';
const MOVING = 'Move logs and files:';

/** The commands that look back, and those that bring logs and files in and out. */
export const LOOKING_BACK: readonly CommandRow[] = [
  {
    name: 'why',
    summary: 'why a run stands where it does, and how to go on',
    group: BACK,
    load: async () => (await import('./commands/why.ts')).addWhy,
  },
  {
    name: 'audit',
    summary: 'who did what, when and why',
    group: BACK,
    load: async () => (await import('./commands/audit.ts')).addAudit,
  },
  {
    name: 'replay',
    summary: 'live a run once more',
    group: BACK,
    load: async () => (await import('./commands/replay.ts')).addReplay,
  },
  {
    name: 'verify',
    summary: 'check that the log is whole, and can be made again',
    group: BACK,
    load: async () => (await import('./commands/verify.ts')).addVerify,
  },
  {
    name: 'diff',
    summary: 'where two runs part, or a run under another workflow',
    group: BACK,
    load: async () => (await import('./commands/diff.ts')).addDiff,
  },
  {
    name: 'fork',
    summary: 'what would have been with another answer or limit',
    group: BACK,
    load: async () => (await import('./commands/fork.ts')).addFork,
  },
  {
    name: 'inspect',
    summary: 'see the log in Stately Inspector',
    group: BACK,
    load: async () => (await import('./commands/inspect.ts')).addInspect,
  },
  {
    name: 'export',
    summary: 'write the log as lines of JSON',
    group: MOVING,
    load: async () => (await import('./commands/export.ts')).addExport,
  },
  {
    name: 'import',
    summary: 'bring in a log, or files of other systems',
    group: MOVING,
    load: async () => (await import('./commands/import.ts')).addImport,
  },
  {
    name: 'backup',
    summary: 'copy the log while it is in use',
    group: MOVING,
    load: async () => (await import('./commands/backup.ts')).addBackup,
  },
];
