import type { Command } from '../actors/commands.ts';
import type { Registry } from '../actors/registry.ts';
import type { KernelLimits } from '../actors/turn.ts';
import { RuntimeError } from '../errors.ts';
import { runOf } from '../events/address.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import type { EventLog } from '../store/event-log.ts';
import { countedBy } from './counted.ts';
import { nameOf, short, whatHappened, whoDid, whyOf } from './in-words.ts';
import { type AnyMetLimit, type Met, metFor } from './met-limits.ts';
import { liveAgain, type Past } from './past.ts';
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
  /** The limit that decided it, with its bound and what was used of it; null if none did. `turns` is the cap of the run. */
  readonly limit: AnyMetLimit | null;
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
  const met = metFor(event, { isEvent: found.event !== undefined, events });
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
          `The limit "${met.met.limit}" of ${nameOf(met.loop)} is ${met.met.bound}, and ${met.met.used} was used: ${positionsIn(counted)}.`,
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

const POSITIONS_SHOWN = 50;

/** A limit of many calls or turns counts more than anyone reads. */
const positionsIn = (counted: readonly RecordedEvent[]): string => {
  const positions = counted.map(({ position }) => position);
  if (positions.length === 0) return 'nothing in the log';
  if (positions.length <= POSITIONS_SHOWN) return positions.join(', ');
  return `${positions.slice(0, POSITIONS_SHOWN).join(', ')} and ${positions.length - POSITIONS_SHOWN} more, up to ${positions.at(-1)}`;
};
