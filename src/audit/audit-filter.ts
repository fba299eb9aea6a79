import { RuntimeError } from '../errors.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import type { Json } from '../events/json.ts';
import { TYPE } from '../events/vocabulary.ts';
import { AGENT } from '../machines/agent-machine.ts';
import { CONTEXT } from '../machines/context-machine.ts';
import { nameOf, resolutionIn, whoDid } from './in-words.ts';
import type { PastTurn } from './past-turns.ts';
import { textsIn } from './short.ts';

/** Which events an audit is of. What is given must all fit. */
export interface AuditFilter {
  readonly run?: string;
  /** The address of a loop's actor, or its id: with everything below it, and all that names it. */
  readonly loop?: string;
  /** The role of an agent, or a person: what it was asked, what it did and what it said. */
  readonly agent?: string;
  /** The id of a requirement: all that names it, and the loops that were begun for it. */
  readonly requirement?: string;
  /** Recorded at this time or later: milliseconds since 1970, or a date. */
  readonly from?: number | Date;
  /** Recorded before this time. */
  readonly to?: number | Date;
}

/** Whether events fit a filter. It is shown all of them, in order: what belongs to a requirement is found on the way. */
export class Matching {
  readonly #filter: AuditFilter;
  readonly #fromMs: number;
  readonly #toMs: number;
  readonly #requirement: RegExp | undefined;
  /** Loops that were begun for the requirement. */
  readonly #loops = new Set<Address>();

  /** @throws {RuntimeError} BAD_OPTION for a time that is none */
  constructor(filter: AuditFilter) {
    this.#filter = filter;
    this.#fromMs = timeOf('from', filter.from, Number.NEGATIVE_INFINITY);
    this.#toMs = timeOf('to', filter.to, Number.POSITIVE_INFINITY);
    this.#requirement = filter.requirement === undefined ? undefined : wholeWord(filter.requirement);
  }

  fits(event: RecordedEvent, turn: PastTurn): boolean {
    const { run, loop, agent } = this.#filter;
    const isOfRequirement = this.#isOfRequirement(event);
    return (
      (run === undefined || event.run === run) &&
      event.atMs >= this.#fromMs &&
      event.atMs < this.#toMs &&
      (loop === undefined || isOfLoop(event, loop)) &&
      (agent === undefined || isOfAgent(event, turn, agent)) &&
      isOfRequirement
    );
  }

  #isOfRequirement(event: RecordedEvent): boolean {
    const named = this.#requirement;
    if (!named) return true;
    const { actor, type, run, machine, data } = event;
    const isNamed = mentions(data, named);
    // A run or an agent that is told of it among others is not there for it alone.
    const isLoop = actor !== run && machine !== AGENT && machine !== CONTEXT;
    if (isNamed && type === TYPE.started && isLoop) this.#loops.add(actor);
    return isNamed || [...this.#loops].some((loop) => actor === loop || actor.startsWith(`${loop}/`));
  }
}

const timeOf = (option: string, given: number | Date | undefined, otherwise: number): number => {
  const ms = given === undefined ? otherwise : Number(given);
  if (!Number.isNaN(ms)) return ms;
  throw new RuntimeError('BAD_OPTION', {
    option,
    found: 'no time',
    expected: 'milliseconds since 1970, or a date',
  });
};

/** REQ-4 is not in REQ-45. */
const wholeWord = (id: string): RegExp =>
  new RegExp(`(?<![\\w-])${id.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)}(?![\\w-])`);

const mentions = (value: Json, named: RegExp): boolean => {
  if (typeof value === 'string') return named.test(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.entries(value).some(
    ([key, child]: [string, Json]) => named.test(key) || mentions(child, named),
  );
};

const isOfLoop = ({ actor, data }: RecordedEvent, loop: string): boolean =>
  actor === loop ||
  actor.startsWith(`${loop}/`) ||
  `/${actor}/`.includes(`/${loop}/`) ||
  data['loop'] === loop ||
  data['loopId'] === loop;

const isOfAgent = (event: RecordedEvent, turn: PastTurn, agent: string): boolean => {
  const names = [agent, `agent ${agent}`];
  return (
    names.includes(nameOf(event.actor)) ||
    `${event.actor}/`.includes(`/agent:${agent}/`) ||
    (event.from !== null && names.includes(nameOf(event.from))) ||
    isNamedIn(event, agent) ||
    names.includes(whoDid(event, turn))
  );
};

/** Where facts name the agents that they are of. */
const isNamedIn = ({ data }: RecordedEvent, agent: string): boolean =>
  [data['role'], data['source'], data['target'], data['from']].includes(agent) ||
  textsIn(data['targets']).includes(agent) ||
  resolutionIn(data)?.by.includes(agent) === true;
