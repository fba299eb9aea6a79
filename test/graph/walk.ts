import { getAdjacencyMap, getShortestPaths } from '@xstate/graph';
import { type ActorLogic, type EventObject, type Snapshot } from 'xstate';
import type { ActorRecord } from '../../src/actors/actor-record.ts';
import { hashText } from '../../src/events/blob.ts';
import { canonicalJson } from '../../src/events/encode.ts';
import type { Json } from '../../src/index.ts';
import type { Marks } from './marked-machine.ts';
import type { Scene } from './scene.ts';
import { type Happening, type Moment, type SceneLogic, sceneLogic } from './scene-logic.ts';

/** A way to a state of a machine. */
export interface Way {
  /** The value of the state, as JSON. */
  readonly state: string;
  readonly happenings: readonly Happening[];
}

/** All that there is to find in a scene. */
export interface Walked {
  readonly scene: Scene;
  readonly moments: number;
  readonly edges: number;
  /** Those of them that lead elsewhere. */
  readonly moves: number;
  readonly rows: number;
  readonly deadLetters: number;
  /** In how many moments an actor of the machine is in each state. */
  readonly rests: Readonly<Record<string, number>>;
  /** A fingerprint of all states and contexts of all actors that were met, and of what runs gave at their ends. */
  readonly contexts: string;
  /** The same of all facts that would have been written. */
  readonly facts: string;
  readonly taken: Marks;
  readonly all: Marks;
  readonly ways: () => readonly Way[];
}

/** More than any scene needs: a machine that goes past it has lost a bound. */
const EDGES_MAX = 6_000;

// What @xstate/graph asks of logic: it walks without starting an actor.
type GraphMoment = Snapshot<unknown> & Moment;
type GraphLogic = ActorLogic<GraphMoment, EventObject & Happening>;

const graphLogicOf = (logic: SceneLogic): GraphLogic =>
  ({
    getInitialSnapshot: () => logic.start(),
    transition: (moment: Moment, happening: Happening) => logic.next(moment, happening),
    getPersistedSnapshot: (moment: Moment) => moment,
  }) as unknown as GraphLogic;

const optionsOf = (logic: SceneLogic) => ({
  events: (moment: Moment) => logic.happenings(moment) as (EventObject & Happening)[],
  serializeState: (moment: Moment) => logic.keyOf(moment),
  limit: EDGES_MAX,
});

/** Walks through everything that may happen in a scene. */
export const walk = (scene: Scene): Walked => {
  const logic = sceneLogic(scene);
  // Its own type names the keys by a brand that nothing else has.
  const map = getAdjacencyMap(graphLogicOf(logic), optionsOf(logic)) as unknown as Walk;
  const rests: Record<string, number> = {};
  const contexts = new Set<string>();
  // Most actors of a moment are those of the moment before it.
  const actors = new Set<ActorRecord>();
  let edges = 0;
  let moves = 0;
  for (const [key, { state, transitions }] of Object.entries(map)) {
    const targets = Object.values(transitions);
    edges += targets.length;
    moves += targets.filter((target) => logic.keyOf(target.state) !== key).length;
    for (const value of statesIn(scene, state)) rests[value] = (rests[value] ?? 0) + 1;
    for (const actor of state.system.actors.values()) actors.add(actor);
    for (const { result } of state.system.runs.values()) contexts.add(result ?? '');
  }
  for (const actor of actors) contexts.add(fingerprintOf(actor));
  return {
    scene,
    moments: Object.keys(map).length,
    edges,
    moves,
    rows: logic.written.rows,
    deadLetters: logic.written.deadLetters,
    facts: digestOf(logic.written.facts),
    rests,
    contexts: digestOf(contexts),
    taken: logic.taken,
    all: logic.all,
    ways: () => shortestWays(scene, logic, map),
  };
};

const digestOf = (texts: ReadonlySet<string>): string => hashText([...texts].sort().join()).slice(0, 12);

const fingerprintOf = ({ address, snapshot }: ActorRecord): string =>
  // What a machine keeps is what the log can hold.
  hashText(canonicalJson([address, snapshot?.value ?? null, (snapshot?.context ?? null) as Json]));

/** By the key of a moment, and then of a happening. */
type Walk = Readonly<
  Record<
    string,
    { readonly state: Moment; readonly transitions: Readonly<Record<string, { readonly state: Moment }>> }
  >
>;

/** The shortest way to each state in which an actor of the machine rests. What was walked is not walked again. */
const shortestWays = (scene: Scene, logic: SceneLogic, map: Walk): readonly Way[] => {
  const ways = new Map<string, Way>();
  const known: GraphLogic = {
    ...graphLogicOf(logic),
    transition: (moment, happening) =>
      (map[logic.keyOf(moment)]?.transitions[JSON.stringify(happening)]?.state ??
        logic.next(moment, happening)) as GraphMoment,
  };
  for (const { state, steps } of getShortestPaths(known, optionsOf(logic))) {
    const happenings = steps
      .map(({ event }) => event as Happening)
      .filter(({ type }) => (type as string) !== 'xstate.init');
    for (const value of statesIn(scene, state)) {
      const shortest = ways.get(value);
      if (!shortest || shortest.happenings.length > happenings.length)
        ways.set(value, { state: value, happenings });
    }
  }
  return [...ways.values()];
};

/** With those that have ended, which rest in their last state. */
const statesIn = ({ machine }: Scene, { system }: Moment): readonly string[] =>
  [...system.actors.values()].flatMap((actor) =>
    actor.machine === machine && actor.snapshot ? [JSON.stringify(actor.snapshot.value)] : [],
  );
