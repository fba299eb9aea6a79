import type { ActorRecord } from '../actors/actor-record.ts';
import type { Registry } from '../actors/registry.ts';
import type { Stimulus } from '../actors/stimulus.ts';
import { createKernel, type Kernel } from '../actors/turn.ts';
import { encode } from '../events/encode.ts';
import type { Address, NewEvent } from '../events/event.ts';
import type { OpenCall, Turn } from '../events/turn.ts';
import { isReservedType } from '../events/vocabulary.ts';
import { COORDINATOR } from '../machines/coordinator-machine.ts';
import type { CoordinatorState } from '../machines/coordinator-state.ts';
import { QUESTION, type QuestionInput } from '../machines/question-machine.ts';
import { ExploredSystem, type Taken } from './explored-system.ts';
import type { WayStep } from './graph.ts';
import { answerTo, isFixed, type Outcomes, outcomesFor } from './outcomes.ts';
import type { Weight } from './weight.ts';

const NO_CAP = { deliveriesPerTurn: 1_000, turnsPerRun: Number.MAX_SAFE_INTEGER };

/** Something that can happen in a state. */
export interface Possible {
  readonly step: WayStep;
  readonly stimulus: Stimulus;
  readonly call: OpenCall | null;
  /** Whether it is the same in whatever state of the rest. */
  readonly isFixed: boolean;
}

/** What came of it. */
export interface Stepped {
  readonly system: ExploredSystem;
  readonly weight: Weight;
  /** Null if nothing came of it. */
  readonly taken: Taken | null;
  /** Every actor that was looked at: what came of it depends on no others. */
  readonly reads: ReadonlySet<Address>;
  /** In which states of which machines actors have come to rest: see `seenIn`. */
  readonly seen: readonly string[];
}

const SEPARATOR = '\n';

/** What was seen, as the values of states by machine. */
export const seenIn = (seen: Iterable<string>): ReadonlyMap<string, ReadonlySet<string>> => {
  const byMachine = new Map<string, Set<string>>();
  for (const each of seen) {
    const [machine = '', value = ''] = each.split(SEPARATOR);
    const values = byMachine.get(machine) ?? new Set();
    byMachine.set(machine, values.add(value));
  }
  return byMachine;
};

/** Drives the kernel, one thing that happens at a time, and keeps an account of what it takes. */
export class Stepper {
  /** The least that a tree of the system allows. */
  feedbacksMax = Number.POSITIVE_INFINITY;
  readonly #kernel: Kernel;
  readonly #outcomes: Outcomes;
  readonly #numbers = new Map<string, number>();

  constructor(registry: Registry, outcomes: Outcomes) {
    this.#kernel = createKernel({ registry, limits: NO_CAP });
    this.#outcomes = outcomes;
  }

  start(stimulus: Omit<Extract<Stimulus, { kind: 'start' }>, keyof ReturnType<typeof header>>): Stepped {
    return this.#take(new ExploredSystem(), { ...header('start'), ...stimulus });
  }

  /** Everything that can happen next to one actor without a person. */
  possible(system: ExploredSystem, actor: Address): readonly Possible[] {
    const { calls, timers, begun } = system.openOf(actor);
    return [
      ...calls.flatMap((call) =>
        call.announce && !begun.includes(call) ? [beginning(call)] : this.#answers(call),
      ),
      ...timers.map(({ timer, generation }): Possible => {
        const label = `${actor}: ${timer}`;
        return {
          step: { kind: 'fires', label, actor, timer },
          stimulus: { ...header('timer'), kind: 'fired', actor, timer, generation },
          call: null,
          isFixed: true,
        };
      }),
    ];
  }

  /** Everything that persons may say to a question. */
  decisions({ actors }: ExploredSystem): readonly Decision[] {
    const open = [...actors.values()].filter(
      ({ machine, status }) => machine === QUESTION && status === 'active',
    );
    return open.flatMap((record) => {
      const context: unknown = record.snapshot?.context;
      const { options, isFree } = (context ?? NO_OPTIONS) as Pick<QuestionInput, 'options' | 'isFree'>; // As its machine keeps it.
      const all: readonly (string | null)[] = [...options.map(({ id }) => id), ...(isFree ? [null] : [])];
      return all.map((option) => ({ record, possible: decision(record, option) }));
    });
  }

  #answers(call: OpenCall): readonly Possible[] {
    const { actor, generation, agent } = call;
    return outcomesFor(this.#outcomes, call).map((outcome): Possible => {
      const label = `${agent}: ${outcome.name}`;
      return {
        step: { kind: 'answers', label, actor, agent, call: call.call, outcome },
        stimulus: {
          ...header('answer'),
          kind: 'answer',
          actor,
          call: call.call,
          generation,
          outcome: answerTo(call, outcome, this.#nthOf(call)),
        },
        call,
        isFixed: isFixed(outcome),
      };
    });
  }

  /** What makes an answer that is to be new differ from all others of the way: no call has the number of another. */
  #nthOf({ actor, generation }: OpenCall): number {
    const key = `${actor} ${generation}`;
    const nth = this.#numbers.get(key) ?? this.#numbers.size + 1;
    this.#numbers.set(key, nth);
    return nth;
  }

  step(system: ExploredSystem, { step, stimulus, call }: Possible): Stepped {
    const stepped = this.#take(system, stimulus);
    if (step.kind !== 'begins' || call === null) return stepped;
    const isOpen = stepped.system.openOf(call.actor).calls.includes(call);
    return isOpen ? { ...stepped, system: stepped.system.withBegun(call) } : stepped;
  }

  #take(system: ExploredSystem, stimulus: Stimulus): Stepped {
    const reads = new Set<Address>();
    const watched = {
      actor: (address: Address) => {
        reads.add(address);
        return system.actor(address);
      },
      run: (id: string) => system.run(id),
    };
    const result = this.#kernel.turn(watched, stimulus);
    if (result.kind === 'refused') throw result.error;
    if (result.kind !== 'turn')
      return { system, weight: weightOf(system, null), taken: null, reads, seen: [] };
    for (const record of result.actors.values()) {
      const max = coordinatorOf(record)?.limits.feedbacks ?? Number.POSITIVE_INFINITY;
      this.feedbacksMax = Math.min(this.feedbacksMax, max);
    }
    const seen = result.turn.events.map(({ machine, stateJson }) => `${machine}${SEPARATOR}${stateJson}`);
    return { system: system.after(result), weight: weightOf(system, result), taken: result, reads, seen };
  }
}

/** What a person says to a question. */
export interface Decision {
  readonly record: ActorRecord;
  readonly possible: Possible;
}

const decision = ({ address }: ActorRecord, option: string | null): Possible => ({
  step: {
    kind: 'decides',
    label: option === null ? 'a person answers freely' : `a person decides: ${option}`,
    actor: address,
    option,
  },
  stimulus: {
    ...header('decision'),
    kind: 'message',
    to: address,
    type: 'question.answer',
    data: encode({ option, value: option === null ? FREE_ANSWER : null, note: null, by: null }),
    expectedVersion: undefined,
  },
  call: null,
  isFixed: true,
});

const NO_OPTIONS = { options: [], isFree: false };

/** What a person says who is not held to options. */
export const FREE_ANSWER = 'as they like';

const beginning = (call: OpenCall): Possible => {
  const { actor, generation, agent } = call;
  return {
    step: { kind: 'begins', label: `${agent}: begins`, actor, agent, call: call.call },
    stimulus: { ...header('begun'), kind: 'begun', actor, call: call.call, generation },
    call,
    isFixed: true,
  };
};

/** Machines do not branch on time, and ids decide nothing: both stand still. */
const header = (id: string) => ({ id, atMs: 0, origin: 'runtime', by: null, cause: null }) as const;

const isReply = ({ kind, type }: NewEvent): boolean =>
  kind === 'message' && (type === 'agent.done' || type === 'agent.failed');

const weightOf = (before: ExploredSystem, taken: Taken | null): Weight => {
  const callsByAgent: Record<string, number> = {};
  let calls = 0;
  let feedbacks = 0;
  for (const { actor, call, generation } of taken?.turn.closedCalls ?? []) {
    const open = before.openOf(actor);
    const closed = open.calls.find((each) => each.call === call && each.generation === generation);
    // What the runtime does by itself is no call of an agent. One that was called off may have run until then.
    if (!closed || isReservedType(closed.agent) || isUnbegun(closed, open.begun)) continue;
    callsByAgent[closed.agent] = (callsByAgent[closed.agent] ?? 0) + 1;
    calls += 1;
  }
  for (const record of taken?.actors.values() ?? [])
    feedbacks += madeBy(record) - madeBy(before.actor(record.address));
  return { turns: 1, calls, callsByAgent, requests: repliesIn(taken?.turn), feedbacks };
};

/** One that is announced and has not left its queue costs nothing. */
const isUnbegun = (call: OpenCall, begun: readonly OpenCall[]): boolean =>
  call.announce && !begun.includes(call);

const repliesIn = (turn: Turn | undefined): number => {
  let replies = 0;
  for (const event of turn?.events ?? []) if (isReply(event)) replies += 1;
  return replies;
};

const madeBy = (record: ActorRecord | null): number => (record && coordinatorOf(record)?.made) ?? 0;

/** Kept under the name of its machine only. */
const coordinatorOf = ({ machine, snapshot }: ActorRecord): CoordinatorState | undefined =>
  machine === COORDINATOR ? (snapshot?.context as CoordinatorState | undefined) : undefined;
