import type { FeedbackOption } from '../events/feedback.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { Severity } from '../events/severity.ts';
import type { AgentSettings } from './agent-work.ts';
import type { RunState } from './run-state.ts';

export const FEEDBACK = 'lw.feedback';

/** What a feedback loop is started with; each round brings its own feedback. */
export interface LoopInput extends Pick<RunState, 'task' | 'onLimit' | 'questionLevels' | 'onExpiry'> {
  readonly id: string;
  readonly source: string;
  readonly targets: readonly string[];
  readonly subject: string;
  readonly roles: Readonly<Record<string, AgentSettings>>;
  /** Whether the run is paused for other reasons than feedback. */
  readonly isPaused: boolean;
}

/** What a choice does to the run. */
export interface Effect {
  readonly rerun: readonly string[];
  readonly keep: boolean;
  readonly debt: boolean;
}

/** How a feedback was resolved. */
export interface Resolution {
  /** The option that was chosen; null for a value of somebody's own, or a mere fix. */
  readonly option: string | null;
  readonly value: Json;
  readonly note: string | null;
  /** Who decided: targets, or a person. */
  readonly by: readonly string[];
  readonly effect: Effect;
  /** Whether a person, or the host, has decided in place of the targets. */
  readonly isManual: boolean;
}

/** What one of the targets said. */
export interface TargetAnswer {
  readonly target: string;
  readonly option: string | null;
  readonly value: Json;
  readonly note: string | null;
  /** Why it does not count. */
  readonly problem: string | null;
}

/** What a target of a feedback is asked. */
export interface FeedbackRequest {
  /** To choose an option, or to agree with the other side, by an option or a value of its own. */
  readonly ask: 'decide' | 'align';
  readonly task: Json;
  readonly loop: string;
  readonly round: number;
  /** The first time, or once more because they did not agree. */
  readonly nth: number;
  readonly from: string;
  readonly type: string;
  readonly severity: Severity;
  readonly description: string;
  readonly requirement: string | null;
  readonly details: JsonObject;
  readonly action: string | null;
  readonly options: readonly FeedbackOption[];
  /** What the targets have said so far. */
  readonly answers: readonly TargetAnswer[];
}

/** Whether an agent is asked to decide something, in place of its step. Its answer is `{ option }`, `{ value }`, or an option's name. */
export const isFeedbackRequest = (input: unknown): input is FeedbackRequest =>
  typeof input === 'object' && input !== null && 'ask' in input && 'loop' in input;

/** Reads what a target has answered: whoever made it may be a model. */
export const readAnswer = (
  target: string,
  output: Json,
  { options, isFree }: { readonly options: readonly FeedbackOption[]; readonly isFree: boolean },
): TargetAnswer => {
  const given: JsonObject = isJsonObject(output) ? output : { option: output };
  const { option, decision, value = null, note, reason } = given;
  const named = option ?? decision ?? null;
  const known = options.find((each) => each.option === named);
  const said = note ?? reason;
  const answer = { target, note: typeof said === 'string' ? said : null };
  if (known) return { ...answer, option: known.option, value, problem: null };
  if (isFree && named === null && value !== null) return { ...answer, option: null, value, problem: null };
  const names = options.map((each) => each.option).join(', ');
  const problem = `${JSON.stringify(named)} is none of the options (${names || 'there are none: give a value'})`;
  return { ...answer, option: null, value, problem };
};
