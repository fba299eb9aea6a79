import type { AnyMachineSnapshot, AnyStateMachine, EventObject } from 'xstate';
import type { Scope } from './plain-actions.ts';
import { plainChart, type Transition } from './plain-chart.ts';
import { type CollectedAction, PlainWalk, refuseSpawn } from './plain-walk.ts';

/**
 * Steps of a machine without regions side by side and without history. XState finds such a step with the algorithm for all
 * statecharts, which makes some twenty sets for each of the small steps that it consists of; here the transition that XState
 * has selected is followed directly, and then those that need no event. Whatever is not this plain is left to XState. The
 * equivalence test compares both.
 */

interface PlainStep {
  readonly next: AnyMachineSnapshot;
  readonly actions: readonly CollectedAction[];
}

/** A step, or undefined if it is one for XState. Throws what guards and actions throw. */
export interface PlainSteps {
  begin(input: unknown): PlainStep | undefined;
  take(snapshot: AnyMachineSnapshot, event: EventObject): PlainStep | undefined;
}

const OF_XSTATE: ReadonlySet<string> = new Set(['xstate.init', 'xstate.stop']);
/** XState has a bound of its own, and says so when it is met. */
const SMALL_STEPS_MAX = 1_000;

export const createPlainSteps = (machine: AnyStateMachine, scope: Scope): PlainSteps => {
  const chart = plainChart(machine);
  const { beginning } = chart;
  const ground = { chart, machine, scope };
  /** A snapshot of XState's own: what all have in common is taken from it. */
  let blank: AnyMachineSnapshot | undefined;
  return {
    begin(input) {
      if (!beginning?.target) return undefined;
      blank ??= machine.resolveState({ value: beginning.target.value, context: {} });
      const from = {
        ...blank,
        status: 'active',
        context: firstContext(machine, scope, input),
      } as AnyMachineSnapshot;
      const event = { type: 'xstate.init', input };
      const walk = new PlainWalk(ground, { from, event, place: undefined });
      return walk.make(beginning) ? toRest(walk) : undefined;
    },
    take(snapshot, event) {
      const place = chart.placeOf(snapshot);
      if (!place || OF_XSTATE.has(event.type)) return undefined;
      const walk = new PlainWalk(ground, { from: snapshot, event, place });
      const transition = walk.selected();
      if (!walk.isPlain) return undefined;
      // An error that nobody takes ends the actor: XState knows how.
      if (!transition && event.type.startsWith('xstate.error.')) return undefined;
      return !transition || walk.follow(transition) ? toRest(walk) : undefined;
    },
  };
};

const firstContext = ({ config }: AnyStateMachine, { self }: Scope, input: unknown): object => {
  const context: unknown = config.context;
  return typeof context === 'function'
    ? { ...context({ spawn: refuseSpawn, input, self }) }
    : (context ?? {});
};

/** Takes what needs no event, and what the machine told itself, until there is nothing more. */
const toRest = (walk: PlainWalk): PlainStep | undefined => {
  let isSelecting = true;
  for (let count = 0; count < SMALL_STEPS_MAX; count += 1) {
    const eventless: Transition | undefined = isSelecting && !walk.isDone ? walk.eventless() : undefined;
    const raised: EventObject | undefined = eventless || walk.isDone ? undefined : walk.raised.shift();
    if (!eventless && !raised)
      return walk.isPlain ? { next: walk.snapshot, actions: walk.collected } : undefined;
    if (raised) walk.event = raised;
    const { changes } = walk;
    const transition = eventless ?? walk.selected();
    if (!walk.isPlain) return undefined;
    if (transition && !walk.follow(transition)) return undefined;
    // One that needs no event and changes nothing would be taken for ever.
    isSelecting = raised !== undefined || walk.changes !== changes;
  }
  return undefined;
};
