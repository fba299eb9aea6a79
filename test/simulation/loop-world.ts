import { createRegistry, type Registry } from '../../src/actors/registry.ts';
import type { Outcome } from '../../src/actors/stimulus.ts';
import { runOf } from '../../src/events/address.ts';
import { encodeOwn } from '../../src/events/encode-own.ts';
import { problemsOfReport } from '../../src/events/feedback.ts';
import type { Json } from '../../src/events/json.ts';
import type { OpenCall } from '../../src/events/turn.ts';
import { isReservedType, TYPE, WAITING_TAG } from '../../src/events/vocabulary.ts';
import type { Workflow } from '../../src/index.ts';
import { AGENT } from '../../src/machines/agent-machine.ts';
import type { Attempt } from '../../src/machines/agent-work.ts';
import { OWN_ACTORS } from '../../src/machines/own-actors.ts';
import { checkQuiet } from './invariants.ts';
import { AGENT_FAILURE, idempotencyKey, Ledger } from './ledger.ts';
import { LoopScript, startOf } from './loop-script.ts';
import { memoized } from './memoized-registry.ts';
import { createCore, TIME_IS_UP } from './plain-world.ts';
import type { Random } from './random.ts';
import { SentMessages, watched } from './sent-messages.ts';
import { must } from './violation.ts';
import type { Fate, World } from './world.ts';

/** What an agent says: its output, and what it has to say beside it. */
export interface Said {
  readonly output: Json;
  readonly issues?: Json;
  readonly feedback?: Json;
  readonly usage?: Json;
}

/** A request as those who script agents see it. */
export interface Asked {
  readonly agent: string;
  readonly input: Json;
  /** How many attempts came before it, over all requests of the agent. */
  readonly nth: number;
}

/** A shipped loop, small enough to be simulated thousands of times. */
export interface SimulatedLoop {
  readonly name: string;
  /** How many of a hundred schedules are its: those that take longer have fewer. */
  readonly share: number;
  readonly workflows: readonly Workflow[];
  /** Which of them is started, and with what. */
  readonly workflow: string;
  readonly input: Json;
  /** What an agent says that does its work. */
  readonly good: (asked: Asked) => Said;
  /** What it may say as well: faults, feedback, work that leads nowhere. */
  readonly others: (asked: Asked) => readonly Said[];
  /** What a host may send to the run at any time, besides pauses. */
  readonly messages?: readonly { readonly type: string; readonly [key: string]: Json }[];
  /** Whether it can be paused. */
  readonly pauses?: boolean;
  /** The most calls before it ends or asks, as the explorer says: a test compares. */
  readonly callsMax?: number;
  /** The most turns, likewise. */
  readonly turnsMax?: number;
}

/** What nobody asked for. */
const GARBAGE: readonly Said[] = [
  { output: null },
  { output: 7 },
  { output: '' },
  { output: [] },
  { output: {} },
  { output: { passed: 'yes', issues: 'many' } },
  { output: { passed: false, issues: [null, 3, { severity: [], description: { a: 1 } }] } },
  { output: { option: {}, value: [[]], decision: 9, assessment: '__proto__' } },
  { output: { plan: { nodes: 3, add: 'x' } } },
  { output: null, issues: 'none', feedback: 'no' },
  { output: null, feedback: [{ from_node: 7 }, { targets: 3 }, null] },
  { output: { done: 'perhaps' }, issues: [{}] },
];

const inputOf = ({ machine, input }: OpenCall): Json => {
  const given = JSON.parse(input) as Json;
  return machine === AGENT ? (given as unknown as Attempt).work.input : given; // It makes nothing but attempts.
};

/** What the shell makes of what an agent said: what cannot be a report is refused at the door. */
const admitted = ({ machine }: OpenCall, said: Said): Outcome => {
  if (machine !== AGENT) return { output: encodeOwn(said.output, 'output') };
  const problems = problemsOfReport(said.feedback);
  const envelope = problems.length > 0 ? { output: null, refused: problems.join('; ') } : said;
  return { output: encodeOwn(envelope, 'output') };
};

/** What an agent of this loop says that is called so, if it says anything. */
export const saidIn =
  ({ good, others }: SimulatedLoop) =>
  (call: OpenCall, fate: Fate, random: Random): Said => {
    const asked = { agent: call.agent, input: inputOf(call), nth: call.generation };
    // What the runtime does by itself may fail, but is never garbage.
    const isOwn = isReservedType(call.agent);
    return saidBy(fate, { good: () => good(asked), others: others(asked), random, isOwn });
  };

const outcomeIn = (loop: SimulatedLoop): World['outcomeOf'] => {
  const say = saidIn(loop);
  return (call, fate, random) => {
    if (fate === 'fails') return { failure: { name: AGENT_FAILURE, message: idempotencyKey(call) } };
    if (fate === 'silent') return TIME_IS_UP;
    return admitted(call, say(call, fate, random));
  };
};

const saidBy = (
  fate: Fate,
  its: { good: () => Said; others: readonly Said[]; random: Random; isOwn: boolean },
): Said => {
  const { good, others, random, isOwn } = its;
  if (fate === 'garbage' && !isOwn) return random.pick(GARBAGE) ?? good();
  return (fate === 'finds fault' || fate === 'garbage' ? random.pick(others) : undefined) ?? good();
};

/** Whether somebody can and must go on with this run: one who is asked, or who has paused it. */
const waitsForPerson = (ledger: Ledger, run: string): boolean => {
  for (const { address, status, snapshot } of ledger.actors.values()) {
    if (status !== 'active' || snapshot === null || runOf(address) !== run) continue;
    const { pauseReasons = [] } = snapshot.context as { pauseReasons?: readonly string[] };
    if (snapshot.hasTag(WAITING_TAG) || (address === run && pauseReasons.length > 0)) return true;
  }
  return false;
};

/** What must hold when all is quiet, of any loop. */
export const checkLoopEnd: World['checkEnd'] = (ledger, log) =>
  checkQuiet(ledger, log, (run) => waitsForPerson(ledger, run));

/** What must hold of this loop after each commit. */
export const checkLoopCommit = ({ callsMax }: SimulatedLoop, ledger: Ledger): void => {
  if (callsMax !== undefined) checkBound(ledger, callsMax);
};

/** More than any turn of these loops has. */
const EVENTS_OF_A_TURN_MAX = 30;

/**
 * Turns and events are bounded, as long as nobody outside lets a run have more. What changes nothing is not counted: what came late or
 * was for nobody, pauses, and that a call began once more after a crash.
 */
export const checkLoopSafety = ({ turnsMax }: SimulatedLoop, ledger: Ledger): void => {
  if (turnsMax === undefined) return;
  const turns = new Map<string, number>();
  const events = new Map<string, number>();
  const begun = new Set<string>();
  for (const { origin, events: rows } of ledger.turns.values()) {
    const [first] = rows;
    const moved = rows.filter(({ kind }) => kind !== 'late' && kind !== 'undelivered').length;
    if (!first || moved === 0 || (origin === 'host' && first.kind === 'message')) continue;
    const beginning = first.type === TYPE.callBegun && `${first.actor} ${JSON.stringify(first.data)}`;
    if (beginning && begun.has(beginning)) continue;
    if (beginning) begun.add(beginning);
    turns.set(first.run, (turns.get(first.run) ?? 0) + 1);
    events.set(first.run, (events.get(first.run) ?? 0) + moved);
  }
  for (const [run, count] of turns) {
    if (isUrged(ledger, run)) continue;
    // One more than the explorer counts: a host may end the run, too.
    must(count <= turnsMax + 1, 'turns stay within the bound of the loop', () => [run, count, turnsMax]);
    const eventsMax = EVENTS_OF_A_TURN_MAX * turnsMax;
    must((events.get(run) ?? 0) <= eventsMax, 'events stay within the bound of the loop', () => [
      run,
      events.get(run),
      eventsMax,
    ]);
  }
};

/** The calls of agents are bounded, as long as nobody outside lets a run have more. A call that is made again is the same one. */
const checkBound = (ledger: Ledger, callsMax: number): void => {
  const calls = new Map<string, Set<string>>();
  for (const call of ledger.calls.values()) {
    if (isReservedType(call.agent)) continue;
    calls.set(call.run, (calls.get(call.run) ?? new Set()).add(idempotencyKey(call)));
  }
  for (const [run, { size }] of calls)
    must(size <= callsMax || isUrged(ledger, run), 'calls stay within the bound of the loop', () => [
      run,
      size,
      callsMax,
    ]);
};

/** Whether it took a message from outside, other than that it should wait or go on. */
const isUrged = (ledger: Ledger, run: string): boolean =>
  [...ledger.turns.values()].some(({ origin, events: [first] }) => {
    if (origin !== 'host' || first?.run !== run || first.kind !== 'message') return false;
    return first.type !== 'run.pause' && first.type !== 'run.resume';
  });

const registryOf = ({ workflows }: SimulatedLoop): Registry => {
  const registry = createRegistry();
  registry.register(OWN_ACTORS);
  registry.register(workflows);
  return registry;
};

/** A world in which one shipped loop is run by agents as hostile as they come. */
export const createLoopWorld = (loop: SimulatedLoop): World => {
  const registry = registryOf(loop);
  const remembering = memoized(registry);
  const start = startOf(loop);
  const seen = new Map([registry, remembering].map((each) => [each, watched(each)]));
  return {
    core: createCore(remembering),
    plainCore: createCore(registry),
    fates: [
      'passes',
      'passes',
      'passes',
      'passes',
      'finds fault',
      'finds fault',
      'finds fault',
      'fails',
      'garbage',
      'silent',
      'late',
      'twice',
      'resent',
      'floods',
    ],
    // Rarely: where time is the same, steps that look at it are remembered.
    passes: 0.02,
    limitMs: 5_000,
    createLedger: (known) => {
      const watching = seen.get(known) ?? watched(known);
      return new Ledger(watching.registry, new SentMessages(watching));
    },
    createScript: (ports) => new LoopScript(loop, start, ports),
    outcomeOf: outcomeIn(loop),
    checkCommit: (ledger) => checkLoopCommit(loop, ledger),
    checkSafety: (ledger) => checkLoopSafety(loop, ledger),
    checkEnd: checkLoopEnd,
  };
};
