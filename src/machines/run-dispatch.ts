import type { Json } from '../events/json.ts';
import { startActor, stopActor } from '../events/vocabulary.ts';
import { AGENT } from './agent-machine.ts';
import type { WorkRequest } from './agent-work.ts';
import { budgetLeft, metLimit } from './limits.ts';
import { cancelMessage, type StepTask, stepInput } from './nested.ts';
import { type NestedRun, type Step, workersOf } from './plan.ts';
import { CHECKER } from './run-checks.ts';
import { halted, haltOf } from './run-halts.ts';
import { agentId, CONTEXT_ID, nestedId, type Outcome, type RunMessage } from './run-messages.ts';
import {
  inputOf,
  keyOf,
  openRequests,
  type RunState,
  readySteps,
  type StepRecord,
  stepOf,
  withStep,
} from './run-state.ts';

/** Starts every step that can run, unless something holds the run back. */
export const dispatch = (state: RunState): Outcome => {
  if (state.halt || state.pauseReasons.length > 0) return { state, messages: [] };
  let next = state;
  const messages: RunMessage[] = [];
  for (const step of readySteps(state)) {
    const met = metLimit(next.limits, {
      calls: { used: next.spent.calls },
      costUsd: { used: next.spent.costUsd },
      tokens: { used: next.spent.tokens },
    });
    if (met) return halted(next, messages, haltOf(met, step.id));
    const begun = begin(next, step);
    next = begun.state;
    messages.push(...begun.messages);
  }
  return { state: next, messages };
};

/** What its last result was made with and those before were not: all that was said is there once. */
export const heededLast = ({ feedback, heeded, history }: StepRecord) =>
  feedback.slice(
    history.reduce((count, earlier) => count + earlier.feedback.length, 0),
    heeded,
  );

/** Those that a step waits for. */
const namesOf = (step: Step): readonly string[] => {
  if (step.nested) return [nestedId(step.id)];
  return step.check && step.agent === null ? [CHECKER] : workersOf(step);
};

const begin = (state: RunState, step: Step): Outcome => {
  const before = stepOf(state, step.id);
  const id = `${step.id}.${before.runs + 1}`;
  const workers = namesOf(step);
  const begun = withStep(state, step.id, {
    status: 'working',
    key: keyOf(state, step),
    runs: before.runs + 1,
    pending: Object.fromEntries(workers.map((role) => [role, id])),
    answers: {},
    failures: {},
    seen: before.feedback.length,
    // A run that failed or was taken back has made nothing: what stood before it is in the history already.
    history:
      before.status === 'done'
        ? [...before.history, { output: before.output, feedback: heededLast(before) }]
        : before.history,
  });
  if (step.nested) {
    const waiting = state.waiting.filter((each) => each !== step.id);
    return { state: { ...begun, waiting }, messages: [startNested(begun, step, step.nested)] };
  }
  const missing = workersOf(step).filter((role) => !state.started.includes(role));
  const messages = workers.map((role) =>
    step.reads.length === 0
      ? requestOf(begun, step, { role, id, context: null })
      : { type: 'context.get', to: `./${CONTEXT_ID}`, request: id, role, paths: step.reads },
  );
  return {
    state: { ...begun, started: [...state.started, ...missing] },
    messages: [...missing.map((role) => startAgent(state, role)), ...messages],
  };
};

/** A run of its own, which has no more than what is left of this one's budget. */
const startNested = (state: RunState, step: Step, { workflow, input }: NestedRun): RunMessage => {
  const cap = budgetLeft(state.limits, state.spent);
  const { feedback, history } = stepOf(state, step.id);
  const task: StepTask = { input: inputOf(state, step), feedback, history };
  return startActor({ id: nestedId(step.id), machine: workflow, input: stepInput(input, task, cap) });
};

export const startAgent = ({ roles }: Pick<RunState, 'roles'>, role: string): RunMessage =>
  startActor({ id: agentId(role), machine: AGENT, input: roles[role] as unknown as Json });

/** The request to an agent, once what it may know of the context is at hand. */
export const requestOf = (
  state: RunState,
  step: Step,
  { role, id, context }: { readonly role: string; readonly id: string; readonly context: Json },
): RunMessage => {
  const { feedback, history } = stepOf(state, step.id);
  const request: WorkRequest = {
    id,
    input: inputOf(state, step),
    // They are JSON: what they are made of came through the door.
    feedback: feedback as unknown as Json[],
    history: history as unknown as Json[],
    context,
    budget: budgetLeft(state.limits, state.spent),
  };
  return { type: 'agent.request', to: `./${agentId(role)}`, request: request as unknown as Json };
};

/** Takes back every request that is open. A nested loop is told, and waited for: it says in this turn what it has spent. */
export const withdrawAll = (state: RunState): Outcome => {
  const open = openRequests(state);
  const isTold = (id: string): boolean =>
    state.plan.steps.some((step) => step.id === id && step.nested?.isTold === true);
  const steps = Object.fromEntries(
    Object.entries(state.steps).map(([id, step]) => [
      id,
      step.status === 'working' && !isTold(id) ? withdrawn(step) : step,
    ]),
  );
  return {
    state: { ...state, steps },
    messages: open.map(({ step, role, request, isNested }) => {
      if (!isNested) return { type: 'agent.cancel', to: `./${agentId(role)}`, request };
      return isTold(step) ? cancelMessage(role) : stopActor(role);
    }),
  };
};

/** As if it had not begun. */
export const withdrawn = (step: StepRecord): StepRecord => ({
  ...step,
  status: 'waiting',
  pending: {},
  key: null,
});
