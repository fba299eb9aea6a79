import type { RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { FEEDBACK_KINDS, type FeedbackKind } from '../events/tree-feedback.ts';
import {
  type FeedbackRow,
  type FeedbackStatus,
  targetOf,
  timestampOf,
} from '../events/tree-feedback-lines.ts';
import { TYPE } from '../events/vocabulary.ts';
import { type Mutable, projection } from './projection.ts';

/** One change of the status of a feedback. */
export interface FeedbackAuditRow {
  readonly timestamp: string;
  readonly feedback_id: string;
  readonly type: FeedbackKind;
  readonly source: string;
  readonly target: string;
  readonly round: number;
  readonly status: FeedbackStatus;
}

/** The feedback of a run: each with where it stands, every change of status, and what was refused. */
export interface TreeFeedbackLog {
  rows: Record<string, Mutable<FeedbackRow>>;
  /** Ids in the order in which they came. */
  order: string[];
  audit: FeedbackAuditRow[];
  /** Escalated to a person or a planner, and why. */
  escalations: { feedback_id: string; reason: string; cycle: string[] | null }[];
  refused: { node: string; faults: string[] }[];
}

const initial: TreeFeedbackLog = { rows: {}, order: [], audit: [], escalations: [], refused: [] };

/** The feedback of a tree run. */
export const treeFeedbackLog = projection({
  name: 'tree-feedback',
  version: 1,
  partition: 'run',
  initial,
  on: {
    'feedback.imported': (state, event) => {
      if (event.kind !== 'fact' || event.actor !== event.run || !isJsonObject(event.data['row'])) return;
      const row = event.data['row'] as unknown as Mutable<FeedbackRow>; // It was checked before the run began.
      state.rows[row.feedback_id] = row;
      state.order.push(row.feedback_id);
    },
    'feedback.queued': (state, event) => note(state, event, 'queued'),
    'feedback.delivered': (state, event) => note(state, event, 'delivered'),
    'feedback.resolved': (state, event) => note(state, event, 'resolved'),
    'feedback.failed': (state, event) => note(state, event, 'failed'),
    'feedback.escalated': (state, event) => {
      if (!isOfCoordinator(event)) return;
      const { id, reason, cycle, refused } = event.data;
      if (refused === true) note(state, event, 'failed');
      state.escalations.push({
        feedback_id: textOf(id),
        reason: textOf(reason),
        cycle: Array.isArray(cycle) ? textsOf(cycle) : null,
      });
    },
    [TYPE.runEnded]: (state, event) => {
      if (event.kind === 'fact' && event.actor === event.run) noteEnd(state, event);
    },
    'feedback.refused': (state, event) => {
      if (!isOfCoordinator(event)) return;
      const { node, faults } = event.data;
      state.refused.push({ node: textOf(node), faults: textsOf(faults) });
    },
  },
});

/** Others may have facts of these names. */
const isOfCoordinator = ({ kind, machine }: RecordedEvent): boolean =>
  kind === 'fact' && machine === 'lw.coordinator';

const textOf = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const textsOf = (value: Json | undefined): string[] =>
  Array.isArray(value) ? (value as readonly Json[]).map(textOf) : [];

/** How a feedback that was not resolved ended, as a verdict. */
const VERDICTS: Readonly<Record<string, string>> = {
  up: 'exhausted',
  stopped: 'exhausted',
  accepted: 'accepted',
  cancelled: 'cancelled',
  void: 'cancelled',
};

function note(state: TreeFeedbackLog, event: RecordedEvent, status: FeedbackStatus): void {
  if (!isOfCoordinator(event)) return;
  const {
    id: given,
    item,
    kind,
    priority,
    source,
    target,
    round,
    chain,
    escalates,
    outcome,
    reason,
  } = event.data;
  const id = textOf(given);
  const at = timestampOf(event.atMs);
  const before = Object.hasOwn(state.rows, id) ? state.rows[id] : undefined;
  if (!before) state.order.push(id);
  const cause = Array.isArray(chain) ? (chain as readonly Json[]).at(-1) : undefined;
  const verdict = status === 'resolved' ? 'verified' : VERDICTS[typeof outcome === 'string' ? outcome : ''];
  const row = {
    ...(item as JsonObject), // The coordinator keeps nothing else there.
    feedback_id: id,
    priority,
    timestamp: before?.timestamp ?? at,
    status,
    round,
    ...(isJsonObject(item) && item['to_node'] !== target && { routed_to: target }),
    ...timesOf(before, status, at),
    ...(isJsonObject(cause) && { caused_by: cause['id'] }),
    ...(typeof escalates === 'string' && { escalates }),
    ...(verdict !== undefined && { verdict }),
    ...(status === 'failed' && typeof reason === 'string' && { reason }),
  } as unknown as Mutable<FeedbackRow>;
  state.rows[id] = row;
  state.audit.push({
    timestamp: at,
    feedback_id: id,
    type: FEEDBACK_KINDS.find((known) => known === kind) ?? row.feedback_type,
    source: textOf(source),
    target: textOf(target),
    round: Number(round),
    status,
  });
}

/** What is still open when its run ends has ended with it. */
function noteEnd(state: TreeFeedbackLog, { data, atMs }: RecordedEvent): void {
  const at = timestampOf(atMs);
  for (const id of state.order) {
    const row = state.rows[id];
    if (!row || row.verdict !== undefined || (row.status === 'resolved' && row.resolved_at !== undefined))
      continue;
    row.verdict = textOf(data['verdict']);
    if (row.status === 'failed') continue;
    row.status = 'failed';
    row.failed_at = at;
    row.reason = 'Its run has ended.';
    const { feedback_type: type, from_node: source, round } = row;
    state.audit.push({
      timestamp: at,
      feedback_id: id,
      type,
      source,
      target: targetOf(row),
      round,
      status: 'failed',
    });
  }
}

/** What is queued again has not been delivered in this round. */
const timesOf = (
  before: FeedbackRow | undefined,
  status: FeedbackStatus,
  at: string,
): Partial<FeedbackRow> => {
  if (status === 'queued') return {};
  const delivered = status === 'delivered' ? at : before?.delivered_at;
  return {
    ...(delivered !== undefined && { delivered_at: delivered }),
    ...(status === 'resolved' && { resolved_at: at }),
    ...(status === 'failed' && { failed_at: at }),
  };
};

/** The rows in the order in which they came: what a feedback file is made of. */
export const feedbackRows = ({ rows, order }: TreeFeedbackLog): readonly FeedbackRow[] =>
  order.flatMap((id) => rows[id] ?? []);

interface KindStatistics {
  readonly total: number;
  readonly resolved: number;
  readonly failed: number;
  readonly open: number;
}

export interface FeedbackStatistics extends KindStatistics {
  readonly byKind: Readonly<Record<FeedbackKind, KindStatistics>>;
  /** Resolved by all, from 0 to 1. */
  readonly successRate: number | 'n/a';
  /** Of those that were resolved. */
  readonly meanRounds: number | 'n/a';
  readonly meanTimeMs: number | 'n/a';
}

/** How feedback went, by kind and in all. */
export const feedbackStatistics = (view: TreeFeedbackLog): FeedbackStatistics => {
  const rows = feedbackRows(view);
  const resolved = rows.filter(({ status }) => status === 'resolved');
  const took = resolved.flatMap(({ timestamp, resolved_at: at }) =>
    at === undefined ? [] : [Date.parse(at) - Date.parse(timestamp)],
  );
  const byKind = FEEDBACK_KINDS.map((kind) => [
    kind,
    counts(rows.filter((row) => row.feedback_type === kind)),
  ]);
  return {
    ...counts(rows),
    byKind: Object.fromEntries(byKind) as FeedbackStatistics['byKind'], // One for each of them.
    successRate: rows.length === 0 ? 'n/a' : resolved.length / rows.length,
    meanRounds: mean(resolved.map((row) => roundsOf(row, view))),
    meanTimeMs: mean(took),
  };
};

const counts = (rows: readonly FeedbackRow[]): KindStatistics => {
  const count = (...statuses: readonly FeedbackStatus[]): number =>
    rows.filter(({ status }) => statuses.includes(status)).length;
  return {
    total: rows.length,
    resolved: count('resolved'),
    failed: count('failed'),
    open: count('queued', 'delivered'),
  };
};

/** How many rounds one feedback took: those of its pair before it were not its own. */
const roundsOf = (row: FeedbackRow, { audit }: TreeFeedbackLog): number => {
  const own = audit.filter(
    ({ feedback_id: id, status }) => id === row.feedback_id && status === 'queued',
  ).length;
  return own === 0 ? row.round : own;
};

const mean = (values: readonly number[]): number | 'n/a' =>
  values.length === 0 ? 'n/a' : values.reduce((sum, value) => sum + value, 0) / values.length;
