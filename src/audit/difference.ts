import { canonicalJson } from '../events/encode.ts';
import type { RecordedEvent, StateValue } from '../events/event.ts';
import type { JsonObject } from '../events/json.ts';
import { pathOf } from './past.ts';

/** A row as a difference shows it. */
export interface DifferentRow {
  readonly actor: string;
  readonly kind: string;
  readonly type: string;
  readonly state: StateValue;
  readonly data: JsonObject;
}

/** The first event at which a run that was lived again is another than the one in the log. */
export interface Difference {
  /** Of the event in the log; if there is none, of the one after which something else came. */
  readonly position: number;
  readonly what: 'row' | 'data' | 'context' | 'calls' | 'not handled' | 'not possible';
  readonly recorded: DifferentRow | null;
  readonly computed: DifferentRow | null;
  /** In words. */
  readonly text: string;
}

const rowOf = ({ actor, kind, type, state, data }: RecordedEvent): DifferentRow => ({
  actor,
  kind,
  type,
  state,
  data,
});

/** Where the rows of two turns part; undefined if they do not. `data` also counts what is said in them. */
export const firstDifference = (
  was: readonly RecordedEvent[],
  is: readonly RecordedEvent[],
  { data }: { readonly data: boolean },
): Difference | undefined => {
  for (let index = 0; index < Math.max(was.length, is.length); index += 1) {
    const [recorded, computed] = [was[index], is[index]];
    const isSamePath = recorded && computed && pathOf(recorded) === pathOf(computed);
    if (isSamePath && (!data || canonicalJson(recorded.data) === canonicalJson(computed.data))) continue;
    const position = recorded?.position ?? was.at(-1)?.position ?? 0;
    return differenceOf(position, recorded, { computed, what: isSamePath ? 'data' : 'row' });
  }
  return undefined;
};

export const differenceOf = (
  position: number,
  recorded: RecordedEvent | undefined,
  { computed, what }: { readonly computed: RecordedEvent | undefined; readonly what: Difference['what'] },
): Difference => {
  const isUntaken = recorded?.kind === 'message' && computed?.kind === 'undelivered';
  return {
    position,
    what: isUntaken && recorded.type === computed.type ? 'not handled' : what,
    recorded: recorded ? rowOf(recorded) : null,
    computed: computed ? rowOf(computed) : null,
    text: `at position ${position} the log has ${inWords(recorded)}; now it is ${inWords(computed)}`,
  };
};

/** The rows are the same, but what is asked of agents after them, or the time that something is given, is not. */
export const otherCalls = (event: RecordedEvent | undefined): Difference => {
  const position = event?.position ?? 0;
  return {
    ...differenceOf(position, event, { computed: event, what: 'calls' }),
    text: `after position ${position} agents are asked something else, or timers are set otherwise`,
  };
};

const inWords = (event: RecordedEvent | undefined): string =>
  event
    ? `"${event.type}" (${event.kind}) of "${event.actor}", then in ${canonicalJson(event.state)}`
    : 'nothing';
