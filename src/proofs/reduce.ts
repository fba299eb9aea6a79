import type { ActorRecord } from '../actors/actor-record.ts';
import { canonicalJson } from '../events/encode.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { Severity } from '../events/severity.ts';
import { AGENT, type AgentContext } from '../machines/agent-machine.ts';
import { CONTEXT } from '../machines/context-machine.ts';
import { COORDINATOR } from '../machines/coordinator-machine.ts';
import { FEEDBACK } from '../machines/feedback-work.ts';
import { type IssueRecord, knownIssue, readIssues } from '../machines/issues.ts';
import { hashOf } from '../machines/plan.ts';
import { QUESTION } from '../machines/question-machine.ts';
import { freshSteps, keyOf, type RunState, type StepAnswer, type StepRecord } from '../machines/run-state.ts';
import type { ExploredSystem, Part } from './explored-system.ts';
import { reduceFeedback, reduceLoops } from './reduce-feedback.ts';
import { isInSlot, slotNameOf } from './slot-names.ts';

/**
 * Reduces the context of a machine to what its guards can see. Two contexts that reduce to the same value must lead to the
 * same states, whatever happens: the explorer takes samples, and a difference makes its result inconclusive.
 */
export type Reduce = (context: unknown) => Json;

export type Reductions = Readonly<Record<string, Reduce>>;

/** A bound that is far away is not counted down: a loop that only such a bound ends shows as endless, which is on the safe side. */
export const FAR = 200;

const reduceAgent: Reduce = (given) => {
  const { queue, current, attempt, paused } = given as AgentContext; // Kept under the name of its machine only.
  const left = current?.request.budget;
  return {
    queue: queue.map(({ request }) => workOf(request.id)),
    current: current && workOf(current.request.id),
    // Of a request that has ended nobody looks at it.
    attempt: current ? attempt : 0,
    paused,
    budget: left ? [near(left.calls), left.costUsd, left.tokens] : null,
  };
};

/** The id of a request counts the runs of its step, which nobody looks at. */
const workOf = (request: string): string => request.slice(0, request.lastIndexOf('.'));

export const near = (left: number | null, far = FAR): Json => (left === null || left > far ? 'many' : left);

/** A plan run has the machine of all plan runs, under a name of its user's. */
export const reduceRun: Reduce = (given) => {
  const state = given as RunState;
  const fresh = freshSteps(state);
  const { limits, spent, issues, halt } = state;
  return {
    steps: Object.fromEntries(
      Object.entries(state.steps).map(([id, step]) => [
        id,
        {
          status: step.status,
          fresh: fresh.has(id),
          // What it was made from, or is being made from, may stand again although what it needs is made anew just now.
          current: isMadeFromLast(state, id),
          pending: Object.keys(step.pending),
          // Of a step that has ended, they have been counted.
          answers:
            step.status === 'working'
              ? Object.entries(step.answers).map((said) => saidOf(state, id, said))
              : [],
          failures: step.status === 'working' ? Object.keys(step.failures) : [],
          // What persons have allowed is more of the same.
          rejections: limits.passes === null ? 'any' : limits.passes + state.allowed - step.rejections,
          // A step that waits for feedback of its own has heeded nothing yet, however much it has heard.
          unseen: [step.feedback.length - step.seen, Math.min(step.seen - step.heeded, 1)],
          corrects: [step.seen > step.outdated, step.feedback.length > step.outdated],
          made: made(step),
        },
      ]),
    ),
    // One that was resolved and comes back counts like a new one.
    issues: Object.values(issues)
      .filter(({ status }) => status === 'open' || status === 'rejected')
      .map(({ gate, inRow, status, lastPass, category, fingerprint }) => [
        category === FRESH ? FRESH : fingerprint,
        gate,
        counted(limits.sameIssue, inRow),
        status,
        // In the last pass, or some time ago.
        Math.min((state.steps[gate]?.rejections ?? 0) - lastPass, 1),
      ]),
    calls: limits.calls === null ? 'many' : near(limits.calls - spent.calls),
    spent: [limits.costUsd === null ? 0 : spent.costUsd, limits.tokens === null ? 0 : spent.tokens],
    counts: [
      limits.feedbacks === null ? 'any' : limits.feedbacks - state.feedbacks,
      counted(limits.unchanged, state.unchanged),
      counted(limits.oscillations, state.oscillations),
    ],
    paused: state.pauseReasons,
    feedback: reduceLoops(state),
    waiting: [...state.waiting].sort(),
    halt: halt && [halt.verdict, halt.met?.limit ?? null, halt.step],
  };
};

const isMadeFromLast = (state: RunState, id: string): boolean =>
  state.plan.steps.some((step) => step.id === id && state.steps[id]?.key === keyOf(state, step));

/** What of an answer will count when the others of its gate have answered. */
const saidOf = (
  { issues }: RunState,
  gate: string,
  [role, { output, issues: beside }]: [string, StepAnswer],
): Json => {
  const { passed = null, issues: inside }: JsonObject = isJsonObject(output) ? output : {};
  const found = readIssues(beside ?? inside).map(({ severity, category, fingerprint }) => [
    category === FRESH ? FRESH : fingerprint,
    severity,
    knownIssue(issues, gate, fingerprint)?.inRow ?? 0,
    knownIssue(issues, gate, fingerprint)?.status ?? 'new',
  ]);
  return [role, passed, found];
};

/** Without a limit nobody looks at the counter: the endless loop shows as a cycle. */
export const counted = (limit: number | null, count: number): Json => (limit === null ? 'any' : count);

/**
 * What a step has made so far. Things that are just new, whichever they are, are alike: what matters of them is which came
 * last, and whether there are others to go back to. Others go by what they are, since they may come again.
 */
export const made = ({ history, output, hash }: StepRecord): Json => {
  const outputs = [...history.map((earlier) => earlier.output), ...(hash === null ? [] : [output])];
  const last = outputs.at(-1) ?? null;
  const others = new Set(outputs.map((each) => hashOf(each)).filter((each) => each !== hashOf(last)));
  const known = outputs.filter((each) => !isFresh(each)).map(hashOf);
  return [
    outputs.length === 0 ? 'nothing' : isFresh(last) ? FRESH : hashOf(last),
    others.size > 0,
    [...new Set(known)].sort(),
  ];
};

export const FRESH = '$fresh';

/** An artifact that is like no other of the way. */
export const freshArtifact = (nth: number): Json => ({ [FRESH]: nth });

/** An issue that is like no other of the way. */
export const freshIssue = (nth: number, severity: Severity = 'high'): JsonObject => ({
  severity,
  category: FRESH,
  description: `${NEW_ISSUE}${nth}`,
});

const NEW_ISSUE = 'new issue no';

/** Whether something that was found can never be found again. A report of one that was refused quotes it. */
export const isNewIssue = ({
  category,
  description,
}: Pick<IssueRecord, 'category' | 'description'>): boolean =>
  category === FRESH || description.includes(NEW_ISSUE);

export const isFresh = (output: Json | undefined): boolean => {
  if (!isJsonObject(output ?? null)) return false;
  const { [FRESH]: nth, issues, verdict, run } = output as JsonObject;
  // A gate gives the issues with which it passed; a run in a run gives what its steps made.
  return (
    nth !== undefined ||
    // A loop in a run that cannot say what it made has the number of its run.
    (typeof verdict === 'string' && typeof run === 'number') ||
    readIssues(issues).some(({ category }) => category === FRESH) ||
    Object.values(output as JsonObject).some(isFresh)
  );
};

/** What is written to a context decides nothing in the machines that come with the package. */
const reduceToNothing: Reduce = () => null;

export const REDUCTIONS: Reductions = {
  [AGENT]: reduceAgent,
  [CONTEXT]: reduceToNothing,
  [QUESTION]: (given) => (given as { level: number }).level,
  [FEEDBACK]: reduceFeedback,
};

/** What systems come down to: equal for states that behave alike. */
export interface Keys {
  /** A small number for what one actor comes down to. */
  readonly idOf: (part: Part) => number;
  readonly keyOf: (system: ExploredSystem) => string;
}

export const createKeys = (reductionOf: (machine: string) => Reduce | undefined): Keys => {
  // Most actors of a state are those of the state before it.
  const known = new WeakMap<ActorRecord, number>();
  const ids = new Map<string, number>();
  const numbered = (key: string): number => {
    const id = ids.get(key) ?? ids.size;
    ids.set(key, id);
    return id;
  };
  const recordId = (record: ActorRecord): number => {
    const found = known.get(record);
    if (found !== undefined) return found;
    const state = stateOf(record, reductionOf);
    const place = isInSlot(record.address) ? null : placeOf(record.address);
    const id = numbered(canonicalJson([place, record.machine, ...state]));
    known.set(record, id);
    return id;
  };
  const idOf = ({ record, open: { begun } }: Part): number => {
    const id = recordId(record);
    return begun.length === 0 ? id : numbered(`${id} ${begun.map(({ call }) => call).join(' ')}`);
  };
  return {
    idOf,
    keyOf: (system) => {
      const found: number[] = [];
      for (const record of system.actors.values()) {
        if (record.status !== 'active') continue;
        const id = idOf({ record, open: system.openOf(record.address) });
        const { address } = record;
        found.push(isInSlot(address) ? numbered(`${id} ${slotNameOf(system, address)}`) : id);
      }
      return `${system.verdict()} ${found.sort((one, other) => one - other).join()}`;
    },
  };
};

/** A child that was started anew has a number in its address: only one of them is active. */
const placeOf = (address: string): string => address.replaceAll(/~\d+/g, '');

/**
 * How its last request ended decides nothing: an agent that rests takes the next one. In a feedback loop it stands for what
 * the loop remembers of it.
 */
const placeIn = ({ machine, address }: ActorRecord, value: Json): Json =>
  machine === AGENT && !address.includes('/loop-') && (value === 'failed' || value === 'cancelled')
    ? 'idle'
    : value;

const stateOf = (
  record: ActorRecord,
  reductionOf: (machine: string) => Reduce | undefined,
): readonly Json[] => {
  const { snapshot, waits, machine } = record;
  const context = snapshot?.context as Json; // What a machine keeps is what the log can hold.
  const reduce = reductionOf(machine);
  return [
    placeIn(record, snapshot?.value ?? null),
    reduce ? reduce(context) : context,
    Object.keys(waits.calls).sort(),
    Object.keys(waits.timers).sort(),
    // Those of a coordinator go by what they work on.
    machine === COORDINATOR ? null : Object.keys(waits.children).sort(),
  ];
};
