import { filter, firstValueFrom } from 'rxjs';
import { isRuntimeError, type Run } from '../index.ts';
import { askLine } from './ask.ts';
import { contextIn } from './run-context.ts';

/** Lets runs do one action at a time: boards of stories that wait to be told, and other loops by a pause between their calls. */
export interface Stepper {
  /** To be called once for a run that has just begun: holds it after its first action. */
  hold(run: Run): Promise<void>;
  /** Whether the run is held, so that nothing new begins. */
  isHeld(run: Run): Promise<boolean>;
  /** Asks whether to go on, and lets the next action begin. `gone`: it is to stay where it is. */
  next(run: Run, signal: AbortSignal): Promise<'taken' | 'gone'>;
}

/** The reason of a pause between two steps. */
export const STEP_REASON = 'step';

export const createStepper = (): Stepper => ({
  hold: async (run) => {
    if (!(await isBoard(run))) await pauseOnceBegun(run, begun(run));
  },
  isHeld: async (run) => {
    const { pauseReasons, whole } = contextIn(await run.state());
    return pauseReasons.includes(STEP_REASON) || whole['mode'] === 'manual';
  },
  next: async (run, signal) => {
    const typed = await askLine(`${run.id}: next step? (Enter; a: all; q: leave it here) `, signal);
    if (typeof typed === 'string' || typed.text.startsWith('q')) return 'gone';
    const goesOn = typed.text.startsWith('a');
    if (await isBoard(run)) await run.send(goesOn ? AUTOMATIC : { type: 'stories.next' });
    else {
      const begins = begun(run);
      await run.resume(STEP_REASON);
      if (!goesOn) await pauseOnceBegun(run, begins);
    }
    return 'taken';
  },
});

/** Lets a board go on by itself. */
export const AUTOMATIC: { readonly type: string; readonly mode: string } = {
  type: 'stories.mode',
  mode: 'auto',
};

export const isBoard = async (run: Run): Promise<boolean> => 'cards' in contextIn(await run.state()).whole;

/** Resolves when a call of the run begins, or nothing will. */
const begun = (run: Run): Promise<unknown> =>
  Promise.race([
    firstValueFrom(run.events$.pipe(filter(({ type }) => type === 'lw.call.begun')), { defaultValue: null }),
    run.settled(),
  ]);

/** A call that has not begun would be taken back by the pause. */
const pauseOnceBegun = async (run: Run, begins: Promise<unknown>): Promise<void> => {
  await begins;
  try {
    await run.pause(STEP_REASON);
  } catch (error) {
    // That call was its last.
    if (!isRuntimeError(error, 'RUN_ENDED', 'NOT_PAUSABLE', 'UNKNOWN_ACTOR')) throw error;
  }
};
