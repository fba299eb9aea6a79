import { type KeptHead, openLog, type VerifyReport } from '../../index.ts';
import type { AddCommand } from '../command-table.ts';
import { escapeLine } from '../escape.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { existingLog } from '../log-file.ts';
import { openRuntime, openToLook } from '../open.ts';
import type { Terminal } from '../terminal.ts';
import { wrong } from '../wrong-use.ts';

const EXAMPLES = `
Examples:
  loopwright verify            every row, the chain, and every state made anew
  loopwright verify --quick    rows and chain only: no workflow is needed
  loopwright verify --head 37:8f0c…    and that the log still has what this was printed of
  loopwright verify --restored         after a backup was put in the place of the log`;

interface Options {
  readonly quick?: boolean;
  readonly head?: string;
  readonly restored?: boolean;
}

/** `verify`: whether the log is whole, and whether what it says can be made again. */
export const addVerify: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Checks every row of the log and their chain, then makes every actor anew and compares.')
    .option('--quick', 'do not make the actors anew')
    .option('--head <position:chain>', 'what an earlier verify has printed: nothing of that may be lost')
    .option('--restored', 'the log is a backup that was put back on purpose: forget that it was longer')
    .addHelpText('after', EXAMPLES)
    .action(
      action<Options>(async (_args, { quick = false, head, restored = false, ...common }) => {
        const progress = progressOf(terminal);
        const kept = head === undefined ? {} : { head: keptHead(head) };
        const file = existingLog(common);
        if (restored) await (await openRuntime(file, { mode: 'command', restored })).close();
        const log = await openLog(file);
        let rows: VerifyReport;
        try {
          const { position } = await log.head().catch(() => ({ position: 0 }));
          rows = await log.verify({ ...kept, onProgress: (done) => progress.show('rows', done, position) });
        } finally {
          progress.end();
          await log.close();
        }
        if (!rows.ok) return told(terminal, 'rows', { ...rows, states: null });
        if (quick) return told(terminal, 'rows', { ...rows, states: null });
        const { runtime } = await openToLook(common);
        try {
          const { replay } = await runtime.verify({
            onProgress: (done) => progress.show('states', done, rows.events),
          });
          progress.end();
          const { problem, ok, events, actors, states } = replay;
          return told(terminal, 'states', { ok, events, problem, actors, states, head: rows.head });
        } finally {
          await runtime.close();
        }
      }),
    );

/** @throws {RuntimeError} WRONG_USE */
const keptHead = (given: string): KeptHead => {
  const [, position, chain] = /^(\d{1,15}):([\da-f]{64})$/.exec(given) ?? [];
  if (position !== undefined && chain !== undefined) return { position: Number(position), chain };
  throw wrong(
    `"${given}" is no head of a log.`,
    'Give what loopwright verify has printed as its head: a position, a colon and 64 digits from 0 to f.',
  );
};

const headText = ({ position, chain }: VerifyReport['head']): string => `${position}:${chain}`;

type Report = Pick<VerifyReport, 'ok' | 'events' | 'problem' | 'head'> & {
  readonly actors?: number;
  readonly states: string | null;
};

const ADVICE = {
  rows: 'What stands before it can be trusted. Restore a backup (loopwright backup made it; say so then: loopwright verify --restored), or import an export.',
  states:
    'The rows are as they were written. A workflow that is not here, or behaves otherwise than it did: keep its old version. A view or snapshot: it can be made anew.',
};

const told = (terminal: Terminal, of: keyof typeof ADVICE, report: Report): ExitCode => {
  const { ok, events, problem, actors, states, head } = report;
  const advice = problem ? ADVICE[of] : null;
  if (terminal.isJson)
    terminal.json({
      ok,
      events,
      chain: head.chain,
      head: headText(head),
      actors: actors ?? null,
      states,
      problem: problem ?? null,
      advice,
    });
  else if (problem) {
    const place = problem.position === 0 ? 'beside its rows' : `at position ${problem.position}`;
    terminal.say(`${terminal.colors.red('Not as it should be')}, ${place}: ${escapeLine(problem.what)}`);
    terminal.say(ADVICE[of]);
  } else {
    terminal.say(`${terminal.colors.green('ok')}: ${events} events, head ${headText(head)}`);
    if (states !== null)
      terminal.say(`${actors ?? 0} actors made anew, each in the state that was recorded.`);
  }
  return ok ? EXIT.ok : EXIT.failed;
};

const SHOWN_EVERY_MS = 200;

/** On a terminal, how far a long check is. */
const progressOf = (terminal: Terminal) => {
  let lastMs = Date.now();
  let isShown = false;
  return {
    show: (what: string, done: number, total: number): void => {
      if (!terminal.isTty || Date.now() - lastMs < SHOWN_EVERY_MS) return;
      lastMs = Date.now();
      isShown = true;
      terminal.draw(`\r\u001b[K${what}: ${done} of ${total}`);
    },
    end: (): void => {
      if (isShown) terminal.draw('\r\u001b[K');
      isShown = false;
    },
  };
};
