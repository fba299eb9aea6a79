import type { ActorRecord } from '../actors/actor-record.ts';
import type { Command } from '../actors/commands.ts';
import { during } from '../events/delivery.ts';
import type { RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { RunRecord } from '../events/turn.ts';
import { TYPE, WAITING_TAG } from '../events/vocabulary.ts';
import { LIMITS } from '../machines/limits.ts';
import { isReasonOfLoop } from '../machines/loop-state.ts';
import { QUESTION } from '../machines/question-machine.ts';
import { nameOf, short } from './in-words.ts';
import { addressOfPart, type ChangedLimits, partNamed, withLimits } from './limits-in.ts';
import type { Met } from './met-limits.ts';
import type { Past } from './past.ts';
import { isQuestion } from './questions.ts';
import type { WhatIfOptions } from './what-if-options.ts';

/** Where a run stands, and the event that put it there. */
export interface Standing {
  readonly kind: 'waiting' | 'paused' | 'working' | 'ended';
  readonly event: RecordedEvent | undefined;
  readonly text: string;
  /** What must be answered, oldest first. */
  readonly questions: readonly RecordedEvent[];
  readonly pauses: readonly { readonly actor: string; readonly reasons: readonly Json[] }[];
}

interface Log {
  readonly record: RunRecord | undefined;
  readonly events: readonly RecordedEvent[];
}

export const standingOf = ({ world, run }: Past, { record, events }: Log): Standing => {
  const questions = openQuestions(events);
  const pauses = openPauses(run, events);
  const about = { questions, pauses };
  if (record?.verdict != null) {
    const event = events.findLast(({ type, actor }) => type === TYPE.runEnded && actor === run);
    return { ...about, kind: 'ended', event, text: `has ended ${record.verdict}.` };
  }
  const [question] = questions;
  if (question) {
    const whom = question.data['askedOf'];
    const who = typeof whom === 'string' ? whom : 'a person';
    return {
      ...about,
      kind: 'waiting',
      event: question,
      text: `waits for ${who}: ${short(question.data['text'])}`,
    };
  }
  if (pauses.length > 0) {
    const event = events.findLast(({ type, kind }) => kind === 'fact' && type === 'run.paused');
    return { ...about, kind: 'paused', event, text: `is paused: ${JSON.stringify(pauses[0]?.reasons)}.` };
  }
  const waiting = waitingActor(world);
  if (waiting) {
    const event = events.findLast(({ actor }) => actor === waiting.address);
    return {
      ...about,
      kind: 'waiting',
      event,
      text: `waits: ${nameOf(waiting.address)} is in ${JSON.stringify(event?.state)}.`,
    };
  }
  return { ...about, ...working(world, events) };
};

const working = (
  world: Past['world'],
  events: readonly RecordedEvent[],
): Pick<Standing, 'kind' | 'event' | 'text'> => {
  const [call] = world.calls.values();
  const [timer] = [...world.timers.values()].sort((one, other) => one.dueMs - other.dueMs);
  const actor = call?.actor ?? timer?.actor;
  const event = actor === undefined ? events.at(-1) : events.findLast((each) => each.actor === actor);
  const text = call
    ? `waits for the agent "${call.agent}", which was called at ${new Date(call.openedAtMs).toISOString()}.`
    : timer
      ? `waits until ${new Date(timer.dueMs).toISOString()}, when the timer "${timer.timer}" is due.`
      : 'waits for a message.';
  return { kind: 'working', event, text };
};

const openQuestions = (events: readonly RecordedEvent[]): readonly RecordedEvent[] => {
  const open = new Map<string, RecordedEvent>();
  for (const event of events) {
    if (isQuestion(event)) open.set(event.actor, event);
    const isOver = event.type === 'question.closed' || event.kind === 'stopped' || event.kind === 'failed';
    if (isOver && event.machine === QUESTION) open.delete(event.actor);
  }
  return [...open.values()];
};

/** The reasons for which loops of the run are paused; those of a nested run that is paused with its parent go with it. */
const openPauses = (run: string, events: readonly RecordedEvent[]): Standing['pauses'] => {
  const reasons = new Map<string, readonly Json[]>();
  for (const { kind, type, actor, data } of events) {
    if (kind !== 'fact' || (type !== 'run.paused' && type !== 'run.resumed')) continue;
    if (Array.isArray(data['reasons'])) reasons.set(actor, data['reasons']);
  }
  return [...reasons]
    .map(([actor, all]) => ({
      actor,
      // What a feedback has paused goes on with it.
      reasons: all.filter(
        (each) => (actor === run || each !== 'parent') && !(typeof each === 'string' && isReasonOfLoop(each)),
      ),
    }))
    .filter((each) => each.reasons.length > 0);
};

const waitingActor = ({ actors }: Past['world']): ActorRecord | undefined =>
  [...actors.values()].find(({ status, snapshot }) => status === 'active' && snapshot?.tags.has(WAITING_TAG));

/** What is said if there is a choice: to go on. */
const GOING_ON = ['continue', 'retry', 'approve', 'accept', 'yes'];

/** The commands that let an open run go on. */
export const commandsToGoOn = (past: Past, { kind, questions, pauses }: Standing): readonly Command[] => {
  if (kind === 'ended') return [];
  const resumes = pauses.flatMap(({ actor, reasons }) =>
    reasons.map((reason): Command => ({ kind: 'send', to: actor, message: { type: 'run.resume', reason } })),
  );
  if (questions.length > 0) return [...questions.map(answerTo), ...resumes];
  if (resumes.length > 0) return resumes;
  const waiting = kind === 'waiting' ? waitingActor(past.world) : undefined;
  const type = waiting && eventThatMoves(past, waiting);
  return waiting && type !== undefined ? [{ kind: 'send', to: waiting.address, message: { type } }] : [];
};

const answerTo = ({ actor: question, data }: RecordedEvent): Command => {
  const options = Array.isArray(data['options']) ? data['options'] : [];
  const ids = options.flatMap((option: Json) =>
    isJsonObject(option) && typeof option['id'] === 'string' ? option['id'] : [],
  );
  const option = GOING_ON.find((id) => ids.includes(id)) ?? ids[0] ?? null;
  return { kind: 'answer', question, option, ...(option === null && { value: 'yes' }) };
};

/** A message that the actor would take in its state, found by trying: machines are pure. */
const eventThatMoves = (
  { world }: Past,
  { address, parent, machine, machineVersion, snapshot }: ActorRecord,
) => {
  const definition = world.registry.find(machine, machineVersion);
  if (!definition || !snapshot) return undefined;
  const { behavior, workflow } = definition;
  const { functions = {} } = workflow.options;
  const moves = (type: string): boolean => {
    try {
      const at = { self: address, parent, from: null, atMs: world.atMs, functions };
      const { next } = during(at, () => behavior.step(snapshot, { type }));
      return JSON.stringify(next.value) !== JSON.stringify(snapshot.value);
    } catch {
      return false;
    }
  };
  return behavior.takes.find((type) => !type.includes('*') && moves(type));
};

/** A change with which a run that has ended goes on in a branch; null if there is no need, or nothing that would do. */
export const branchToGoOn = (
  past: Past,
  { record, events, met }: Log & { readonly met: Met | undefined },
): WhatIfOptions | null => {
  if (record?.verdict === 'verified' || record?.verdict === 'accepted') return null;
  const said = past.questions.findLast(({ saidAt }) => saidAt !== null);
  if (record?.verdict === 'cancelled' && said?.saidAt != null) {
    const option = optionsAt(events, said.openedAt).find((id) => GOING_ON.includes(id));
    if (option !== undefined) return { answers: [{ at: said.saidAt, option }], calls: 'make' };
  }
  const stopped = past.turns.findLast(
    ({ events: [first] }) => first?.kind === 'stopped' && first.actor === past.run,
  );
  if (record?.verdict === 'cancelled' && stopped?.events[0])
    return { answers: [{ at: stopped.events[0].position, forget: true }], calls: 'make' };
  if (met && (met.met.limit === 'turns' || Object.hasOwn(LIMITS, met.met.limit)))
    return withHigherLimit(past, met);
  const failed = past.calls.findLast(({ outcome }) => outcome !== null && 'failure' in outcome);
  return failed?.answeredAt == null
    ? null
    : { answers: [{ at: failed.answeredAt, forget: true }], calls: 'make' };
};

const optionsAt = (events: readonly RecordedEvent[], position: number): readonly string[] => {
  const options = events.find((event) => event.position === position)?.data['options'];
  return Array.isArray(options)
    ? options.flatMap((option: Json) =>
        isJsonObject(option) && typeof option['id'] === 'string' ? option['id'] : [],
      )
    : [];
};

const MORE = 3;
/** As much again of what is used up; a few more of what is counted. */
const DOUBLED: readonly string[] = ['costUsd', 'tokens', 'calls', 'timeMs'];

const withHigherLimit = (
  past: Past,
  { met: { limit, bound, used, evidence }, loop }: Met,
): WhatIfOptions | null => {
  const raised = [...DOUBLED, 'turns'].includes(limit)
    ? 2 * Math.max(bound, used, 1)
    : Math.max(bound, used) + MORE;
  if (limit === 'turns') return { limits: { turns: raised }, calls: 'make' };
  const context: unknown = past.world.actor(loop)?.snapshot?.context;
  const held = (typeof context === 'object' && context !== null ? context : {}) as JsonObject; // It could be stored.
  const limits: ChangedLimits = { [limit]: raised };
  const part = loop === past.run ? partNamed(held, evidence[0] ?? '', limit) : undefined;
  if (part) return { limits, of: addressOfPart(loop, part), calls: 'make' };
  const isOfRun = loop === past.run;
  if (!withLimits(held, limits) || (!isOfRun && limit === 'timeMs')) return null;
  return { limits, ...(!isOfRun && { of: loop }), calls: 'make' };
};
