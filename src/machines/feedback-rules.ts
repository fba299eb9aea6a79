import { delivery } from '../events/delivery.ts';
import { canonicalJson } from '../events/encode.ts';
import type { Json, JsonObject } from '../events/json.ts';
import { ask } from './feedback-asks.ts';
import type { FeedbackState, LoopOutcome } from './feedback-state.ts';
import type { Effect, Resolution, TargetAnswer } from './feedback-work.ts';
import type { Budget, MetLimit } from './limits.ts';
import type { Feedback } from './loop-state.ts';
import { agentId, type RunMessage } from './run-messages.ts';

/** How often targets that do not agree are asked. */
const ASKS = 2;
const NO_EFFECT: Effect = { rerun: [], keep: false, debt: false };

/** What a round begins with. */
export interface Round {
  readonly round: number;
  readonly feedback: Feedback;
  readonly budget: Budget;
  readonly met: MetLimit | null;
  readonly reason?: string | null;
}

export const beginRound = (state: FeedbackState, { round, feedback, budget, met }: Round): FeedbackState => ({
  ...state,
  round,
  feedback,
  budget,
  met,
  nth: 0,
  pending: {},
  answers: [],
  said: [],
  begun: [],
  resolution: null,
  reason: met ? `The limit "${met.limit}" of ${met.bound} was met.` : null,
});

/** What is known of a loop, for the context of its run. */
const shownOf = (state: FeedbackState, now: JsonObject): JsonObject => {
  const { source, targets, subject, round, feedback } = state;
  const { type, severity, description, requirement, details } = feedback;
  return {
    id: delivery().self,
    source,
    targets,
    subject,
    round,
    type,
    severity,
    description,
    requirement,
    details,
    ...now,
  };
};

/** What a feedback says, for all who get to see it. */
const toldOf = ({ type, severity, requirement, details, action, options }: Feedback): JsonObject => ({
  type,
  severity,
  requirement,
  details,
  action,
  options: options as unknown as Json,
});

/** Puts a round on record. */
export const recordRound = (state: FeedbackState, context: string): readonly RunMessage[] => {
  const { targets, feedback, source, round, id, subject } = state;
  const told = { ...toldOf(feedback), description: feedback.description };
  return [
    { type: 'feedback.opened', round, source, targets, subject, mode: feedback.mode, feedback: told },
    {
      type: 'context.set',
      to: context,
      path: ['loops', id],
      value: shownOf(state, { state: 'notifying', status: 'pending' }),
    },
  ];
};

/** Tells everyone concerned, and asks those who have to decide. */
export const notify = (given: FeedbackState, context: string): LoopOutcome => {
  const state = { ...given, notified: [...given.notified, given.round] };
  const { targets, feedback, source, round, id } = state;
  const messages: RunMessage[] = [
    ...recordRound(state, context),
    ...targets.map((target) => ({
      type: 'context.push',
      to: context,
      path: ['agents', target, 'feedback'],
      value: {
        ...toldOf(feedback),
        id: `${id}#${round}`,
        from: source,
        message: feedback.description,
        loop: delivery().self,
        resolved: false,
      },
    })),
  ];
  if (feedback.mode !== 'fix') return addMessages(ask(state), messages);
  const resolution = fixOf(state);
  return { state: { ...state, resolution }, messages: [...messages, applyMessage(resolution)] };
};

const addMessages = ({ state, messages }: LoopOutcome, before: readonly RunMessage[]): LoopOutcome => ({
  state,
  messages: [...before, ...messages],
});

const fixOf = ({ targets }: FeedbackState): Resolution => ({
  option: null,
  value: null,
  note: null,
  by: targets,
  effect: { ...NO_EFFECT, rerun: targets },
  isManual: false,
});

const applyMessage = (resolution: Resolution): RunMessage => ({
  type: 'loop.apply',
  to: '..',
  resolution: resolution as unknown as Json,
});

/** The answer that counts, once one does. */
const choiceOf = ({ feedback: { rule }, answers, targets }: FeedbackState): TargetAnswer | undefined => {
  const valid = answers.filter(({ problem }) => problem === null);
  if (rule === 'first') return valid[0];
  if (typeof rule === 'object') return valid.find(({ target }) => target === rule.decider);
  const [first] = valid;
  const isSame = ({ option, value }: TargetAnswer) =>
    first !== undefined &&
    option === first.option &&
    (option !== null || canonicalJson(value) === canonicalJson(first.value));
  return valid.length === targets.length && valid.every(isSame) ? first : undefined;
};

/** Whether all is said that the rule waits for. */
export const isAnswered = (state: FeedbackState): boolean => {
  const { feedback, answers, targets, begun } = state;
  if (feedback.mode === 'fix') return targets.every((target) => begun.includes(target));
  if (answers.length === targets.length) return true;
  const { rule } = feedback;
  if (typeof rule === 'object') return answers.some(({ target }) => target === rule.decider);
  return rule === 'first' && choiceOf(state) !== undefined;
};

export const isAgreed = (state: FeedbackState): boolean =>
  state.feedback.mode === 'fix' || choiceOf(state) !== undefined;

export const mayAskAgain = ({ nth, feedback }: FeedbackState): boolean =>
  nth < ASKS && feedback.rule !== 'first';

/** Takes back what is still open with targets. */
const withdraw = (state: FeedbackState): LoopOutcome => ({
  state: { ...state, pending: {} },
  messages: Object.entries(state.pending).map(([role, request]) => ({
    type: 'agent.cancel',
    to: `./${agentId(role)}`,
    request,
  })),
});

/** What they agreed on is done by the run. A fix is under way already. */
export const decide = (state: FeedbackState): LoopOutcome => {
  const choice = choiceOf(state);
  if (state.feedback.mode === 'fix' || !choice) return { state, messages: [] };
  const resolution: Resolution = {
    option: choice.option,
    value: choice.value,
    note: choice.note,
    by: decidersOf(state, choice),
    effect: effectOf(state, choice.option),
    isManual: false,
  };
  const { state: next, messages } = withdraw({ ...state, resolution });
  const decided = { type: 'feedback.decided', round: state.round, resolution: resolution as unknown as Json };
  return { state: next, messages: [...messages, decided, applyMessage(resolution)] };
};

const decidersOf = ({ feedback: { rule }, targets }: FeedbackState, { target }: TargetAnswer) =>
  rule === 'unanimous' ? targets : [target];

/** Both sides of a conflict work again with what they agreed on; else an option says what happens. */
export const effectOf = ({ feedback, targets }: FeedbackState, option: string | null): Effect => {
  const chosen = feedback.options.find((each) => each.option === option);
  const usual = feedback.mode === 'align' && !chosen?.debt ? targets : [];
  return {
    rerun: chosen?.rerun ?? usual,
    keep: chosen?.keep ?? false,
    debt: chosen?.debt ?? false,
  };
};

/** The loop is resolved: everyone who was told is told so. */
export const resolve = (state: FeedbackState, context: string): LoopOutcome => {
  const { id, round, targets, resolution } = state;
  const { state: next, messages } = withdraw(state);
  const shown = resolution as unknown as Json;
  return {
    state: next,
    messages: [
      ...messages,
      { type: 'feedback.resolved', round, subject: state.subject, resolution: shown },
      {
        type: 'context.update',
        to: context,
        path: ['loops', id],
        value: { state: 'resolved', status: 'resolved', resolution: shown },
      },
      ...targets.flatMap((target) =>
        state.notified.map((told) => ({
          type: 'context.update',
          to: context,
          path: ['agents', target, 'feedback', `${id}#${told}`],
          value: { resolved: true },
        })),
      ),
      { type: 'loop.resolved', to: '..', resolution: shown },
    ],
  };
};

export const escalate = (state: FeedbackState, context: string): LoopOutcome => {
  const { id, round, reason, feedback } = state;
  const { state: next, messages } = withdraw(state);
  const why = reason ?? 'it was escalated';
  return {
    state: { ...next, reason: why },
    messages: [
      ...messages,
      {
        type: 'feedback.escalated',
        round,
        subject: state.subject,
        reason: why,
        met: state.met as unknown as Json,
        description: feedback.description,
        answers: state.said as unknown as Json,
        asks: state.onLimit === 'ask',
      },
      {
        type: 'context.update',
        to: context,
        path: ['loops', id],
        value: { state: 'escalating', status: 'escalated', escalationReason: why },
      },
      { type: 'loop.escalated', to: '..', reason: why, met: state.met as unknown as Json },
    ],
  };
};
