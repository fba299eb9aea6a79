import { type AuditFilter, RuntimeError } from '../../index.ts';
import type { AddCommand } from '../command-table.ts';
import { escapeText } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { findRun, openToLook } from '../open.ts';

const EXAMPLES = `
Examples:
  loopwright audit --run last > audit.md
  loopwright audit --requirement REQ-123 --from 2026-01-01
  loopwright audit --agent developer --json`;

interface Options {
  readonly run?: string;
  readonly loop?: string;
  readonly agent?: string;
  readonly requirement?: string;
  readonly from?: string;
  readonly to?: string;
}

/** `audit`: who did what, when, why, and what it changed. */
export const addAudit: AddCommand = (command, { terminal, action }) =>
  void command
    .description(
      'Prints who did what, when, why, caused by what, and what it changed: as Markdown, or as JSON.',
    )
    .option('--run <run>', 'only this run')
    .option('--loop <id>', 'only this loop, and all below it')
    .option('--agent <name>', 'only what this agent or person was asked, did and said')
    .option('--requirement <id>', 'only what is about this requirement')
    .option('--from <time>', 'only from this time on: 2026-01-31, or 2026-01-31T12:00:00Z')
    .option('--to <time>', 'only before this time')
    .addHelpText('after', EXAMPLES)
    .action(
      action<Options>(async (_args, { run, loop, agent, requirement, from, to, ...common }) => {
        const { runtime } = await openToLook(common);
        try {
          const filter: AuditFilter = {
            ...(run !== undefined && { run: (await findRun(runtime, run)).id }),
            ...(loop !== undefined && { loop }),
            ...(agent !== undefined && { agent }),
            ...(requirement !== undefined && { requirement }),
            ...(from !== undefined && { from: timeOf('--from', from) }),
            ...(to !== undefined && { to: timeOf('--to', to) }),
          };
          const trail = await runtime.auditOf(filter);
          if (terminal.isJson) terminal.json(trail);
          else terminal.say(escapeText(trail.toMarkdown()).trimEnd());
          return EXIT.ok;
        } finally {
          await runtime.close();
        }
      }),
    );

const timeOf = (option: string, text: string): Date => {
  const time = new Date(text);
  if (/^\d{4}-/.test(text) && !Number.isNaN(time.getTime())) return time;
  throw new RuntimeError('WRONG_USE', {
    problem: `${option} is "${text}", which is no time.`,
    instead: 'Write 2026-01-31, or 2026-01-31T12:00:00Z.',
  });
};
