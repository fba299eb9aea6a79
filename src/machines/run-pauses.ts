import { agentId, type RunMessage } from './run-messages.ts';

/** What of a loop a pause concerns. */
interface Pausable {
  readonly pauseReasons: readonly string[];
  /** The agents whose actors are there. */
  readonly started: readonly string[];
}

interface Pausing<State> {
  readonly state: State;
  readonly messages: readonly RunMessage[];
}

/** The reason for which a nested run is paused with its parent. */
const PARENT_REASON = 'parent';

/** Adds a reason. The first one is told to the agents, and to the runs of steps (`nested`). */
export const paused = <State extends Pausable>(
  state: State,
  reason: string,
  nested: readonly string[] = [],
): Pausing<State> => {
  const isKnown = state.pauseReasons.includes(reason);
  const reasons = isKnown ? state.pauseReasons : [...state.pauseReasons, reason];
  const isFirst = state.pauseReasons.length === 0;
  return {
    state: { ...state, pauseReasons: reasons },
    messages: [{ type: 'run.paused', reasons }, ...(isFirst ? toOthers(state, nested, 'pause') : [])],
  };
};

/** Takes a reason back. When the last one is gone, agents and the runs of steps go on. */
export const resumed = <State extends Pausable>(
  state: State,
  reason: string,
  nested: readonly string[] = [],
): Pausing<State> => {
  const reasons = state.pauseReasons.filter((each) => each !== reason);
  return {
    state: { ...state, pauseReasons: reasons },
    messages: [
      { type: 'run.resumed', reasons },
      ...(reasons.length === 0 ? toOthers(state, nested, 'resume') : []),
    ],
  };
};

const toOthers = (
  { started }: Pausable,
  nested: readonly string[],
  what: 'pause' | 'resume',
): readonly RunMessage[] => [
  ...started.map((role) => ({ type: `agent.${what}`, to: `./${agentId(role)}` })),
  ...nested.map((id) => ({ type: `run.${what}`, to: `./${id}`, reason: PARENT_REASON })),
];

/** What XState gives to an action that enqueues others. */
interface Enqueue<State> {
  assign(update: () => State): void;
  emit(message: RunMessage): void;
}

/** Lets a machine do what a rule has decided. */
export const apply = <State>(
  enqueue: Enqueue<State>,
  { state, messages }: { readonly state: State; readonly messages: readonly RunMessage[] },
): void => {
  // As a function: XState looks through an object for functions, member by member.
  enqueue.assign(() => state);
  for (const message of messages) enqueue.emit(message);
};
