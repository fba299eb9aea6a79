import type { Address, RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { TYPE } from '../events/vocabulary.ts';
import { COORDINATOR } from '../machines/coordinator-machine.ts';
import { FEEDBACK } from '../machines/feedback-work.ts';
import type { LimitName, MetLimit } from '../machines/limits.ts';
import { isQuestion } from './questions.ts';

/** A limit that was met: one of a loop, or `turns`, the cap that ends every run, whatever its machine does. */
export type AnyMetLimit = Omit<MetLimit, 'limit'> & { readonly limit: LimitName | 'turns' };

/** A limit that was met, by whom and where. */
export interface Met {
  readonly met: AnyMetLimit;
  /** The loop whose limit it is. */
  readonly loop: Address;
  /** Where that was stated, or found out. */
  readonly position: number;
}

/** The limit that a fact says was met, if it says so: every loop states one as `met`, wherever it keeps it. */
export const metIn = ({ kind, data }: RecordedEvent): MetLimit | undefined => {
  if (kind !== 'fact') return undefined;
  const { met, halt } = data;
  return asMet(met) ?? (isJsonObject(halt) ? asMet(halt['met']) : undefined);
};

const asMet = (value: Json | undefined): MetLimit | undefined => {
  if (!isJsonObject(value)) return undefined;
  const { limit, bound, used } = value;
  const isMet = typeof limit === 'string' && typeof bound === 'number' && typeof used === 'number';
  // A loop of the package wrote it.
  return isMet ? ({ evidence: [], ...value } as unknown as MetLimit) : undefined;
};

const isHalted = ({ kind, type }: RecordedEvent): boolean => kind === 'fact' && type.endsWith('.halted');

/** Whether a fact is what halts a loop, and no later mention of that. */
export const isHalt = (event: RecordedEvent): boolean => isHalted(event) && metIn(event) !== undefined;

/** The limit that an event is the first to state: what halts a loop, else the question about it, else what a run gives at its end. */
export const metStated = (event: RecordedEvent): Met | undefined => {
  const { actor: loop, position } = event;
  if (isQuestion(event)) return askedAbout(event);
  if (event.type === TYPE.runEnded && event.kind === 'fact') return metInResult(event);
  const met = isHalted(event) ? metIn(event) : undefined;
  return met && { met, loop, position };
};

/** As the kernel writes it, and as the error says it. */
const TURNS_CAP = /^(\d+) turns are the cap of the run/;
const DELIVERIES_CAP = /caused more than (\d+) messages/;

/** The cap of the runtime that a message was not delivered for, if one was the reason. */
export const capIn = ({
  kind,
  data,
}: RecordedEvent): { readonly turns?: number; readonly deliveries?: number } => {
  const reason = kind === 'undelivered' ? data['reason'] : undefined;
  if (typeof reason !== 'string') return {};
  const [turns, deliveries] = [TURNS_CAP, DELIVERIES_CAP].map((cap) => cap.exec(reason)?.[1]);
  return {
    ...(turns !== undefined && { turns: Number(turns) }),
    ...(deliveries !== undefined && { deliveries: Number(deliveries) }),
  };
};

interface Asked {
  /** Whether it is asked about this very event, and not about its run. */
  readonly isEvent: boolean;
  /** The events of the run. */
  readonly events: readonly RecordedEvent[];
}

/** The limit that led to an event: what a question is about, what a run ended with, what a loop stated in the same turn. */
export const metFor = (event: RecordedEvent, asked: Asked): Met | undefined => {
  const found = metInQuestion(event, asked) ?? capOf(event, asked.events) ?? metBefore(event, asked);
  return found && { ...found, loop: ownerOf(found.loop, asked.events) };
};

/** What a part of a loop counts for it is a limit of that loop, which has it and can be given another. */
const ownerOf = (loop: Address, events: readonly RecordedEvent[]): Address => {
  const machine = events.find(({ actor }) => actor === loop)?.machine;
  return machine === FEEDBACK || machine === COORDINATOR ? parentOf(loop) : loop;
};

const parentOf = (address: Address): Address => address.slice(0, address.lastIndexOf('/'));

const metInQuestion = (event: RecordedEvent, { events }: Asked): Met | undefined => {
  if (!isQuestion(event)) return undefined;
  const asked = askedAbout(event);
  if (asked) return asked;
  const loop = parentOf(event.actor);
  const stated = events.findLast(
    (each) => isHalted(each) && each.actor === loop && each.position < event.position,
  );
  return stated && statedBy(stated, events);
};

const askedAbout = ({ data: { details }, actor, position }: RecordedEvent): Met | undefined => {
  const halt = isJsonObject(details) ? details['halt'] : undefined;
  const { met: given, of }: JsonObject = isJsonObject(halt) ? halt : {};
  const met = asMet(given);
  return met && { met, loop: typeof of === 'string' ? of : parentOf(actor), position };
};

/** The cap on turns, which no machine knows of: the kernel ends the run in place of delivering to it. */
const capOf = (event: RecordedEvent, events: readonly RecordedEvent[]): Met | undefined => {
  if (event.type !== TYPE.runEnded && event.kind !== 'undelivered') return undefined;
  const capped = events.find((each) => each.turn === event.turn && capIn(each).turns !== undefined);
  const turns = capped && capIn(capped).turns;
  if (!capped || turns === undefined) return undefined;
  const met = { limit: 'turns', bound: turns, used: turns, evidence: [] } as const;
  return { met, loop: capped.run, position: capped.position };
};

const statedBy = (halt: RecordedEvent, events: readonly RecordedEvent[]): Met | undefined => {
  const met = metIn(halt) ?? retriesMet(halt, events);
  return met && { met, loop: halt.actor, position: halt.position };
};

/** A story whose review failed to run halts as failed: what let it give up is how often a reviewer is asked again. */
const retriesMet = (halt: RecordedEvent, events: readonly RecordedEvent[]): MetLimit | undefined => {
  if (halt.type !== 'story.halted') return undefined;
  const last = events.find(
    ({ turn, actor, type }) => turn === halt.turn && actor === halt.actor && type === 'story.unreviewed',
  );
  const { times, reviewer } = last?.data ?? {};
  if (typeof times !== 'number' || typeof reviewer !== 'string') return undefined;
  return { limit: 'reviewRetries', bound: times - 1, used: times - 1, evidence: [reviewer] };
};

const metBefore = (event: RecordedEvent, { isEvent, events }: Asked): Met | undefined => {
  if (isQuestion(event)) return undefined;
  const ended = event.type === TYPE.runEnded ? metInResult(event) : undefined;
  // A limit that a person has let it pass has nothing to do with how it ended.
  const isPassed = (halt: Met): boolean =>
    !isEvent && !ended && events.some((each) => isDecision(each, halt) && each.position < event.position);
  const halt = events
    .flatMap((each) => {
      const isMeant = each.position <= event.position && (!isEvent || each.turn === event.turn);
      return isMeant && isHalted(each) ? (statedBy(each, events) ?? []) : [];
    })
    .findLast((each) => !isPassed(each));
  if (halt && (!ended || ended.met.limit === halt.met.limit)) return halt;
  return ended;
};

const isDecision = ({ type, actor, position, data }: RecordedEvent, halt: Met): boolean =>
  actor === halt.loop &&
  position > halt.position &&
  (type === 'story.reset' ||
    (type.endsWith('.decided') && (data['option'] === 'continue' || data['option'] === 'retry')));

const metInResult = ({ data, actor, position }: RecordedEvent): Met | undefined => {
  const { result } = data;
  const output = isJsonObject(result) ? result['output'] : undefined;
  const met = isJsonObject(output) ? asMet(output['limit']) : undefined;
  return met && { met, loop: actor, position };
};
