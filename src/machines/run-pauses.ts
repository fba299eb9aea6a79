import { agentId, type RunMessage } from './run-rules.ts';
import { openRequests, type RunState } from './run-state.ts';

/** The reason for which a nested run is paused with its parent. */
const PARENT_REASON = 'parent';

export const addReason = (state: RunState, reason: string): RunState =>
  state.pauseReasons.includes(reason) ? state : { ...state, pauseReasons: [...state.pauseReasons, reason] };

export const dropReason = (state: RunState, reason: string): RunState => ({
  ...state,
  pauseReasons: state.pauseReasons.filter((each) => each !== reason),
});

export const toAgents = (
  { started }: RunState,
  type: 'agent.pause' | 'agent.resume',
): readonly RunMessage[] => started.map((role) => ({ type, to: `./${agentId(role)}` }));

/** A pause holds for the runs of steps too. */
export const toNested = (state: RunState, type: 'run.pause' | 'run.resume'): readonly RunMessage[] =>
  openRequests(state)
    .filter(({ isNested }) => isNested)
    .map(({ role }) => ({ type, to: `./${role}`, reason: PARENT_REASON }));
