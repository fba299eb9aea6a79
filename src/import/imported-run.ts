import { RuntimeError } from '../errors.ts';
import { hashText } from '../events/blob.ts';
import { canonicalJson } from '../events/encode.ts';
import type { Json } from '../events/json.ts';
import { createRedactor, type Redactor } from '../events/redact.ts';
import { type FeedbackRow, formatFeedback } from '../events/tree-feedback-lines.ts';
import { boardMachine } from '../machines/board-machine.ts';
import { routeOf } from '../machines/coordinator-checks.ts';
import { tightMachine } from '../machines/tight-machine.ts';
import { treeMachine } from '../machines/tree-machine.ts';
import { shapeOf, type TreeNode } from '../machines/tree-plan.ts';
import type { Workflow } from '../machines/workflow.ts';
import type { FeedbackImport } from './feedback-file.ts';
import type { ReadImport } from './read-import.ts';
import { excerptOf, type RefusedRow } from './rows.ts';

export interface ImportedRun {
  /** Made of what is imported: the same again has the same id, and is started once. Null if there is nothing to start. */
  readonly run: string | null;
  /** What to start it with: `runtime.start(workflow.name, input, { id: run })`. */
  readonly input: Json;
  /** Rows that the file has, but the workflow has no place for, too. */
  readonly read: Exclude<ReadImport, { format: 'settings' }>;
}

export interface ImportedRunOptions {
  /** What the run is about; files do not say. */
  readonly task?: Json;
  readonly redactor?: Redactor;
}

const KINDS = {
  feedback: { machine: treeMachine, name: 'a tree run' },
  progress: { machine: tightMachine, name: 'a tight loop' },
  stories: { machine: boardMachine, name: 'a loop of stories' },
} as const;

/**
 * What a run of a workflow is to be started with, to go on where another system has stopped.
 *
 * @throws {RuntimeError} BAD_OPTION if the workflow is of another kind than the file
 */
export const importedRun = (
  workflow: Workflow,
  read: ImportedRun['read'],
  { task = null, redactor = createRedactor({}) }: ImportedRunOptions = {},
): ImportedRun => {
  const { machine, name } = KINDS[read.format];
  // They are compared as values only.
  if ((workflow.machine as unknown) !== machine)
    throw new RuntimeError('BAD_OPTION', {
      option: 'workflow',
      found: `"${workflow.name}", which is none that goes on with ${read.format}`,
      expected: name,
    });
  const placed = read.format === 'feedback' ? placedIn(workflow, read, redactor) : read;
  if (placed.accepted.length === 0) return { run: null, input: null, read: placed };
  const input = inputOf(placed, task);
  const content = placed.format === 'stories' ? placed.stories.map(({ text }) => hashText(text)) : [];
  const text = redactor.text(canonicalJson({ workflow: workflow.name, input, content }));
  return { run: `import-${hashText(text).slice(0, 16)}`, input, read: placed };
};

const inputOf = (read: ImportedRun['read'], task: Json): Json => {
  switch (read.format) {
    case 'feedback':
      return { task, feedback: formatFeedback(read.rows.map(({ row }) => row)) };
    case 'progress':
      return { task, progress: read.progress };
    case 'stories':
      return { stories: read.stories.map(({ path }) => path) };
  }
};

/** Feedback that is still to be delivered needs its nodes, and what led to it. */
const placedIn = (workflow: Workflow, read: FeedbackImport, redactor: Redactor): FeedbackImport => {
  const prepared: unknown = workflow.options.prepare?.({ task: null });
  const { nodes } = prepared as { readonly nodes: readonly TreeNode[] }; // It is a tree run.
  const tree = shapeOf(nodes);
  const faults = new Map<number, string>();
  const gone = new Set<string>();
  for (const { line, row } of read.rows) {
    const fault = problemOf(row, routeOf(tree, row).fault, gone);
    if (fault === undefined) continue;
    faults.set(line, fault);
    gone.add(row.feedback_id);
  }
  const isLeft = ({ line }: { readonly line: number }): boolean => !faults.has(line);
  const refused = read.rows.flatMap(({ line, row }): RefusedRow[] => {
    const reason = faults.get(line);
    return reason === undefined
      ? []
      : [{ place: `line ${line}`, reason, text: excerptOf(JSON.stringify(row), redactor) }];
  });
  return {
    ...read,
    rows: read.rows.filter(isLeft),
    accepted: read.accepted.filter((_, index) => isLeft(read.rows[index] ?? { line: 0 })),
    refused: [...read.refused, ...refused].sort((one, other) => lineOf(one) - lineOf(other)),
  };
};

const lineOf = ({ place }: RefusedRow): number => Number(place.replace('line ', ''));

const problemOf = (
  row: FeedbackRow,
  fault: string | undefined,
  gone: ReadonlySet<string>,
): string | undefined => {
  if (row.caused_by !== undefined && gone.has(row.caused_by))
    return `"caused_by" is "${row.caused_by}", which was refused`;
  const isOpen = row.status === 'queued' || row.status === 'delivered';
  return isOpen ? fault : undefined;
};
