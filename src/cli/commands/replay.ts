import { createInterface } from 'node:readline';
import { lastValueFrom, tap } from 'rxjs';
import { isRuntimeError, type Replay, type ReplayStep, RuntimeError } from '../../index.ts';
import type { AddCommand } from '../command-table.ts';
import { escapeLine, excerpt } from '../escape.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { numberOf } from '../numbers.ts';
import { findRun, openToLook } from '../open.ts';
import type { Terminal } from '../terminal.ts';
import { duration } from '../text.ts';

const EXAMPLES = `
Examples:
  loopwright replay last              every event, and what it did to its actor
  loopwright replay last --to 42      up to position 42, and every actor as it was then
  loopwright replay last --speed 1    as fast as it was; 60 makes a second of a minute
  loopwright replay last --step       one event for each Enter; q ends it`;

interface Options {
  readonly to?: string;
  readonly speed?: string;
  readonly step?: boolean;
}

/** `replay`: a run lived once more. Nothing is called or written. */
export const addReplay: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Lives a run once more, event by event. No agent is called, and nothing is written.')
    .argument('<run>', 'the run')
    .option('--to <position>', 'stop after this position, and show every actor as it was then')
    .option('--speed <factor>', '1 is as fast as it was; 0 or "max" (default) does not wait')
    .option('--step', 'wait for Enter before each event')
    .addHelpText('after', EXAMPLES)
    .action(
      action<Options>(async ([given = ''], { to, speed, step = false, ...common }) => {
        const end = to === undefined ? Number.POSITIVE_INFINITY : numberOf('--to', to);
        const pace = speed === undefined || speed === 'max' ? 0 : numberOf('--speed', speed);
        if (step && !terminal.canAsk)
          throw new RuntimeError('WRONG_USE', {
            problem: '--step waits for a person, and there is no terminal.',
            instead: 'Leave it out, or call it in a terminal without --json.',
          });
        const { runtime } = await openToLook(common);
        try {
          const { id } = await findRun(runtime, given);
          const replay = runtime.replay({ run: id });
          return await played(replay, terminal, { end, pace, step, isCut: to !== undefined });
        } finally {
          await runtime.close();
        }
      }),
    );

interface Playing {
  readonly end: number;
  /** 0 for no waiting. */
  readonly pace: number;
  readonly step: boolean;
  readonly isCut: boolean;
}

const played = async (replay: Replay, terminal: Terminal, playing: Playing): Promise<ExitCode> => {
  const show = shower(terminal);
  try {
    if (playing.step) await byHand(replay, playing.end, show);
    else {
      const speed = playing.pace === 0 ? Number.POSITIVE_INFINITY : playing.pace;
      await lastValueFrom(replay.play$({ speed, to: playing.end }).pipe(tap(show)), {
        defaultValue: undefined,
      });
    }
  } catch (error) {
    if (!isRuntimeError(error, 'REPLAY_DIVERGED', 'LOG_CORRUPT')) throw error;
    terminal.note(escapeLine(error.message));
    return EXIT.failed;
  }
  if (!playing.isCut) return EXIT.ok;
  const actors = replay.actors().map(({ address, value, status }) => ({ address, value, status }));
  if (terminal.isJson) terminal.json({ position: replay.position, actors });
  else
    terminal.say(
      [
        `At position ${replay.position}:`,
        ...actors.map(({ address, value, status }) =>
          escapeLine(`  ${address}  ${JSON.stringify(value)}${status === 'active' ? '' : `  ${status}`}`),
        ),
      ].join('\n'),
    );
  return EXIT.ok;
};

/** Each event on a line of its own, with the time since the first. */
const shower = (terminal: Terminal): ((step: ReplayStep) => void) => {
  let beganMs: number | undefined;
  return ({ event, before, after }) => {
    const { position, atMs, actor, kind, type, data } = event;
    beganMs ??= atMs;
    if (terminal.isJson) {
      terminal.json({
        position,
        atMs,
        actor,
        kind,
        type,
        data,
        before: before?.value ?? null,
        after: after.value,
      });
      return;
    }
    const [was, is] = [before && JSON.stringify(before.value), JSON.stringify(after.value)];
    const moved = was === is ? '' : `  ${was === null ? '' : `${was} `}→ ${is}`;
    const { colors } = terminal;
    terminal.say(
      `${String(position).padStart(5)}  +${duration(atMs - beganMs).padEnd(7)} ${colors.bold(escapeLine(actor))}  ` +
        `${escapeLine(type)}${kind === 'message' ? '' : colors.dim(` (${kind})`)}${escapeLine(moved)}` +
        colors.dim(`  ${excerpt(JSON.stringify(data), 80)}`),
    );
  };
};

/** One event for each line that a person enters. */
const byHand = async (replay: Replay, end: number, show: (step: ReplayStep) => void): Promise<void> => {
  const input = createInterface({ input: process.stdin });
  const lines = input[Symbol.asyncIterator]();
  try {
    for (let next = await replay.step(); next; next = await replay.step()) {
      show(next);
      if (next.event.position >= end) return;
      const line = await lines.next();
      if (line.done === true || line.value.trim() === 'q') return;
    }
  } finally {
    input.close();
  }
};
