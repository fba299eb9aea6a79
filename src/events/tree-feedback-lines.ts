import { isJsonObject, type Json, type JsonObject } from './json.ts';
import { type FeedbackItem, readFeedback } from './tree-feedback.ts';

export const FEEDBACK_STATUSES = ['queued', 'delivered', 'resolved', 'failed'] as const;
export type FeedbackStatus = (typeof FEEDBACK_STATUSES)[number];

/** One feedback with where it stands, as a line of a feedback file has it. */
export interface FeedbackRow extends FeedbackItem {
  readonly feedback_id: string;
  /** When it was made, and when each status was reached last. */
  readonly timestamp: string;
  readonly status: FeedbackStatus;
  readonly round: number;
  /** Who got it, if not the node that it names. */
  readonly routed_to?: string;
  readonly delivered_at?: string;
  readonly resolved_at?: string;
  readonly failed_at?: string;
  /** The feedback that led to it. */
  readonly caused_by?: string;
  /** The feedback that it was put before a planner for. */
  readonly escalates?: string;
  readonly verdict?: string;
  readonly reason?: string;
}

/** A line that was not taken, and everything that is wrong with it. */
export interface RefusedLine {
  readonly line: number;
  readonly faults: readonly string[];
}

export interface ReadFeedbackLines {
  readonly rows: readonly FeedbackRow[];
  readonly refused: readonly RefusedLine[];
}

/** In this order in a line. */
const MEMBERS = [
  'type',
  'feedback_id',
  'from_node',
  'to_node',
  'feedback_type',
  'message',
  'suggested_fix',
  'suggested_action',
  'requested_info',
  'priority',
  'artifacts',
  'timestamp',
  'status',
  'round',
  'routed_to',
  'delivered_at',
  'resolved_at',
  'failed_at',
  'caused_by',
  'escalates',
  'verdict',
  'reason',
] as const satisfies readonly (keyof FeedbackRow)[];

/** One JSON document for each line: what `parseFeedback` reads again, equal. */
export const formatFeedback = (rows: readonly FeedbackRow[]): string =>
  rows.map((row) => `${JSON.stringify(pick(row as unknown as JsonObject))}\n`).join('');

const pick = (row: JsonObject): JsonObject =>
  Object.fromEntries(MEMBERS.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])));

/** Seconds alone if there is nothing after them, as other tools write them. */
export const timestampOf = (atMs: number): string => new Date(atMs).toISOString().replace('.000Z', 'Z');

/** Reads a feedback file. Each line is taken, or refused with everything that is wrong with it. */
export const parseFeedback = (text: string): ReadFeedbackLines => {
  const rows: FeedbackRow[] = [];
  const refused: RefusedLine[] = [];
  const known = new Map<string, FeedbackRow>();
  const lines = text.split('\n');
  const taken = idsIn(lines);
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const read = readLine(line, known, taken);
    if (read.faults) {
      refused.push({ line: index + 1, faults: read.faults });
      continue;
    }
    rows.push(read.row);
    known.set(read.row.feedback_id, read.row);
  }
  return { rows, refused };
};

type ReadLine =
  | { readonly row: FeedbackRow; readonly faults?: undefined }
  | { readonly faults: readonly string[] };

/** Ids that some line has: one that has none must not be given one of them. */
const idsIn = (lines: readonly string[]): Set<string> =>
  new Set(lines.flatMap((line) => line.match(/"feedback_id"\s*:\s*"([^"]*)"/)?.[1] ?? []));

const readLine = (line: string, known: ReadonlyMap<string, FeedbackRow>, taken: Set<string>): ReadLine => {
  const given = parsed(line);
  if (given === undefined || !isJsonObject(given)) return { faults: ['it is not a JSON object'] };
  const read = readFeedback(given);
  const faults = [...(read.faults ?? []), ...problemsOfRow(given, known)];
  if (read.faults || faults.length > 0) return { faults };
  const id = typeof given['feedback_id'] === 'string' ? given['feedback_id'] : freeId(known, taken);
  const row = { ...pick(given), ...read.item, feedback_id: id, round: given['round'] ?? 1 } as FeedbackRow; // Every member was checked.
  const cycle = cycleIn(row, known);
  return cycle ? { faults: [`it closes a cycle of feedback: ${cycle.join(' → ')}`] } : { row };
};

const parsed = (line: string): Json | undefined => {
  try {
    return JSON.parse(line) as Json;
  } catch {
    return undefined;
  }
};

const freeId = (known: ReadonlyMap<string, FeedbackRow>, taken: Set<string>): string => {
  for (let nth = known.size + 1; ; nth += 1) {
    const id = `FB-${String(nth).padStart(3, '0')}`;
    if (taken.has(id) || known.has(id)) continue;
    taken.add(id);
    return id;
  }
};

const TIMES = ['timestamp', 'delivered_at', 'resolved_at', 'failed_at'] as const;
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z$/;

const problemsOfRow = (given: JsonObject, known: ReadonlyMap<string, FeedbackRow>): readonly string[] => {
  const { feedback_id: id, status, round, timestamp, caused_by: cause } = given;
  const isTime = (value: Json | undefined) =>
    typeof value === 'string' && ISO.test(value) && Number.isFinite(Date.parse(value));
  const texts = ['routed_to', 'caused_by', 'escalates', 'verdict', 'reason'] as const;
  return [
    ...(id === undefined || (typeof id === 'string' && id.trim() !== '')
      ? []
      : ['"feedback_id" is not a text']),
    ...(typeof id === 'string' && known.has(id) ? [`"feedback_id" is "${id}", which is there already`] : []),
    ...(FEEDBACK_STATUSES.some((each) => each === status)
      ? []
      : [`"status" is none of ${FEEDBACK_STATUSES.join(', ')}`]),
    ...(round === undefined || (Number.isSafeInteger(round) && Number(round) >= 1)
      ? []
      : ['"round" is not an integer from 1']),
    ...TIMES.filter((name) => (given[name] === undefined ? name === 'timestamp' : !isTime(given[name]))).map(
      (name) =>
        name === 'timestamp' && timestamp === undefined
          ? '"timestamp" is missing'
          : `"${name}" is not a time, as in 2026-01-21T14:00:00Z`,
    ),
    ...texts
      .filter((name) => given[name] !== undefined && typeof given[name] !== 'string')
      .map((name) => `"${name}" is not a text`),
    ...(typeof cause === 'string' && !known.has(cause)
      ? [`"caused_by" is "${cause}", which no line before it has`]
      : []),
  ];
};

/** Who got it. */
export const targetOf = (row: FeedbackRow): string => row.routed_to ?? row.to_node;

/** What led to a feedback, oldest first. Causes come before what they cause, so that it ends. */
export const causesOf = (
  row: FeedbackRow,
  known: ReadonlyMap<string, FeedbackRow>,
): readonly FeedbackRow[] => {
  const chain: FeedbackRow[] = [];
  for (let cause = known.get(row.caused_by ?? ''); cause; cause = known.get(cause.caused_by ?? ''))
    chain.push(cause);
  return chain.toReversed();
};

/** The nodes from its target along its causes back to its source. */
const cycleIn = (
  row: FeedbackRow,
  known: ReadonlyMap<string, FeedbackRow>,
): readonly string[] | undefined => {
  const chain = causesOf(row, known);
  const target = targetOf(row);
  const first = chain.findIndex(({ from_node: from }) => from === target);
  if (target === row.from_node) return [target, target];
  if (first === -1) return undefined;
  return [...chain.slice(first).map(({ from_node: from }) => from), row.from_node, target];
};
