import { type OpenQuestion, type RunRecord, type Runtime, runSummary } from '../index.ts';
import { type AgentAtWork, CALL_TYPES, type Glance, glanceAt, noteAtWork, stateName } from './glance.ts';
import { isOpenIssue, issuesOf, type RunIssue } from './issues.ts';
import { contextOf, isObject } from './run-context.ts';
import { linesOf, type RunLine } from './run-status.ts';

/** A step, node or story of a run. */
export interface ShownStep {
  readonly id: string;
  readonly status: string;
  readonly runs: number | null;
}

export interface ShownActor {
  readonly address: string;
  readonly machine: string;
  readonly state: string;
  readonly status: string;
}

/** All that there is to say of a run. */
export interface ShownRun extends RunLine {
  readonly turns: number;
  readonly glance: Glance | null;
  readonly steps: readonly ShownStep[];
  readonly atWork: readonly AgentAtWork[];
  readonly actors: readonly ShownActor[];
  readonly openIssues: readonly RunIssue[];
  readonly openQuestions: readonly OpenQuestion[];
  readonly failures: readonly { readonly actor: string; readonly message: string }[];
  /** What it gave at its end, or why it failed; null while it is open. */
  readonly result: unknown;
}

export const shownRun = async (runtime: Runtime, record: RunRecord): Promise<ShownRun> => {
  const { id } = record;
  const [line] = await linesOf(runtime, [record], Date.now());
  const summary = await runtime.read(runSummary, id);
  const atWork = new Map<string, AgentAtWork>();
  const limit = Number.POSITIVE_INFINITY;
  for (const event of await runtime.audit({ run: id, types: CALL_TYPES, limit })) noteAtWork(atWork, event);
  const { whole } = await contextOf(runtime, id);
  const root = summary.actors[id];
  return {
    ...(line as RunLine), // One record gives one line.
    turns: record.turns,
    glance: root ? glanceAt({ value: root.state, context: whole }) : null,
    steps: stepsIn(whole),
    atWork: record.verdict === null ? [...atWork.values()] : [],
    actors: Object.entries(summary.actors).map(([address, { machine, state, status }]) => ({
      address,
      machine,
      state: stateName(state),
      status,
    })),
    openIssues: (await issuesOf(runtime, id)).filter(isOpenIssue),
    openQuestions: await runtime.questions({ run: id }),
    failures: summary.failures.map(({ actor, message }) => ({ actor, message })),
    result: record.result === null ? null : JSON.parse(record.result),
  };
};

/** The steps of a plan, the nodes of a tree, the stories of a board, or the passes of a tight loop. */
const stepsIn = (context: Readonly<Record<string, unknown>>): readonly ShownStep[] => {
  const { steps, records, cards, passes } = context;
  const known = [steps, records].find(isObject);
  if (known) {
    return Object.entries(known).map(([id, record]) => ({
      id,
      status: isObject(record) ? String(record['status']) : '',
      runs: isObject(record) && typeof record['runs'] === 'number' ? record['runs'] : null,
    }));
  }
  if (isObject(cards)) return Object.entries(cards).map(([id, card]) => ({ id, ...storyOf(card) }));
  return Array.isArray(passes) ? passes.filter(isObject).map(passOf) : [];
};

const storyOf = (card: unknown): Omit<ShownStep, 'id'> => {
  const { verdict, stage, refinements } = isObject(card) ? card : {};
  return {
    status: [verdict, stage].find((each) => typeof each === 'string') ?? '',
    runs: typeof refinements === 'number' ? refinements + 1 : null,
  };
};

const passOf = ({ number, review, test }: Readonly<Record<string, unknown>>): ShownStep => ({
  id: `pass ${String(number)}`,
  status: `review ${outcome(review)}, tests ${outcome(test)}`,
  runs: null,
});

const outcome = (check: unknown): string => {
  if (!isObject(check)) return 'not run';
  return check['passed'] === true ? 'passed' : 'failed';
};
