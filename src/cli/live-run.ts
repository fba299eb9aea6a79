import { firstValueFrom } from 'rxjs';
import {
  type ActorState,
  isRuntimeError,
  type OpenQuestion,
  type Run,
  type Runtime,
  WAITING_TAG,
} from '../index.ts';
import { answerOnTerminal } from './answer-question.ts';
import { type Telling, tellEnd, tellPaused, tellWaiting, withFingerprint } from './endings.ts';
import { EXIT, type ExitCode, exitOf, worstOf } from './exit-codes.ts';
import { type AgentAtWork, CALL_TYPES, type Glance, glanceAt, noteAtWork } from './glance.ts';
import { type Interrupt, listenForInterrupt } from './interrupt.ts';
import { createLiveView, type LiveView } from './live-view.ts';
import { heldFor } from './pauses.ts';
import { howToAnswer, questionText } from './question-text.ts';
import { contextIn } from './run-context.ts';
import { type Stepper } from './stepper.ts';
import type { Terminal } from './terminal.ts';
import type { Warnings } from './warnings.ts';
import { hint } from './ways-on.ts';

export interface LiveOptions {
  readonly terminal: Terminal;
  /** Whether questions are asked on this terminal. */
  readonly asks: boolean;
  /** Whether it stays while a person is waited for, who may answer from elsewhere. */
  readonly stays: boolean;
  readonly by: string;
  /** The log that was named. */
  readonly log: { readonly db?: string };
  readonly stepper?: Stepper;
  readonly warnings: Warnings;
}

interface Followed {
  readonly id: string;
  readonly run: Run;
  readonly atWork: Map<string, AgentAtWork>;
  glance: Glance | undefined;
  note: string;
  isOver: boolean;
  /** Waits to be told that the run is held. */
  held: (() => void) | undefined;
  /** Whether it was said that the run is paused. */
  isToldPaused: boolean;
}

/** Goes on with runs until each has ended or waits for a person, and shows how far they are. Closes the runtime. */
export const workOn = async (
  runtime: Runtime,
  ids: readonly string[],
  options: LiveOptions,
): Promise<ExitCode> => {
  const interrupt = listenForInterrupt();
  const view = createLiveView(options.terminal);
  options.warnings.tellBy((line) => view.say(line));
  const live = new LiveRuns({ runtime, view, interrupt, options });
  try {
    const work = live.work(ids);
    const first = await Promise.race([work, interrupt.raised.then(() => EXIT.interrupted)]);
    // Whatever comes after the end of the last run has interrupted nothing.
    const code = live.open().length === 0 ? await work : first;
    work.catch(() => undefined);
    view.close();
    if (code === EXIT.interrupted) tellInterrupted(options, live.open());
    await runtime.close();
    return code;
  } finally {
    view.close();
    live.stop();
    await runtime.close();
    interrupt.ignore();
  }
};

const tellInterrupted = ({ terminal, log }: LiveOptions, open: readonly string[]): void => {
  if (terminal.isJson) terminal.json({ type: 'interrupted', runs: open });
  else {
    const which = open.length === 1 ? open : [];
    terminal.note(`Interrupted. Nothing is lost; go on with: ${hint(log, 'resume', ...which)}`);
  }
};

interface LiveParts {
  readonly runtime: Runtime;
  readonly view: LiveView;
  readonly interrupt: Interrupt;
  readonly options: LiveOptions;
}

/** Runs that this process works on. */
class LiveRuns {
  readonly #parts: LiveParts;
  readonly #followed = new Map<string, Followed>();
  readonly #stops: (() => void)[] = [];
  #asking: Promise<void> = Promise.resolve();
  #isRefreshing = false;

  constructor(parts: LiveParts) {
    this.#parts = parts;
  }

  async work(ids: readonly string[]): Promise<ExitCode> {
    const { runtime } = this.#parts;
    for (const id of ids) await this.#add(id);
    const events = runtime.events$.subscribe((event) => {
      const followed = this.#followed.get(event.run);
      if (!followed) return;
      noteAtWork(followed.atWork, event);
      this.#refreshSoon();
    });
    const questions = runtime.questions$.subscribe((question) => this.#opened(question));
    this.#stops.push(
      () => events.unsubscribe(),
      () => questions.unsubscribe(),
    );
    this.#refreshSoon();
    return worstOf(await Promise.all([...this.#followed.values()].map((followed) => this.#follow(followed))));
  }

  stop(): void {
    for (const stop of this.#stops) stop();
  }

  open(): readonly string[] {
    return [...this.#followed.values()].filter(({ isOver }) => !isOver).map(({ id }) => id);
  }

  async #add(id: string): Promise<void> {
    const { runtime } = this.#parts;
    const atWork = new Map<string, AgentAtWork>();
    const limit = Number.POSITIVE_INFINITY;
    for (const event of await runtime.audit({ run: id, types: CALL_TYPES, limit })) noteAtWork(atWork, event);
    const run = await runtime.run(id);
    this.#followed.set(id, {
      id,
      run,
      atWork,
      glance: undefined,
      note: '',
      isOver: false,
      held: undefined,
      isToldPaused: false,
    });
  }

  /** Until the run has ended, or waits or is paused and nobody stays for that. */
  async #follow(followed: Followed): Promise<ExitCode> {
    const { runtime, options, interrupt } = this.#parts;
    const { run, id } = followed;
    for (;;) {
      await Promise.race([run.settled(), this.#untilHeld(followed)]);
      const state = await run.state();
      if (state.status !== 'active') {
        const result = await run.result();
        followed.isOver = true;
        await this.#refresh();
        await tellEnd(runtime, result, this.#telling());
        return exitOf(result.verdict);
      }
      if (interrupt.signal.aborted) return EXIT.interrupted;
      if (await this.#stepped(followed)) continue;
      const isWaiting = state.tags.includes(WAITING_TAG);
      const isPaused = !isWaiting && isHeld(followed, state);
      if (isPaused) this.#tellPaused(followed, heldFor(contextIn(state).pauseReasons));
      else followed.isToldPaused = false;
      // Somebody else has let it go on.
      if (!isWaiting && !isPaused) continue;
      if (!options.stays) {
        if (isWaiting) await tellWaiting(runtime, id, this.#telling());
        return EXIT.waiting;
      }
      await nextOf(run);
    }
  }

  #tellPaused(followed: Followed, reasons: readonly string[]): void {
    if (followed.isToldPaused) return;
    followed.isToldPaused = true;
    tellPaused(followed.id, reasons, this.#telling());
  }

  #telling(): Telling {
    const { options, view } = this.#parts;
    const { terminal, log } = options;
    return { terminal, log, say: (line) => view.say(line) };
  }

  /** Whether the run is held between two steps and was let go, or is to stay. */
  async #stepped({ id, run }: Followed): Promise<boolean> {
    const { view, interrupt, options, runtime } = this.#parts;
    const { stepper } = options;
    if (!stepper || (await runtime.questions({ run: id })).length > 0) return false;
    if (!(await stepper.isHeld(run))) return false;
    await this.#refresh();
    view.hold(true);
    const outcome = await stepper.next(run, interrupt.signal);
    view.hold(false);
    if (outcome === 'gone') interrupt.raise();
    return true;
  }

  /** Resolves when a run is held between two steps or by a pause, and none of its agents is at work any more. */
  #untilHeld(followed: Followed): Promise<void> {
    return new Promise((resolve) => {
      followed.held = resolve;
      this.#refreshSoon();
    });
  }

  #opened(question: OpenQuestion): void {
    const { options, view, interrupt, runtime } = this.#parts;
    if (!this.#followed.has(question.run)) return;
    if (!options.asks) {
      if (options.stays) this.#tellQuestion(question);
      return;
    }
    // One after the other: a person reads one at a time.
    this.#asking = this.#asking.then(async () => {
      const closing = new AbortController();
      const closed = runtime.events$.subscribe(({ actor, type }) => {
        if (actor === question.id && CLOSING.includes(type)) closing.abort();
      });
      const signal = AbortSignal.any([closing.signal, interrupt.signal]);
      try {
        const isOpen = (await runtime.questions()).some(({ id }) => id === question.id);
        if (!isOpen || signal.aborted) return;
        view.hold(true);
        const { terminal, by } = options;
        if ((await answerOnTerminal(runtime, question, { terminal, by, signal })) === 'gone')
          interrupt.raise();
      } catch (error) {
        if (!isRuntimeError(error, 'RUNTIME_CLOSED')) options.warnings.warn(String(error));
      } finally {
        closed.unsubscribe();
        view.hold(false);
      }
    });
  }

  #tellQuestion(question: OpenQuestion): void {
    const { options, view } = this.#parts;
    if (options.terminal.isJson) options.terminal.json({ type: 'question', ...withFingerprint(question) });
    else view.say(`${questionText(question)}\nAnswer with: ${howToAnswer(question, options.log)}`);
  }

  #refreshSoon(): void {
    if (this.#isRefreshing) return;
    this.#isRefreshing = true;
    setImmediate(() => {
      this.#isRefreshing = false;
      this.#refresh().catch(() => undefined);
    });
  }

  async #look(followed: Followed): Promise<void> {
    const state = await followed.run.state();
    followed.glance = glanceAt(state);
    if (isHeld(followed, state)) followed.held?.();
  }

  async #refresh(): Promise<void> {
    const open = [...this.#followed.values()];
    for (const followed of open) if (!followed.isOver) await this.#look(followed);
    this.#parts.view.show(
      open
        .filter(({ isOver }) => !isOver)
        .map(({ id, glance, atWork, note }) => ({ id, glance, atWork: [...atWork.values()], note })),
    );
  }
}

/** Whether a run does nothing any more until somebody takes a pause back. */
const isHeld = ({ atWork }: Followed, state: ActorState): boolean =>
  atWork.size === 0 && heldFor(contextIn(state).pauseReasons).length > 0;

const CLOSING = ['question.closed', 'question.answer', 'lw.stopped', 'lw.failed'];

/** Resolves with the next event of a run, or its end. */
const nextOf = async (run: Run): Promise<void> => {
  const event = firstValueFrom(run.events$, { defaultValue: undefined });
  await Promise.race([event, run.result()]);
};
