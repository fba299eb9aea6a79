import type { RecordedEvent, Workflow } from 'loopwright';
import { type AnyMachineSnapshot, type AnyStateMachine, createActor, type EventObject } from 'xstate';
import { loop } from './chart.ts';

/** What is not public: the machines of agents and contexts, and what a machine may know of a message besides the message. */
const internal = async <Module>(path: string): Promise<Module> =>
  (await import(new URL(`../../dist/${path}`, import.meta.url).href)) as Module; // The build of this same source.

interface Step {
  readonly actor: string;
  readonly chart: Chart;
  readonly event: EventObject | undefined;
  readonly input: unknown;
  readonly delivery: unknown;
  readonly recorded: string;
}

interface Chart {
  readonly machine: AnyStateMachine;
  readonly scope: Parameters<AnyStateMachine['transition']>[2];
  readonly actions: unknown[];
}

/**
 * The unmodified machines on the events of a run that the log has, each with the delivery that it had: gives a function that does so
 * again and again for some milliseconds, and returns the rate of bare `machine.transition`. The states must be those of the log.
 */
export const createBareRun = async (events: readonly RecordedEvent[]): Promise<(forMs: number) => number> => {
  const { OWN_ACTORS } = await internal<{ OWN_ACTORS: readonly Workflow[] }>('machines/own-actors.js');
  const { during } = await internal<{ during: <Result>(delivery: unknown, step: () => Result) => Result }>(
    'events/delivery.js',
  );
  const charts = new Map(
    [...OWN_ACTORS, loop].map((each: Workflow): [string, Chart] => [each.name, chartOf(each.machine)]),
  );
  const steps = events.flatMap((event) => toStep(event, charts.get(event.machine)));
  const play = (check?: (state: unknown, recorded: string) => void): number => {
    const snapshots = new Map<string, AnyMachineSnapshot>();
    for (const { actor, chart, event, input, delivery, recorded } of steps) {
      chart.actions.length = 0;
      const before = snapshots.get(actor);
      const after = during(delivery, () =>
        before && event
          ? chart.machine.transition(before, event, chart.scope)
          : chart.machine.getInitialSnapshot(chart.scope, input),
      );
      snapshots.set(actor, after);
      check?.(after.value, recorded);
    }
    return steps.length;
  };
  play((state, recorded) => {
    if (JSON.stringify(state) !== recorded)
      throw new Error(`The bare machines went another way: ${JSON.stringify(state)}, not ${recorded}.`);
  });
  return (forMs) => {
    const startMs = performance.now();
    let transitions = 0;
    while (performance.now() - startMs < forMs) transitions += play();
    return transitions / ((performance.now() - startMs) / 1_000);
  };
};

/** What XState was given for a row of the log; nothing for rows that moved no machine. */
const toStep = ({ kind, type, data, ...event }: RecordedEvent, chart: Chart | undefined): Step[] => {
  if (!chart || (kind !== 'started' && kind !== 'message')) return [];
  const { actor, from, atMs, state } = event;
  const delivery = { self: actor, parent: actor === event.run ? null : event.run, from, atMs, functions: {} };
  const step = { actor, chart, delivery, recorded: JSON.stringify(state), input: data['input'] };
  return [{ ...step, event: kind === 'started' ? undefined : messageOf(type, data) }];
};

const messageOf = (type: string, data: RecordedEvent['data']): EventObject => {
  if (type !== 'lw.call.done') return { ...data, type: type === 'lw.call.begun' ? 'call.begun' : type };
  const actorId = typeof data['call'] === 'string' ? data['call'] : '';
  const done = { ...data, type: `xstate.done.actor.${actorId}`, actorId };
  return done;
};

const chartOf = (machine: AnyStateMachine): Chart => {
  const self = createActor(machine, { input: {} });
  const actions: unknown[] = [];
  const scope = {
    self,
    system: self.system,
    id: '',
    sessionId: '',
    logger() {},
    defer() {},
    emit() {},
    stopChild() {},
    actionExecutor: (action: unknown) => actions.push(action),
  };
  return { machine, scope, actions };
};
