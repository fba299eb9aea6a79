import { encodeOwn } from '../events/encode-own.ts';
import { failureOf } from '../events/failure.ts';
import { joined, plain } from '../events/join.ts';
import type { Json, JsonObject } from '../events/json.ts';
import { VERDICTS, type Verdict } from '../events/turn.ts';
import { SYSTEM_TYPE_VERSION, TYPE } from '../events/vocabulary.ts';
import { invariant } from '../invariant.ts';
import { type ActorRecord, noted } from './actor-record.ts';
import { closed } from './advance.ts';
import type { Delivered, Delivery, Desk } from './deliver.ts';
import { current, perform, prepareClosing } from './effects.ts';
import type { Definition } from './registry.ts';
import type { Outcome } from './stimulus.ts';
import type { Row } from './workspace.ts';

/** Ends an actor that threw: its row says why, its calls and timers are closed, its children stopped, its parent told. */
export const fail = (
  desk: Desk,
  record: ActorRecord,
  { error, row, causedBy }: { error: unknown; row: Row | undefined; causedBy: number | null },
): void => {
  const failure = failureOf(error);
  const { record: next, effects } = closed(noted(record), 'failed');
  const message = row && { type: row.type, data: row.data.value };
  const index = desk.work.append(next, {
    kind: 'failed',
    type: TYPE.failed,
    typeVersion: SYSTEM_TYPE_VERSION,
    data: encodeOwn({ error: failure, message, parent: record.parent, child: record.childId }, 'failure'),
    from: row?.from ?? null,
    causedBy,
  });
  for (const effect of effects) perform(desk, next, { effect: prepareClosing(effect), index });
  ended(desk, next, { outcome: { failure }, index });
};

/** Ends an actor from outside: its parent let go of it, a person cancelled its run, or a limit was met. */
export const stop = (
  desk: Desk,
  record: ActorRecord | null,
  message: Delivery & { kind: 'stop' },
): Delivered => {
  if (record?.status !== 'active') return 'dropped';
  const { reason, verdict, from, causedBy } = message;
  const { record: next, effects } = closed(noted(record), 'stopped');
  const data = encodeOwn({ reason, verdict }, 'stop');
  const index = desk.work.append(next, {
    kind: 'stopped',
    type: TYPE.stopped,
    typeVersion: SYSTEM_TYPE_VERSION,
    data,
    from,
    causedBy,
  });
  for (const effect of effects) perform(desk, next, { effect: prepareClosing(effect), index });
  if (next.parent === null)
    endRun(desk, next, { verdict: verdict ?? 'cancelled', result: { reason }, index });
  return 'taken';
};

/** Tells the parent of an actor, or the run that it is the root of, how it ended. */
export const ended = (
  desk: Desk,
  record: ActorRecord,
  { outcome, index }: { outcome: Outcome; index: number },
): void => {
  const { parent, childId, address } = record;
  if (parent !== null && childId !== null) {
    desk.queue.push({
      kind: 'childEnded',
      to: parent,
      from: address,
      causedBy: index,
      child: childId,
      outcome,
    });
    return;
  }
  const definition = desk.registry.find(record.machine, record.machineVersion);
  endRun(desk, record, {
    index,
    ...('failure' in outcome
      ? { verdict: 'failed', result: { failure: { ...outcome.failure } } }
      : { verdict: verdictOf(definition, outcome.output.value), result: { output: outcome.output.value } }),
  });
};

/** What a machine says of itself, else that it reached its end. A verdict that does not exist is no verdict. */
const verdictOf = (definition: Definition | undefined, output: Json): Verdict => {
  try {
    const said: unknown = definition?.workflow.options.verdict
      ? definition.workflow.options.verdict(output)
      : typeof output === 'object' && output !== null && 'verdict' in output
        ? output.verdict
        : 'verified';
    return VERDICTS.find((verdict) => verdict === said) ?? 'failed';
  } catch {
    return 'failed';
  }
};

/** What a run gave at its end, or why it has nothing to give. */
type RunEnd = { readonly output: Json } | { readonly failure: JsonObject } | { readonly reason: string };

const endRun = (
  desk: Desk,
  record: ActorRecord,
  end: { verdict: Verdict; result: RunEnd; index: number },
): void => {
  const { work } = desk;
  const root = current(work, record.address);
  const run = work.run(root.run);
  invariant(run, `the run ${root.run} of a root exists`);
  const result = encodeOwn(end.result, 'result');
  const data = joined([
    ['result', result],
    ['verdict', plain(end.verdict)],
  ]);
  work.append(noted(root), {
    kind: 'fact',
    type: TYPE.runEnded,
    typeVersion: SYSTEM_TYPE_VERSION,
    data,
    from: null,
    causedBy: end.index,
  });
  work.putRun({ ...run, verdict: end.verdict, endedAtMs: work.atMs, result: result.json });
};
