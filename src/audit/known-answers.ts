import type { Stimulus } from '../actors/stimulus.ts';
import type { Address } from '../events/event.ts';
import type { OpenCall } from '../events/turn.ts';
import { QUESTION } from '../machines/question-machine.ts';
import { askedKey, type Past, type PastCall, type PastQuestion, workKey } from './past.ts';
import { numbered } from './past-stimulus.ts';
import { isQuestion } from './questions.ts';
import { type CallKey, callKey, type Opened, type Taken, type World } from './world.ts';

/** A stimulus without an id, at the time at which it comes. */
export type Due = Stimulus extends infer Each ? (Each extends Stimulus ? Omit<Each, 'id'> : never) : never;

/** When something comes, and where it came in the log: what came at the same time comes in the same order. */
export interface Moment {
  readonly atMs: number;
  readonly order: number;
}

interface Coming extends Moment {
  readonly due: Due;
}

const before = (one: Moment, other: Moment): number => one.atMs - other.atMs || one.order - other.order;

interface Asked {
  readonly asked: string;
  readonly openedAtMs: number;
}

const NEVER = Number.POSITIVE_INFINITY;
const LAST: Moment = { atMs: NEVER, order: NEVER };

/**
 * What agents and persons said in the past, for whoever asks the same again. Each answer is given once: whoever asks more
 * often than was asked then has to ask for real.
 */
export class KnownAnswers {
  readonly #calls: readonly PastCall[];
  readonly #questions: readonly PastQuestion[];
  readonly #world: World;
  readonly #fired: Past['fired'];
  readonly #used = new Set<PastCall | PastQuestion>();
  /** Which answers the open calls will get; null for those of which nobody knows. */
  readonly #assigned = new Map<CallKey, PastCall | null>();
  readonly #begun = new Set<CallKey>();
  readonly #open = new Map<Address, Asked>();
  readonly #waiting = new Map<Address, PastQuestion | null>();
  #isSimulating = false;

  constructor(
    calls: readonly PastCall[],
    questions: readonly PastQuestion[],
    { world, fired }: { readonly world: World; readonly fired: Past['fired'] },
  ) {
    this.#calls = calls;
    this.#questions = questions;
    this.#world = world;
    this.#fired = fired;
  }

  /** How many answers were given. */
  get used(): number {
    return this.#used.size;
  }

  use(answer: PastCall | PastQuestion): void {
    this.#used.add(answer);
  }

  /** Takes down what a turn opened and closed. */
  note({ recorded }: Taken): void {
    for (const event of recorded.events) {
      if (isQuestion(event))
        this.#open.set(event.actor, { asked: askedKey(event.data), openedAtMs: event.atMs });
      if (event.type === 'lw.call.begun' && event.kind === 'message')
        this.#begun.add(callKey({ actor: event.actor, ...numbered(event.data, 'call') }));
    }
    for (const address of this.#open.keys())
      if (this.#world.actor(address)?.status !== 'active') this.#open.delete(address);
    if (this.#isSimulating) this.#assign();
  }

  isAsked({ actor, asked }: PastQuestion): boolean {
    return this.#open.get(actor)?.asked === asked;
  }

  /** From now on, whatever is open gets its answer from here. */
  simulate(): void {
    this.#isSimulating = true;
    this.#assign();
  }

  /** The answer to a call that was never made, if the same was asked before and has not been answered here yet. */
  find(call: OpenCall): PastCall | undefined {
    const free = this.#freeFor(call).filter(({ outcome }) => outcome !== null);
    const [found] = free;
    if (found) this.#used.add(found);
    return found;
  }

  unknownCalls(): readonly OpenCall[] {
    return [...this.#world.calls].flatMap(([key, call]) => (this.#assigned.get(key)?.outcome ? [] : [call]));
  }

  /** Whether something that is open has an answer here that it has not been given. */
  hasNews(): boolean {
    const isAnswered = this.#calls.some(
      (past) => past.outcome !== null && !this.#used.has(past) && this.#world.calls.has(callKey(past.call)),
    );
    return (
      isAnswered ||
      this.#questions.some((past) => past.said !== null && !this.#used.has(past) && this.isAsked(past))
    );
  }

  /**
   * What comes next; `message` if that is the message that comes then. Undefined if nobody knows: what is open has no answer,
   * and until it has one no timer fires that it might close.
   */
  next(message: Moment = LAST): Due | 'message' | undefined {
    const answer = [...this.#dueAnswers()].sort(before).at(0);
    const timer = [...this.#dueTimers()].sort(before).at(0);
    const knownUntilMs = this.#knownUntilMs();
    const isMessageNext = message.atMs <= knownUntilMs && before(message, answer ?? LAST) < 0;
    const next = isMessageNext ? message : (answer ?? LAST);
    // Time passes until the next thing that is known, if there is one.
    if (timer && before(timer, next) < 0 && (timer.atMs <= knownUntilMs || next !== LAST)) return timer.due;
    return isMessageNext ? 'message' : answer?.due;
  }

  /** Until when nothing is open of which nobody knows what becomes of it. */
  #knownUntilMs(): number {
    let until = NEVER;
    for (const [key, call] of this.#world.calls) {
      const past = this.#assigned.get(key);
      if (past?.outcome) continue;
      // It was silent for so long then.
      until = Math.min(until, call.openedAtMs + (past?.endedAfterMs ?? 0));
    }
    for (const [address, { openedAtMs }] of this.#open)
      if (!this.#waiting.get(address)) until = Math.min(until, openedAtMs);
    return until;
  }

  *#dueAnswers(): Generator<Coming> {
    for (const [key, call] of this.#world.calls) {
      const past = this.#assigned.get(key);
      const coming = past && this.#comingOf(key, call, past);
      if (coming) yield coming;
    }
    for (const [address, { openedAtMs }] of this.#open) {
      const past = this.#waiting.get(address);
      if (!past?.said) continue;
      const atMs = this.#notBefore(openedAtMs + past.said.atMs - past.openedAtMs);
      yield { atMs, order: past.saidAt ?? NEVER, due: { ...past.said, to: address, atMs, cause: null } };
    }
  }

  #comingOf(key: CallKey, call: Opened<OpenCall>, past: PastCall): Coming | undefined {
    const { actor, call: name, generation, openedAt: cause, openedAtMs } = call;
    const header = { origin: 'agent' as const, by: null, cause, actor, call: name, generation };
    if (call.announce && past.begunAfterMs !== null && !this.#begun.has(key)) {
      const atMs = this.#notBefore(openedAtMs + past.begunAfterMs);
      return { atMs, order: past.begunAt ?? NEVER, due: { ...header, kind: 'begun', atMs } };
    }
    const { outcome, endedAfterMs } = past;
    if (outcome === null || endedAfterMs === null) return undefined;
    const atMs = this.#notBefore(openedAtMs + endedAfterMs);
    return { atMs, order: past.answeredAt ?? NEVER, due: { ...header, kind: 'answer', outcome, atMs } };
  }

  /** A timer that fired then fires as it did then, which may have been late. */
  *#dueTimers(): Generator<Coming> {
    for (const [key, { actor, timer, generation, dueMs, openedAt: cause }] of this.#world.timers) {
      const past = this.#fired.get(key);
      const isSame = past?.dueMs === dueMs;
      const atMs = this.#notBefore(isSame ? past.atMs : dueMs);
      const due = {
        kind: 'fired',
        origin: 'timer',
        by: null,
        cause,
        actor,
        timer,
        generation,
        atMs,
      } as const;
      yield { atMs, order: isSame ? past.position : NEVER, due };
    }
  }

  /** Answers that nobody was given yet to whoever asked for the same; that to the very same call comes first. */
  #freeFor(call: OpenCall): readonly PastCall[] {
    const work = workKey(call);
    const key = callKey(call);
    const isSame = (past: PastCall): boolean => callKey(past.call) === key;
    const free = this.#calls.filter(
      (past) => !this.#used.has(past) && (past.work === null ? isSame(past) : past.work === work),
    );
    return [...free.filter(isSame), ...free.filter((past) => !isSame(past))];
  }

  #notBefore(atMs: number): number {
    return Math.max(atMs, this.#world.atMs);
  }

  #assign(): void {
    for (const [key, call] of this.#world.calls) {
      if (this.#assigned.has(key)) continue;
      const past = this.#freeFor(call)[0] ?? null;
      if (past) this.#used.add(past);
      this.#assigned.set(key, past);
    }
    for (const [address, { asked }] of this.#open) {
      if (this.#waiting.has(address) || this.#world.actor(address)?.machine !== QUESTION) continue;
      const free = this.#questions.filter(
        (past) => past.asked === asked && past.said && !this.#used.has(past),
      );
      const past = free.find(({ actor }) => actor === address) ?? free[0] ?? null;
      if (past) this.#used.add(past);
      this.#waiting.set(address, past);
    }
  }
}
