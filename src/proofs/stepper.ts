import type { ActorRecord } from '../actors/actor-record.ts';
import type { Registry } from '../actors/registry.ts';
import type { Stimulus } from '../actors/stimulus.ts';
import { createKernel, type Kernel } from '../actors/turn.ts';
import type { Address, NewEvent } from '../events/event.ts';
import type { OpenCall, Turn } from '../events/turn.ts';
import { isReservedType } from '../events/vocabulary.ts';
import { COORDINATOR } from '../machines/coordinator-machine.ts';
import type { CoordinatorState } from '../machines/coordinator-state.ts';
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
}

/** Drives the kernel, one thing that happens at a time, and keeps an account of what it takes. */
export class Stepper {
  /** The values of states that actors of each machine were in. */
  readonly statesSeen = new Map<string, Set<string>>();
  /** The least that a tree of the system allows. */
  feedbacksMax = Number.POSITIVE_INFINITY;
  readonly #kernel: Kernel;
  readonly #outcomes: Outcomes;
  readonly #numbers = new Map<string, number>();

  constructor(registry: Registry, outcomes: Outcomes) {
    this.#kernel = createKernel({ registry, limits: NO_CAP });
    this.#outcomes = outcomes;
  }

  start(
    stimulus: Omit<Extract<Stimulus, { kind: 'start' }>, keyof ReturnType<typeof header>>,
  ): ExploredSystem {
    return this.#take(new ExploredSystem(), { ...header('start'), ...stimulus }).system;
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
    if (result.kind !== 'turn') return { system, weight: weightOf(system, null), taken: null, reads };
    for (const { machine, stateJson } of result.turn.events) this.#note(machine, stateJson);
    for (const record of result.actors.values()) {
      const max = coordinatorOf(record)?.limits.feedbacks ?? Number.POSITIVE_INFINITY;
      this.feedbacksMax = Math.min(this.feedbacksMax, max);
    }
    return { system: system.after(result), weight: weightOf(system, result), taken: result, reads };
  }

  #note(machine: string, stateJson: string): void {
    const known = this.statesSeen.get(machine);
    if (known) known.add(stateJson);
    else this.statesSeen.set(machine, new Set([stateJson]));
  }
}

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
