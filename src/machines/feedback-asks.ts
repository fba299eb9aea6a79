import { isBlobRef, largeInWords } from '../events/blob.ts';
import { delivery } from '../events/delivery.ts';
import { feedbackIn } from '../events/feedback.ts';
import type { Json } from '../events/json.ts';
import type { Spent } from '../events/usage.ts';
import { startActor } from '../events/vocabulary.ts';
import { AGENT } from './agent-machine.ts';
import type { AgentReply, WorkRequest } from './agent-work.ts';
import type { FeedbackState, LoopOutcome } from './feedback-state.ts';
import { type FeedbackRequest, readAnswer, type TargetAnswer } from './feedback-work.ts';
import type { Budget } from './limits.ts';
import type { Feedback } from './loop-state.ts';
import type { QuestionInput } from './question-machine.ts';
import { agentId, type RunMessage } from './run-messages.ts';

/** Asks the targets: the first time, or once more with what the others said. */
export const ask = (state: FeedbackState): LoopOutcome => {
  const asks = state.asks + 1;
  const id = `${state.feedback.mode}.${asks}`;
  const missing = state.targets.filter((role) => !state.started.includes(role));
  const next: FeedbackState = {
    ...state,
    asks,
    nth: state.nth + 1,
    pending: Object.fromEntries(state.targets.map((role) => [role, id])),
    answers: [],
    started: [...state.started, ...missing],
  };
  return {
    state: next,
    messages: [
      // Whoever has not answered yet is asked once, with what is known now.
      ...Object.entries(state.pending).map(([role, request]) => ({
        type: 'agent.cancel',
        to: `./${agentId(role)}`,
        request,
      })),
      ...missing.map((role) =>
        startActor({ id: agentId(role), machine: AGENT, input: state.roles[role] as unknown as Json }),
      ),
      ...(state.isPaused ? missing.map((role) => ({ type: 'agent.pause', to: `./${agentId(role)}` })) : []),
      ...state.targets.map((role) => requestOf(next, role, id)),
      ...tellWaits(next, next.pending),
    ],
  };
};

const PROPOSED = 'proposed:';

/** What stands for a proposed option beside others: under a name of its own, if it could be taken for one of them. */
export const choiceId = (option: string, others: QuestionInput['options']): string =>
  option.startsWith(PROPOSED) || others.some(({ id }) => id === option) ? `${PROPOSED}${option}` : option;

/** What was proposed that a person may choose, beside others that are not proposed. */
export const choicesOf = (
  { options }: Feedback,
  others: QuestionInput['options'] = [],
): QuestionInput['options'] =>
  options.map(({ option, impact, effort }) => ({
    id: choiceId(option, others),
    label: option,
    isProposed: true,
    ...(impact !== undefined && { impact: inWords(impact) }),
    ...(effort !== undefined && { effort: inWords(effort) }),
  }));

/** A text that is so large that the log keeps it elsewhere has a name only. */
export const inWords = (text: Json): string => {
  if (typeof text === 'string') return text;
  return isBlobRef(text) ? largeInWords(text) : JSON.stringify(text);
};

/** A person that is a target sees what there is to choose. */
const questionOf = (feedback: Feedback): NonNullable<WorkRequest['question']> => ({
  text: inWords(feedback.description),
  options: choicesOf(feedback),
  isFree: feedback.mode === 'align',
});

/** Why they could not be brought together. */
export const disagreementOf = ({ answers }: FeedbackState): string => {
  const problems = answers.flatMap(({ target, problem }) =>
    problem === null ? [] : [`${target}: ${problem}`],
  );
  return problems.length === 0 ? 'the targets do not agree' : `not all answers count: ${problems.join('; ')}`;
};

const requestOf = (state: FeedbackState, role: string, id: string): RunMessage => {
  const { task, round, nth, source, feedback, said } = state;
  const { mode, type, severity, description, requirement, details, action, options } = feedback;
  const person = state.roles[role]?.person;
  const input: Omit<FeedbackRequest, 'description'> & { readonly description: Json } = {
    ask: mode === 'align' ? 'align' : 'decide',
    task,
    loop: delivery().self,
    round,
    nth,
    from: source,
    type,
    severity,
    description,
    requirement,
    details,
    action,
    options,
    answers: said,
  };
  const request: WorkRequest = {
    id,
    input: input as unknown as Json,
    feedback: [],
    history: [],
    context: null,
    budget: state.budget,
    ...(person && { question: questionOf(feedback) }),
  };
  return { type: 'agent.request', to: `./${agentId(role)}`, request: request as unknown as Json };
};

/** Whoever waits for this loop waits for persons, if nobody else is left. */
const tellWaits = ({ roles }: FeedbackState, pending: FeedbackState['pending']): readonly RunMessage[] => {
  const open = Object.keys(pending);
  return open.some((role) => roles[role]?.person)
    ? [{ type: 'loop.waits', to: '..', waits: open.every((role) => roles[role]?.person != null) }]
    : [];
};

/** Takes down what a target said. */
export const noteReply = (state: FeedbackState, reply: AgentReply, role: string): LoopOutcome => {
  const { [role]: _, ...pending } = state.pending;
  const { options, mode } = state.feedback;
  const found = reply.type === 'agent.done' ? feedbackIn(reply.answer.feedback) : [];
  const answer: TargetAnswer =
    reply.type === 'agent.done'
      ? readAnswer(role, reply.answer.output, { options, isFree: mode === 'align' })
      : { target: role, option: null, value: null, note: null, problem: reply.failure.message };
  return {
    state: {
      ...state,
      pending,
      answers: [...state.answers, answer],
      said: [...state.said, answer],
      budget: reduced(state.budget, reply.spent),
    },
    messages: [
      { type: 'feedback.answered', round: state.round, nth: state.nth, ...answer },
      { type: 'loop.spent', to: '..', spent: reply.spent as unknown as Json },
      // What it has found out itself goes its own way.
      ...found.map((feedback) => ({ type: 'loop.report', to: '..', source: role, feedback })),
      ...tellWaits(state, pending),
    ],
  };
};

const reduced = ({ costUsd, tokens, calls }: Budget, spent: Spent): Budget => ({
  costUsd: costUsd === null ? null : Math.max(0, costUsd - spent.costUsd),
  tokens: tokens === null ? null : Math.max(0, tokens - spent.tokens),
  calls: calls === null ? null : Math.max(0, calls - spent.calls),
});
