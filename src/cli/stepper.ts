import { isRuntimeError, type Run, RuntimeError } from '../index.ts';
import { askLine } from './ask.ts';
import { contextIn } from './run-context.ts';
import type { Terminal } from './terminal.ts';

/** Lets a run do one action at a time. */
export interface Stepper {
  /** Whether nothing is at work, and the next action waits to be let go. */
  isAtStep(run: Run): Promise<boolean>;
  /** Asks whether to go on, and lets the next action begin. `left`: it stays where it is. */
  next(run: Run, terminal: Terminal, signal: AbortSignal): Promise<'taken' | 'left' | 'gone'>;
  /** To be called when the run has begun, before anything of it has ended. */
  begin(run: Run): Promise<void>;
}

const REASON = 'step';

/** A board of stories has steps of its own; other loops are held between theirs. */
export const createStepper = (): Stepper => {
  let goesOn = false;
  return {
    async begin(run) {
      if (await isBoard(run)) return;
      try {
        await run.pause(REASON);
      } catch (error) {
        if (!isRuntimeError(error, 'NOT_PAUSABLE')) throw error;
        await run.cancel({ reason: 'it has no steps' });
        throw new RuntimeError('WRONG_USE', {
          problem: 'This loop has no steps to stop at.',
          instead: 'Loops with steps are tight, plan, phases, tree and stories. Leave out --step.',
        });
      }
    },
    async isAtStep(run) {
      if (goesOn) return false;
      const { pauseReasons, whole } = contextIn(await run.state());
      return pauseReasons.includes(REASON) || whole['mode'] === 'manual';
    },
    async next(run, terminal, signal) {
      const typed = await askLine(`${run.id}: next step? (Enter; a: all; q: leave it here) `, signal);
      if (typed === 'gone' || typed === 'withdrawn') return 'gone';
      if (typed.text.startsWith('q')) return 'gone';
      goesOn = typed.text.startsWith('a');
      terminal.draw('');
      if (await isBoard(run))
        await run.send(
          goesOn ? ({ type: 'stories.mode', mode: 'auto' } as { type: string }) : { type: 'stories.next' },
        );
      else {
        await run.resume(REASON);
        if (!goesOn) await run.pause(REASON).catch(ignoreEnded);
      }
      return 'taken';
    },
  };
};

const isBoard = async (run: Run): Promise<boolean> => 'cards' in contextIn(await run.state()).whole;

/** The step was its last. */
const ignoreEnded = (error: unknown): void => {
  if (!isRuntimeError(error, 'RUN_ENDED', 'NOT_PAUSABLE', 'UNKNOWN_ACTOR')) throw error;
};
