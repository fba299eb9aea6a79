import type { Command } from '../actors/commands.ts';
import type { Registry } from '../actors/registry.ts';
import type { KernelLimits } from '../actors/turn.ts';
import { RuntimeError } from '../errors.ts';
import { runOf } from '../events/address.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import { isJsonObject } from '../events/json.ts';
import type { RunRecord } from '../events/turn.ts';
import { TYPE } from '../events/vocabulary.ts';
import type { MetLimit } from '../machines/limits.ts';
import type { EventLog } from '../store/event-log.ts';
import { countedBy, type Met } from './counted.ts';
import { nameOf, short, whatHappened, whoDid, whyOf } from './in-words.ts';
import { asMet, isHalt, metIn } from './met-limits.ts';
import { isQuestion, liveAgain, type Past } from './past.ts';
import { branchToGoOn, commandsToGoOn, type Standing, standingOf } from './ways-on.ts';
import type { WhatIfOptions } from './what-if-options.ts';

/** One step of the way back from an event to what came from outside. */
export interface Cause {
  readonly position: number;
  readonly when: string;
  readonly who: string;
  readonly what: string;
  readonly why: string | null;
}

/** Why an event came, or why a run waits or has ended: and what would let it go on. */
export interface Why {
  readonly run: string;
  /** What the run does: `waiting` for a person, `paused`, `working`, or `ended`. */
  readonly standing: Standing['kind'];
  /** The event that is explained. */
  readonly position: number;
  /** From that event back to what came from outside. */
  readonly causes: readonly Cause[];
  /** The limit that decided it, with its bound and what was used of it; null if none did. */
  readonly limit: MetLimit | null;
  /** The events that the limit counted. */
  readonly counted: readonly { readonly position: number; readonly what: string }[];
  /**
   * What lets the run go on, one after the other: for `runtime.execute`, or `sendCommand` from another process. None if it goes on
   * by itself, or has ended.
   */
  readonly commands: readonly Command[];
  /** For a run that has ended otherwise than well: what `runtime.whatIf` takes to go on in a branch. */
  readonly branch: WhatIfOptions | null;
  /** All of it in words. */
  readonly text: string;
}

export interface WhyPorts {
  readonly log: EventLog;
  readonly registry: Registry;
  readonly limits: KernelLimits;
}

/**
 * Explains a run by its id, an actor or question by its address, an event by its id or position.
 *
 * @throws {RuntimeError} UNKNOWN_RUN, UNKNOWN_ACTOR, BAD_OPTION for a position where nothing is
 */
export const whyOfSubject = async (ports: WhyPorts, subject: string | number): Promise<Why> => {
  const found = await findSubject(ports.log, subject);
  const past = await liveAgain(ports, found.run);
  const record = await ports.log.run(found.run);
  const events = past.turns.flatMap((turn) => turn.events).filter(({ run }) => run === found.run);
  const standing = standingOf(past, { record, events });
  const event = subjectEvent(found, { standing, events });
  const met = metFor(event, { isEvent: found.event !== undefined, record, events });
  const counted = met ? countedBy(met, events) : [];
  const commands = commandsToGoOn(past, standing);
  const branch = standing.kind === 'ended' ? branchToGoOn(past, { record, events, met }) : null;
  const causes = causesOf(event, past);
  return {
    run: found.run,
    standing: standing.kind,
    position: event.position,
    causes,
    limit: met?.met ?? null,
    counted: counted.map((each) => ({ position: each.position, what: whatHappened(each) })),
    commands,
    branch,
    text: inWords({ run: found.run, standing, causes, met, counted, commands, branch }),
  };
};

interface Subject {
  readonly run: string;
  /** Set if an event was asked for. */
  readonly event?: RecordedEvent;
  /** Set if an actor was. */
  readonly actor?: Address;
}

const findSubject = async (log: EventLog, subject: string | number): Promise<Subject> => {
  if (typeof subject === 'number') {
    const [event] = Number.isSafeInteger(subject)
      ? await log.events({ after: subject - 1, before: subject + 1 })
      : [];
    if (event) return { run: event.run, event };
    throw new RuntimeError('BAD_OPTION', {
      option: 'position',
      found: String(subject),
      expected: 'the position of an event in the log',
    });
  }
  if (await log.run(subject)) return { run: subject };
  const byId = await eventById(log, subject);
  if (byId) return { run: byId.run, event: byId };
  if (!(await log.run(runOf(subject)))) throw new RuntimeError('UNKNOWN_RUN', { run: runOf(subject) });
  const [last] = await log.events({ actor: subject, reverse: true, limit: 1 });
  if (!last) throw new RuntimeError('UNKNOWN_ACTOR', { address: subject });
  return { run: last.run, actor: subject };
};

const eventById = async (log: EventLog, id: string): Promise<RecordedEvent | undefined> => {
  const slash = id.lastIndexOf('/');
  const turn = slash === -1 ? undefined : await log.findTurn(id.slice(0, slash));
  const events = turn ? await log.events({ turn: turn.turn }) : [];
  return events.find((event) => event.id === id);
};

const subjectEvent = (
  { event, actor }: Subject,
  { standing, events }: { readonly standing: Standing; readonly events: readonly RecordedEvent[] },
): RecordedEvent => {
  const found =
    event ??
    (actor === undefined ? standing.event : events.findLast((each) => each.actor === actor)) ??
    events.at(-1);
  if (found) return found;
  throw new RuntimeError('UNKNOWN_ACTOR', { address: actor ?? '' });
};

/** The limit that led to an event: what a question is about, what a run ended with, what a loop stated in the same turn. */
const metFor = (
  event: RecordedEvent,
  {
    isEvent,
    record,
    events,
  }: {
    readonly isEvent: boolean;
    readonly record: RunRecord | undefined;
    readonly events: readonly RecordedEvent[];
  },
): Met | undefined => {
  const asked = isQuestion(event) ? metInQuestion(event) : undefined;
  if (asked) return asked;
  const ended = event.type === TYPE.runEnded ? metInResult(event) : undefined;
  const halt = events.findLast(
    (each) => isHalt(each) && each.position <= event.position && (!isEvent || each.turn === event.turn),
  );
  const stated = halt && metIn(halt);
  // A limit that a person has let it pass has nothing to do with how it ended.
  const isPassed =
    halt !== undefined && events.some((each) => isDecision(each, halt) && each.position < event.position);
  if (halt && stated && (!ended || ended.met.limit === stated.limit) && (isEvent || ended || !isPassed))
    return { met: stated, loop: halt.actor, position: halt.position };
  return record?.verdict === null ? undefined : ended;
};

const isDecision = ({ type, actor, position, data }: RecordedEvent, halt: RecordedEvent): boolean =>
  type.endsWith('.decided') &&
  actor === halt.actor &&
  position > halt.position &&
  (data['option'] === 'continue' || data['option'] === 'retry');

const metInQuestion = ({ data, actor, position }: RecordedEvent): Met | undefined => {
  const { details } = data;
  const halt = isJsonObject(details) ? details['halt'] : undefined;
  const met = isJsonObject(halt) ? asMet(halt['met']) : undefined;
  const of = isJsonObject(halt) ? halt['of'] : undefined;
  const loop = typeof of === 'string' ? of : actor.slice(0, actor.lastIndexOf('/'));
  return met && { met, loop, position };
};

const metInResult = ({ data, actor, position }: RecordedEvent): Met | undefined => {
  const { result } = data;
  const output = isJsonObject(result) ? result['output'] : undefined;
  const met = isJsonObject(output) ? asMet(output['limit']) : undefined;
  return met && { met, loop: actor, position };
};

/** From an event back to what came from outside. */
const causesOf = (event: RecordedEvent, { turns }: Past): readonly Cause[] => {
  const byPosition = new Map(
    turns.flatMap((turn) => turn.events.map((each) => [each.position, { each, turn }])),
  );
  const causes: Cause[] = [];
  for (let next: number | null = event.position; next !== null; ) {
    const found = byPosition.get(next);
    if (!found) break;
    const { each, turn } = found;
    causes.push({
      position: each.position,
      when: new Date(each.atMs).toISOString(),
      who: whoDid(each, turn),
      what: whatHappened(each),
      why: whyOf(each),
    });
    next = each.cause;
  }
  return causes;
};

const inWords = ({
  run,
  standing,
  causes,
  met,
  counted,
  commands,
  branch,
}: {
  readonly run: string;
  readonly standing: Standing;
  readonly causes: readonly Cause[];
  readonly met: Met | undefined;
  readonly counted: readonly RecordedEvent[];
  readonly commands: readonly Command[];
  readonly branch: WhatIfOptions | null;
}): string =>
  [
    `The run "${run}" ${standing.text}`,
    ...(met
      ? [
          `The limit "${met.met.limit}" of ${nameOf(met.loop)} is ${met.met.bound}, and ${met.met.used} was used: ${counted.map(({ position }) => position).join(', ') || 'nothing in the log'}.`,
        ]
      : []),
    ...causes.map(
      ({ position, who, what, why }, index) =>
        `${index === 0 ? 'It is this:' : 'Caused by'} ${position}, ${who}: ${what}${why === null ? '' : ` (${short(why)})`}`,
    ),
    ...commands.map((command) => `To go on: runtime.execute(${JSON.stringify(command)})`),
    ...(branch
      ? [`To go on in a branch: runtime.whatIf(${JSON.stringify(run)}, ${JSON.stringify(branch)})`]
      : []),
  ].join('\n');
