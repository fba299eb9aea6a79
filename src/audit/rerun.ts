import type { Stimulus } from '../actors/stimulus.ts';
import { isRuntimeError } from '../errors.ts';
import type { Json } from '../events/json.ts';
import type { OpenCall } from '../events/turn.ts';
import { type Difference, differenceOf, firstDifference, otherCalls } from './difference.ts';
import { KnownAnswers } from './known-answers.ts';
import { opensOf, type Past, type PastCall, type PastQuestion, workKey } from './past.ts';
import { encoded } from './past-stimulus.ts';
import type { PastTurn } from './past-turns.ts';
import { callKey, type Taken, timerKey, type World } from './world.ts';

/** What is to be another than it was. */
export interface Changes {
  /** The stimulus of a turn in place of what it was; null if it is not to come at all. */
  readonly stimulus: (given: Stimulus, turn: PastTurn) => Stimulus | null;
  /** What is to be done right after a turn of the log, if anything is: each with the version that an actor migrates to. */
  readonly after: (
    turn: PastTurn,
    world: World,
  ) => readonly { readonly stimulus: Stimulus; readonly version: number }[];
  /** Answers of the past in place of those that were given; null for one that is not known any more. */
  readonly answer: (call: PastCall) => PastCall | null;
  readonly said: (question: PastQuestion) => PastQuestion | null;
}

export const NO_CHANGES: Changes = {
  stimulus: (given) => given,
  after: () => [],
  answer: (call) => call,
  said: (question) => question,
};

/** The run begins with another input than it did. Nothing else is changed. */
export const startingWith = (past: Past, input: Json): Changes => ({
  ...NO_CHANGES,
  stimulus: (given) => withInput(past, given, input),
});

/** The stimulus that starts the run, with another input; any other as it is. */
export const withInput = (past: Pick<Past, 'run'>, given: Stimulus, input: Json | undefined): Stimulus =>
  input !== undefined && given.kind === 'start' && given.run === past.run
    ? { ...given, input: encoded(input) }
    : given;

export interface RerunOptions {
  readonly past: Past;
  readonly world: World;
  readonly changes: Changes;
  /** Ids of its turns: another one each time. */
  readonly nextId: () => string;
  /** Whether what is said in rows counts as a difference, or only the way that is taken. */
  readonly comparesData: boolean;
  /** Told of each turn, with the one that it stands for. */
  readonly onTurn: (taken: Taken, past: PastTurn | undefined) => void;
}

export interface RerunResult {
  readonly difference: Difference | undefined;
  /** The turn after which it went its own way; undefined if it never did. */
  readonly leftAt: PastTurn | undefined;
  /** How many answers of agents and persons were taken from the log. */
  readonly reused: number;
  /** Calls that nobody has answered, and that were made before. */
  readonly needs: readonly OpenCall[];
  /** Messages of the past that were not sent again, since something that nobody knows comes before them. */
  readonly unsent: readonly Stimulus[];
  readonly known: KnownAnswers;
}

/**
 * Lives a run once more with something changed. As long as it goes the way that the log has, stimulus follows stimulus as
 * recorded. From the first turn that is another on, it is a simulation: answers of the past come after as long as they took then
 * to whoever asks for the same, timers fire when they are due, and it stands still where nobody knows what comes next.
 */
export const rerun = (options: RerunOptions): RerunResult => new Rerun(options).run();

class Rerun {
  readonly #options: RerunOptions;
  readonly #known: KnownAnswers;
  /** From positions of the log to those of the world, as far as they go the same way. */
  readonly #positions = new Map<number, number>();
  #difference: Difference | undefined;
  #leftAt: PastTurn | undefined;

  constructor(options: RerunOptions) {
    const { past, changes, world } = options;
    this.#options = options;
    this.#known = new KnownAnswers(
      past.calls.flatMap((call) => changes.answer(call) ?? []),
      past.questions.flatMap((question) => changes.said(question) ?? []),
      { world, fired: past.fired },
    );
  }

  run(): RerunResult {
    const next = this.#followed();
    const { past } = this.#options;
    // It has come to where the log ends. Unless there is an answer now to what is open there, that is its end, too.
    const isAtEnd = next === undefined && !this.#known.hasNews();
    const unsent = isAtEnd ? [] : this.#simulated(next ?? past.turns.length);
    return {
      difference: this.#difference,
      leftAt: this.#leftAt,
      reused: this.#known.used,
      needs: this.#known.unknownCalls(),
      unsent,
      known: this.#known,
    };
  }

  /** Goes the recorded way for as long as it can. Gives the index of the first turn that it did not take, if there is one. */
  #followed(): number | undefined {
    const { past } = this.#options;
    for (const [index, turn] of past.turns.entries()) {
      const given = past.stimuli[index];
      const stimulus = given && this.#again(given, turn);
      const [first] = turn.events;
      if (!stimulus) {
        this.#part(
          turn,
          differenceOf(first?.position ?? 0, first, { computed: undefined, what: 'not possible' }),
        );
        // What nobody gives any more is passed over; what cannot be given now may be later.
        return stimulus === null ? index + 1 : index;
      }
      const taken = this.#take(stimulus, turn);
      if (!taken) {
        this.#part(
          turn,
          differenceOf(first?.position ?? 0, first, { computed: undefined, what: 'not handled' }),
        );
        return index + 1;
      }
      if (this.#isParted(turn, taken, index)) return index + 1;
      const { events } = taken.recorded;
      for (const [at, { position }] of turn.events.entries())
        this.#positions.set(position, events[at]?.position ?? 0);
      this.#patch(turn);
    }
    return undefined;
  }

  /** Whether a turn went another way than in the log. */
  #isParted(turn: PastTurn, taken: Taken, index: number): boolean {
    const { comparesData } = this.#options;
    const { events } = taken.recorded;
    const found = firstDifference(turn.events, events, { data: comparesData });
    this.#difference ??= found && this.#isUnmoved(found, taken) ? { ...found, what: 'not handled' } : found;
    const isOther = this.#opensOther(taken, index);
    if (!isOther && !firstDifference(turn.events, events, { data: false })) return false;
    this.#part(turn, isOther ? otherCalls(turn.events.at(-1)) : undefined);
    return true;
  }

  /** Whether an answer, or the end of a child, left its actor as it was: the runtime's own messages are never dead letters. */
  #isUnmoved({ computed }: Difference, { before }: Taken): boolean {
    if (computed?.kind !== 'message') return false;
    const was = before.get(computed.actor);
    return was != null && this.#options.world.actor(computed.actor)?.snapshot === was.snapshot;
  }

  /** Whether a turn opened what it did not in the log. What the log alone cannot tell is taken to be the same. */
  #opensOther({ recorded }: Taken, index: number): boolean {
    const was = this.#options.past.opens[index];
    return was !== undefined && was !== '' && opensOf(recorded) !== was;
  }

  #part(turn: PastTurn, difference: Difference | undefined): void {
    this.#leftAt = turn;
    this.#difference ??= difference;
  }

  #take(stimulus: Stimulus, past: PastTurn | undefined, version?: number): Taken | undefined {
    const { world, onTurn } = this.#options;
    const taken = world.take(stimulus, version ?? past?.events[0]?.machineVersion);
    if (!taken || isRuntimeError(taken)) return undefined;
    this.#known.note(taken);
    onTurn(taken, past);
    return taken;
  }

  #patch(turn: PastTurn): void {
    const { changes, world, nextId } = this.#options;
    for (const { stimulus, version } of changes.after(turn, world))
      this.#take({ ...stimulus, id: nextId() }, undefined, version);
  }

  /** The recorded stimulus for this world. Undefined if it makes no sense here, null if it is not to come. */
  #again(given: Stimulus, turn: PastTurn): Stimulus | null | undefined {
    const { changes, world, nextId, past } = this.#options;
    const changed = changes.stimulus(given, turn);
    if (changed === null) return null;
    const id = nextId();
    const cause = given.cause === null ? null : (this.#positions.get(given.cause) ?? null);
    switch (changed.kind) {
      case 'answer':
      case 'begun': {
        const open = world.calls.get(callKey(changed));
        // It came too late then, and does now.
        if (turn.events[0]?.kind === 'late') return open ? undefined : { ...changed, id, cause };
        const call = past.calls.find((each) => callKey(each.call) === callKey(changed));
        const known = call && changes.answer(call);
        if (!open || !known || (known.work !== null && known.work !== workKey(open))) return undefined;
        if (changed.kind === 'begun') return { ...changed, id, cause: open.openedAt };
        this.#known.use(known);
        return { ...changed, id, cause: open.openedAt, outcome: known.outcome ?? changed.outcome };
      }
      case 'fired': {
        const timer = world.timers.get(timerKey(changed));
        return timer && timer.dueMs <= changed.atMs ? { ...changed, id, cause: timer.openedAt } : undefined;
      }
      case 'message':
        return this.#message(changed, { id, cause });
      case 'start': {
        const { registry } = world;
        const version = registry.find(changed.workflow, changed.version)?.version;
        const newest = registry.newest(changed.workflow)?.version ?? changed.version;
        return { ...changed, id, cause, version: version ?? newest };
      }
      case 'migrate': {
        const [row] = turn.events;
        const isKnown = row && world.registry.find(row.machine, row.machineVersion);
        return isKnown && world.actor(changed.actor) ? { ...changed, id, cause } : undefined;
      }
      default:
        return { ...changed, id, cause };
    }
  }

  #message(
    given: Extract<Stimulus, { kind: 'message' }>,
    header: Pick<Stimulus, 'id' | 'cause'>,
  ): Stimulus | undefined {
    const { past, changes } = this.#options;
    const question = past.questions.find(({ said }) => said?.id === given.id);
    if (!question) return { ...given, ...header };
    const known = changes.said(question);
    if (!known?.said || !this.#known.isAsked(known)) return undefined;
    this.#known.use(known);
    return { ...known.said, ...header };
  }

  /** Goes on by itself. Gives the messages of the past that it did not send. */
  #simulated(from: number): readonly Stimulus[] {
    const { past, world, nextId } = this.#options;
    const messages = past.stimuli.slice(from).flatMap((stimulus, index) => {
      const order = past.turns[from + index]?.events[0]?.position ?? 0;
      return this.#isMessage(stimulus) ? [{ stimulus, order }] : [];
    });
    this.#known.simulate();
    for (;;) {
      const [message] = messages;
      const next = this.#known.next(message && { atMs: message.stimulus.atMs, order: message.order });
      if (!next) return messages.map(({ stimulus }) => stimulus);
      if (next !== 'message') this.#take({ ...next, id: nextId() }, undefined);
      else if (message) {
        messages.shift();
        const atMs = Math.max(world.atMs, message.stimulus.atMs);
        this.#take({ ...message.stimulus, id: nextId(), atMs, cause: null }, undefined);
      }
    }
  }

  #isMessage(stimulus: Stimulus): boolean {
    const { past } = this.#options;
    if (stimulus.kind === 'end') return true;
    return stimulus.kind === 'message' && !past.questions.some(({ said }) => said?.id === stimulus.id);
  }
}
