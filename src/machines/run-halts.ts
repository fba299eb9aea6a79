import type { Json } from '../events/json.ts';
import type { LimitName, MetLimit } from './limits.ts';
import type { Outcome, RunMessage } from './run-messages.ts';
import type { Halt, RunState } from './run-state.ts';

const STALLS: readonly LimitName[] = ['sameIssue', 'sameFailure', 'unchanged', 'oscillations'];

export const haltOf = (met: MetLimit, step: string | null): Halt => ({
  verdict: STALLS.includes(met.limit) ? 'stalled' : 'exhausted',
  met,
  step,
  reason: `The limit "${met.limit}" of ${met.bound} was met.`,
});

export const halted = (state: RunState, messages: readonly RunMessage[], halt: Halt): Outcome =>
  state.halt
    ? { state, messages }
    : {
        state: { ...state, halt },
        messages: [
          ...messages,
          { type: 'run.halted', ...(halt as unknown as Readonly<Record<string, Json>>) },
        ],
      };
