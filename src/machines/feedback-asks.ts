import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import type { Spent } from '../events/usage.ts';
import { startActor } from '../events/vocabulary.ts';
import { AGENT } from './agent-machine.ts';
import type { AgentReply, WorkRequest } from './agent-work.ts';
import type { FeedbackState, LoopOutcome } from './feedback-state.ts';
import { type FeedbackRequest, readAnswer, type TargetAnswer } from './feedback-work.ts';
import type { Budget } from './limits.ts';
import type { Feedback } from './loop-state.ts';
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
      ...missing.map((role) =>
        startActor({ id: agentId(role), machine: AGENT, input: state.roles[role] as unknown as Json }),
      ),
      ...(state.isPaused ? missing.map((role) => ({ type: 'agent.pause', to: `./${agentId(role)}` })) : []),
      ...state.targets.map((role) => requestOf(next, role, id)),
    ],
  };
};

/** A person that is a target sees what there is to choose. */
const questionOf = (
  { description, options, mode }: Feedback,
  text: string,
): NonNullable<WorkRequest['question']> => ({
  text: typeof description === 'string' ? description : text,
  options: options.map(({ option, impact, effort }) => ({
    id: option,
    label: option,
    ...(impact !== undefined && { impact }),
    ...(effort !== undefined && { effort }),
  })),
  isFree: mode === 'align',
});

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
    ...(person && { question: questionOf(feedback, person.text) }),
  };
  return { type: 'agent.request', to: `./${agentId(role)}`, request: request as unknown as Json };
};

/** Takes down what a target said. */
export const noteReply = (state: FeedbackState, reply: AgentReply, role: string): LoopOutcome => {
  const { [role]: _, ...pending } = state.pending;
  const { options, mode } = state.feedback;
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
    ],
  };
};

const reduced = ({ costUsd, tokens, calls }: Budget, spent: Spent): Budget => ({
  costUsd: costUsd === null ? null : Math.max(0, costUsd - spent.costUsd),
  tokens: tokens === null ? null : Math.max(0, tokens - spent.tokens),
  calls: calls === null ? null : Math.max(0, calls - spent.calls),
});
