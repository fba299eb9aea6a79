import type { ActorState, RecordedEvent } from '../index.ts';
import { isObject, type LoopContext, toLoopContext } from './run-context.ts';
import { agentAt } from './used-lines.ts';

/** How far a run is, whatever its loop. */
export interface Glance {
  /** What is at work: a state, the steps, the nodes or the stories. */
  readonly step: string;
  readonly pass: number | null;
  readonly passesMax: number | null;
  readonly calls: number;
  readonly costUsd: number;
  readonly costMaxUsd: number | null;
}

type Record = Readonly<globalThis.Record<string, unknown>>;

/** What each loop of the package calls its steps and passes. Null for a context that is not of that loop. */
const LOOPS: readonly ((context: LoopContext, value: string) => Partial<Glance> | null)[] = [
  ({ whole, limits }, value) => {
    const { current, allowed } = whole;
    if (!isObject(current) || typeof current['number'] !== 'number') return null;
    return { step: value, pass: current['number'], passesMax: more(limits.passes, allowed) };
  },
  ({ whole, limits }) => {
    const { steps, plan, allowed } = whole;
    if (!isObject(steps) || !isObject(plan)) return null;
    const rejections = Object.values(steps).map((step) => numberIn(step, 'rejections'));
    return {
      step: working(steps),
      pass: Math.max(0, ...rejections) + 1,
      passesMax: more(limits.passes, allowed),
    };
  },
  ({ whole }) => {
    const { records, nodes } = whole;
    if (!isObject(records) || !Array.isArray(nodes)) return null;
    return { step: working(records) };
  },
  ({ whole }) => {
    const { settings } = whole;
    const all = cardsIn(whole);
    if (!all) return null;
    const busy = all.filter(({ stage }) => stage === 'busy').map(({ key }) => String(key));
    const ended = all.filter(({ stage }) => stage === 'ended').length;
    const limits = isObject(settings) && isObject(settings['limits']) ? settings['limits'] : {};
    // Each has a bound of its own, which may have been raised since: the one that was sent back most often says how far it is.
    const refinements = Math.max(0, ...all.map((card) => numberIn(card, 'refinements')));
    const farthest = all.find((card) => numberIn(card, 'refinements') === refinements);
    return {
      step: `${busy.length === 0 ? 'stories' : busy.join(', ')} (${ended} of ${all.length} ended)`,
      pass: refinements + 1,
      passesMax: more(farthest?.['max'], 1),
      costMaxUsd: boundOf(limits['costUsd']),
    };
  },
  ({ whole, limits }, value) => {
    const { repeat } = whole;
    return typeof repeat === 'number'
      ? { step: value, pass: repeat, passesMax: boundOf(limits.repeats) }
      : null;
  },
];

/** A run's root at a glance. */
export const glanceAt = ({ value, context }: Pick<ActorState, 'value' | 'context'>): Glance => {
  const known = toLoopContext(context);
  const name = stateName(value);
  const own = LOOPS.map((loop) => loop(known, name)).find((found) => found !== null) ?? {};
  const { limits } = known;
  const spent = spentIn(known);
  return {
    pass: null,
    passesMax: null,
    calls: spent?.calls ?? 0,
    costUsd: spent?.costUsd ?? 0,
    costMaxUsd: boundOf(limits.costUsd),
    ...own,
    step: own.step === undefined || own.step === '' ? name : own.step,
  };
};

/** What a run has spent: by itself, or by its stories together. Undefined of a run that keeps no account. */
export const spentIn = ({ spent, whole }: LoopContext): Pick<Glance, 'calls' | 'costUsd'> | undefined => {
  const cards = cardsIn(whole);
  if (spent || !cards) return spent;
  return {
    calls: sum(cards.map((card) => numberIn(card['spent'], 'calls'))),
    costUsd: sum(cards.map((card) => numberIn(card['spent'], 'costUsd'))),
  };
};

const cardsIn = ({ cards }: Record): readonly Record[] | undefined =>
  isObject(cards) ? Object.values(cards).filter(isObject) : undefined;

export const stateName = (value: unknown): string => {
  if (!isObject(value)) return String(value);
  return Object.entries(value)
    .map(([region, inner]) => (inner === undefined ? region : `${region}.${stateName(inner)}`))
    .join(' + ');
};

const working = (records: Record): string =>
  Object.entries(records)
    .filter(([, record]) => isObject(record) && record['status'] === 'working')
    .map(([id]) => id)
    .join(', ');

const numberIn = (record: unknown, key: string): number => {
  const value = isObject(record) ? record[key] : undefined;
  return typeof value === 'number' ? value : 0;
};

const boundOf = (value: unknown): number | null => (typeof value === 'number' ? value : null);

const more = (bound: unknown, allowed: unknown): number | null =>
  typeof bound === 'number' ? bound + (typeof allowed === 'number' ? allowed : 0) : null;

const sum = (values: readonly number[]): number => values.reduce((all, value) => all + value, 0);

/** An agent that works on a call. */
export interface AgentAtWork {
  readonly agent: string;
  readonly sinceMs: number;
}

/** Rows that say when an agent's call began and ended. */
export const CALL_TYPES = ['lw.call.begun', 'lw.call.done', 'lw.call.failed', 'lw.stopped', 'lw.failed'];

/** Which agents are at work after these rows, by the addresses of their actors. */
export const noteAtWork = (atWork: Map<string, AgentAtWork>, event: RecordedEvent): void => {
  const { machine, type, actor, atMs, kind } = event;
  if (machine !== 'lw.agent' || kind === 'late' || !CALL_TYPES.includes(type)) return;
  if (type === 'lw.call.begun') atWork.set(actor, { agent: agentAt(actor), sinceMs: atMs });
  else atWork.delete(actor);
};
