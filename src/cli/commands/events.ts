import { setTimeout as sleep } from 'node:timers/promises';
import { type RecordedEvent, type Runtime, RuntimeError } from '../../index.ts';
import type { AddCommand, CommonOptions } from '../command-table.ts';
import { escapeLine, excerpt } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { stateName } from '../glance.ts';
import { listenForInterrupt } from '../interrupt.ts';
import { findRun, openToLook } from '../open.ts';
import type { Terminal } from '../terminal.ts';

const EXAMPLES = `
Examples:
  loopwright events last
  loopwright events ship-3 --type lw.call.done --json
  loopwright events ship-3 --follow     goes on until the run has ended; Ctrl-C leaves it`;

const POLL_MS = 200;
const PAGE = 1_000;

interface EventsOptions extends CommonOptions {
  readonly follow?: boolean;
  readonly type?: readonly string[];
}

/** `events RUN`: the log of a run, row by row. */
export const addEvents: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Prints the events of a run in order; with --json, one on each line.')
    .argument('<run>', 'its id, the beginning of it, or last')
    .option('-f, --follow', 'go on as they come, until the run has ended')
    .option('--type <type...>', 'only those of these types')
    .addHelpText('after', EXAMPLES)
    .action(
      action<EventsOptions>(async ([given = ''], { follow = false, type, ...common }) => {
        if (type?.includes(''))
          throw new RuntimeError('WRONG_USE', {
            problem: '--type is empty.',
            instead: 'Name a type of events.',
          });
        const { runtime } = await openToLook(common);
        try {
          const { id } = await findRun(runtime, given);
          const printed = await print(runtime, terminal, { run: id, after: 0, ...(type && { types: type }) });
          if (!follow) return EXIT.ok;
          return await followRun(runtime, terminal, {
            run: id,
            after: printed,
            ...(type && { types: type }),
          });
        } finally {
          await runtime.close();
        }
      }),
    );

interface Which {
  readonly run: string;
  readonly after: number;
  readonly types?: readonly string[];
}

/** Prints what there is, and gives the position of the last. */
const print = async (runtime: Runtime, terminal: Terminal, which: Which): Promise<number> => {
  let { after } = which;
  for (;;) {
    const events = await runtime.audit({ ...which, after, limit: PAGE });
    for (const event of events) {
      if (terminal.isJson) terminal.json(event);
      else terminal.say(lineOf(event));
    }
    after = events.at(-1)?.position ?? after;
    if (events.length < PAGE) return after;
  }
};

const followRun = async (runtime: Runtime, terminal: Terminal, which: Which) => {
  const interrupt = listenForInterrupt();
  let { after } = which;
  try {
    while (!interrupt.signal.aborted) {
      const [record] = (await runtime.runs()).filter(({ id }) => id === which.run);
      after = await print(runtime, terminal, { ...which, after });
      if (record?.verdict != null) return EXIT.ok;
      await Promise.race([sleep(POLL_MS), interrupt.raised]);
    }
    return EXIT.interrupted;
  } finally {
    interrupt.ignore();
  }
};

const lineOf = ({ position, atMs, actor, kind, type, state, data }: RecordedEvent): string => {
  const what = kind === 'message' || kind === 'started' ? type : `${type} (${kind})`;
  const head = `${String(position).padStart(6)}  ${new Date(atMs).toISOString()}  ${actor}  ${what}  ${stateName(state)}`;
  return `${escapeLine(head)}  "${excerpt(JSON.stringify(data), 160)}"`;
};
