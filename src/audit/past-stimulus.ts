import type { Outcome, Stimulus } from '../actors/stimulus.ts';
import { type Encoded, encode } from '../events/encode.ts';
import type { RecordedEvent } from '../events/event.ts';
import { type Failure, isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { VERDICTS } from '../events/turn.ts';
import { TYPE } from '../events/vocabulary.ts';
import type { PastTurn } from './past-turns.ts';

/** What a machine once answered may be as large as a log lets it be, whatever the door allows now. */
const RECORDED_LIMITS = { bytes: 64 * 1024 * 1024, depth: 256, keys: 1_000_000 };

export const encoded = (value: Json | undefined): Encoded =>
  encode(value ?? null, { limits: RECORDED_LIMITS });

/** What came from outside and made a turn: its first row says so. Undefined if the row can't be what a stimulus leaves. */
export const stimulusOf = ({ id, atMs, origin, by, cause, events }: PastTurn): Stimulus | undefined => {
  const [first] = events;
  if (!first) return undefined;
  const header = { id, atMs, origin, by, cause };
  const { type, data } = contentOf(first);
  const actor = targetOf(first);
  switch (type) {
    case TYPE.started:
      return {
        ...header,
        kind: 'start',
        run: first.run,
        workflow: first.machine,
        version: first.machineVersion,
        input: encoded(data['input']),
      };
    case TYPE.callDone:
    case TYPE.callFailed:
      return { ...header, kind: 'answer', actor, ...numbered(data, 'call'), outcome: outcomeOf(type, data) };
    case TYPE.callBegun:
      return { ...header, kind: 'begun', actor, ...numbered(data, 'call') };
    case TYPE.timerFired:
      return { ...header, kind: 'fired', actor, ...numbered(data, 'timer') };
    case TYPE.migrated:
      return {
        ...header,
        kind: 'migrate',
        actor,
        from: typeof data['from'] === 'number' ? data['from'] : first.machineVersion,
        state: encoded(data['state']),
      };
    case TYPE.stopped:
    case TYPE.stop:
      return { ...header, kind: 'end', run: first.run, ...endOf(data) };
    default:
      return { ...header, kind: 'message', to: actor, type, data: encoded(data), expectedVersion: undefined };
  }
};

/** What was said, be it that an actor took it, threw on it, or that nobody took it. */
const contentOf = ({
  kind,
  type,
  data,
}: RecordedEvent): { readonly type: string; readonly data: JsonObject } => {
  if (kind === 'undelivered') return { type, data: objectOf(data['message']) };
  const message = kind === 'failed' ? objectOf(data['message']) : undefined;
  return message && typeof message['type'] === 'string'
    ? { type: message['type'], data: objectOf(message['data']) }
    : { type, data };
};

const targetOf = ({ kind, actor, data }: RecordedEvent): string =>
  kind === 'undelivered' && typeof data['to'] === 'string' ? data['to'] : actor;

const objectOf = (value: Json | undefined): JsonObject => (isJsonObject(value) ? value : {});

/** Rows about a call or timer name it, and its generation. */
export const numbered = <Key extends 'call' | 'timer'>(data: JsonObject, key: Key) =>
  ({ [key]: data[key], generation: data['generation'] }) as unknown as {
    readonly [Each in Key]: string;
  } & { readonly generation: number };

/** An answer that its machine could not digest was given to it as a failure: it is given again as it came. */
const outcomeOf = (type: string, data: JsonObject): Outcome => {
  if (type === TYPE.callDone) return { output: encoded(data['output']) };
  if (Object.hasOwn(data, 'answer')) return { output: encoded(data['answer']) };
  // The kernel wrote it from a failure.
  return { failure: objectOf(data['error']) as unknown as Failure };
};

const endOf = (data: JsonObject) => ({
  verdict: VERDICTS.find((verdict) => verdict === data['verdict']) ?? ('cancelled' as const),
  reason: typeof data['reason'] === 'string' ? data['reason'] : 'cancelled',
});
