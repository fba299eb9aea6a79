import type { AnyStateMachine } from 'xstate';
import { createRegistry } from '../../src/actors/registry.ts';
import type { Outcome, Stimulus } from '../../src/actors/stimulus.ts';
import { createKernel } from '../../src/actors/turn.ts';
import { encode } from '../../src/events/encode.ts';
import type { Json } from '../../src/events/json.ts';
import type { OpenCall } from '../../src/events/turn.ts';
import type { Workflow } from '../../src/index.ts';
import { AGENT } from '../../src/machines/agent-machine.ts';
import type { Attempt } from '../../src/machines/agent-work.ts';
import { OWN_ACTORS } from '../../src/machines/own-actors.ts';
import { QUESTION } from '../../src/machines/question-machine.ts';
import { ExploredSystem } from '../../src/proofs/explored-system.ts';
import { createMarks, type Marks, marked } from './marked-machine.ts';
import { type Deed, type Look, type Message, RUN, type Scene } from './scene.ts';
import { createSceneKeys } from './scene-keys.ts';

/** One thing that happens to the system of a scene: what a host, an agent or a clock does. */
export type Happening =
  | ({ readonly type: 'message' } & Message)
  | { readonly type: 'answer'; readonly actor: string; readonly agent: string; readonly deed: string }
  | { readonly type: 'timer'; readonly actor: string; readonly timer: string };

/** Everything at one moment of a scene. */
export interface Moment {
  readonly system: ExploredSystem;
  readonly nowMs: number;
}

const LIMITS = { deliveriesPerTurn: 1_000, turnsPerRun: 10_000 };
const CONCURRENCY = 8;

/**
 * A scene as the logic of an actor, so that @xstate/graph can walk through it: a snapshot is the whole system at one moment,
 * an event is what the outside does, a transition is a turn of the kernel.
 */
export interface SceneLogic {
  readonly start: () => Moment;
  readonly next: (moment: Moment, happening: Happening) => Moment;
  readonly happenings: (moment: Moment) => readonly Happening[];
  readonly keyOf: (moment: Moment) => string;
  /** What was entered and taken so far of the machine that the scene is about. */
  readonly taken: Marks;
  readonly all: Marks;
  /** Rows that all turns together would have written, those among them that nobody took, and what facts there were. */
  readonly written: { rows: number; deadLetters: number; readonly facts: Set<string> };
}

export const sceneLogic = (scene: Scene): SceneLogic => {
  const { registry, taken, all } = register(scene);
  const kernel = createKernel({ registry, limits: LIMITS });
  const written = { rows: 0, deadLetters: 0, facts: new Set<string>() };
  const turn = ({ system, nowMs }: Moment, stimulus: Stimulus): Moment => {
    const result = kernel.turn(system, { ...stimulus, atMs: nowMs });
    if (result.kind !== 'turn') return { system, nowMs };
    const { events } = result.turn;
    written.rows += events.length;
    written.deadLetters += events.filter(({ kind }) => kind === 'undelivered').length;
    for (const { kind, type, dataJson } of events)
      if (kind === 'fact') written.facts.add(`${type} ${dataJson}`);
    return { system: system.after(result), nowMs };
  };
  const settle = (moment: Moment): Moment => {
    const call = waitingCall(moment.system, scene.concurrency ?? CONCURRENCY);
    if (!call) return moment;
    const { actor, generation } = call;
    return settle(turn(moment, { ...header('begun'), kind: 'begun', actor, call: call.call, generation }));
  };
  const keyOf = createSceneKeys((machine) => scene.reduce?.[machine]);
  /** Of the machine that the scene is about, those that have ended are told apart as well. */
  const endsOf = ({ actors }: ExploredSystem): string =>
    [...actors.values()]
      .filter(({ machine, status }) => machine === scene.machine && status !== 'active')
      .map(({ status, snapshot }) => `${status} ${JSON.stringify(snapshot?.value)}`)
      .sort()
      .join();
  return {
    taken,
    all,
    written,
    start: () => {
      const { prepare } = scene.root.options;
      const input = prepare ? prepare(scene.input) : scene.input;
      return settle(
        turn(
          { system: new ExploredSystem(), nowMs: 0 },
          {
            ...header('start'),
            kind: 'start',
            run: RUN,
            workflow: scene.root.name,
            version: scene.root.version,
            input: encode(input, { undefinedMembers: 'drop' }),
          },
        ),
      );
    },
    next: (moment, happening) => {
      const due = happening.type === 'timer' ? timerOf(moment, happening).dueMs : 0;
      const at = { ...moment, nowMs: Math.max(moment.nowMs, due) };
      return settle(turn(at, stimulusOf(scene, at, happening)));
    },
    happenings: (moment) => happeningsIn(scene, moment),
    keyOf: ({ system }) => `${keyOf(system)} ${endsOf(system)}`,
  };
};

/** Everyone is marked alike, so that a child is the same machine whoever invokes it. */
const register = ({ root, machine, others = [] }: Scene) => {
  const registry = createRegistry();
  const marks = new Map<string, Marks>();
  const standIns = new Map<AnyStateMachine, Workflow>();
  let all: Marks | undefined;
  const workflows = [...OWN_ACTORS, ...others, root].map((workflow) => {
    const taken = createMarks();
    const own = marked(workflow, taken);
    marks.set(workflow.name, taken);
    standIns.set(workflow.machine, own.workflow);
    if (workflow.name === machine) all = own.all;
    return own.workflow;
  });
  registry.register(workflows, standIns);
  const taken = marks.get(machine);
  if (!all || !taken) throw new Error(`There is no machine "${machine}".`);
  return { registry, taken, all };
};

const header = (id: string) => ({ id, atMs: 0, origin: 'host', by: null, cause: null }) as const;

const looksAt = ({ system }: Moment): readonly Look[] =>
  [...system.actors.values()].flatMap(({ status, address, machine, snapshot }) =>
    status === 'active' && snapshot
      ? [{ address, machine, value: snapshot.value, context: snapshot.context }]
      : [],
  );

const openCalls = ({ open }: ExploredSystem) => [...open.values()].flatMap(({ calls }) => calls);
const openTimers = ({ open }: ExploredSystem) => [...open.values()].flatMap(({ timers }) => timers);

/** The first call that waits in the queue of an agent which has a place for it. */
const waitingCall = (system: ExploredSystem, concurrency: number): OpenCall | undefined => {
  const isWaiting = ({ announce, actor }: OpenCall) =>
    announce && JSON.stringify(system.actors.get(actor)?.snapshot?.value) === '{"working":"queued"}';
  const all = openCalls(system);
  const begun = (agent: string) => all.filter((call) => call.agent === agent && !isWaiting(call)).length;
  return all.find((call) => isWaiting(call) && begun(call.agent) < concurrency);
};

const happeningsIn = (scene: Scene, moment: Moment): readonly Happening[] => {
  const { system } = moment;
  if (system.verdict() !== null) return [];
  const looks = looksAt(moment);
  const answers = callsOf(scene, system).flatMap((call) =>
    deedsOf(scene, call).map(({ name }) => ({
      type: 'answer' as const,
      actor: call.actor,
      agent: call.agent,
      deed: name,
    })),
  );
  const timers = openTimers(system);
  const earliest = Math.min(...timers.map(({ dueMs }) => dueMs));
  const fired = timers.filter(({ dueMs }) => dueMs === earliest && Number.isFinite(dueMs));
  const said = looks
    .filter(({ machine, value }) => machine === QUESTION && value === 'open')
    .flatMap((look) =>
      (scene.answers?.(look, looks) ?? []).map(({ option, value = null, by = null }) => ({
        type: 'message' as const,
        to: look.address,
        message: { type: 'question.answer', option, value, note: null, by },
      })),
    );
  const sent = (scene.messages?.(looks) ?? []).map((message) => ({ type: 'message' as const, ...message }));
  return [
    ...answers,
    ...fired.map(({ actor, timer }) => ({ type: 'timer' as const, actor, timer })),
    ...said,
    ...sent,
  ];
};

/** Those that run: what waits in a queue gives no answer. */
const callsOf = (scene: Scene, system: ExploredSystem): readonly OpenCall[] =>
  openCalls(system).filter(
    ({ announce, actor }) =>
      !announce ||
      (scene.deeds !== undefined &&
        JSON.stringify(system.actors.get(actor)?.snapshot?.value) !== '{"working":"queued"}'),
  );

const deedsOf = (scene: Scene, { agent, machine, input }: OpenCall): readonly Deed[] => {
  const given = JSON.parse(input) as Json;
  return scene.deeds?.(agent, machine === AGENT ? (given as unknown as Attempt).work.input : given) ?? [];
};

const timerOf = ({ system }: Moment, { actor, timer }: { actor: string; timer: string }) => {
  const found = openTimers(system).find((open) => open.actor === actor && open.timer === timer);
  if (!found) throw new Error(`There is no timer "${timer}" of "${actor}".`);
  return found;
};

const stimulusOf = (scene: Scene, moment: Moment, happening: Happening): Stimulus => {
  const { system } = moment;
  if (happening.type === 'timer') {
    const { actor, timer, generation } = timerOf(moment, happening);
    return { ...header('timer'), kind: 'fired', actor, timer, generation };
  }
  if (happening.type === 'message') {
    const { type, ...data } = happening.message;
    return {
      ...header('message'),
      kind: 'message',
      to: happening.to,
      type,
      data: encode(data),
      expectedVersion: undefined,
    };
  }
  const call = openCalls(system).find(({ actor }) => actor === happening.actor);
  const deed = call && deedsOf(scene, call).find(({ name }) => name === happening.deed);
  if (!call || !deed) throw new Error(`"${happening.actor}" has no call that "${happening.deed}" answers.`);
  return {
    ...header('answer'),
    kind: 'answer',
    actor: call.actor,
    call: call.call,
    generation: call.generation,
    outcome: outcomeOf(call, deed),
  };
};

const outcomeOf = ({ machine }: OpenCall, { name, output = null, beside = {}, fails }: Deed): Outcome => {
  if (fails) return { failure: { name: 'Error', message: name } };
  return { output: encode(machine === AGENT ? { output, ...beside } : output) };
};
