import { isBlobRef } from './blob.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';
import { SEVERITIES, type Severity } from './severity.ts';

/** What the details of each known type of feedback say. A type of a user's own may have any. */
export interface FeedbackDetails {
  /** Something stands in the way of doing it as planned. */
  readonly constraint_violation: Details<{
    readonly constraint?: string;
    readonly requirementText?: string;
  }>;
  /** What was asked for cannot be done. The analysis, and what else was weighed, stay in the context. */
  readonly technical_infeasibility: Details<{
    readonly analysis?: string;
    readonly alternatives?: readonly Json[];
    readonly recommendation?: string;
  }>;
  /** What was made is not what was asked for: by a test case, or by a metric. */
  readonly missing_requirement: Details<{
    readonly testCase?: string;
    readonly metric?: string;
    readonly actual?: Json;
    readonly target?: Json;
  }>;
  /** Two results contradict each other. */
  readonly inconsistency: Details<{
    /** What each side says, by its path. */
    readonly values?: JsonObject;
  }>;
  /** A measure is not as good as it must be. */
  readonly quality_gate: Details<{
    readonly gate?: string;
    readonly metric?: string;
    readonly threshold?: Json;
    readonly actual?: Json;
    readonly violations?: readonly Json[];
    readonly rootCauses?: readonly Details<{ readonly actual?: Json; readonly target?: Json }>[];
    /** What has to be fixed. */
    readonly artifact?: string;
    /** What each responsible agent is asked to do. */
    readonly requests?: Readonly<Record<string, Json>>;
  }>;
}

/** These members as they are, and any others. */
type Details<Known> = Known & { readonly [member: string]: Json | undefined };

export type FeedbackType = keyof FeedbackDetails;

/** One way to resolve a feedback, and what choosing it does. */
export interface FeedbackOption {
  readonly option: string;
  readonly impact?: string;
  readonly effort?: string;
  /** Agents, or steps, that work again with the decision. */
  readonly rerun?: readonly string[];
  /** Whether results between those and the source stay as they are, although what they were made from changes. */
  readonly keep?: boolean;
  /** Whether choosing it leaves something open, which is recorded as debt. */
  readonly debt?: boolean;
}

/** Whose choice counts: of all targets together, of the first to answer, or of one of them. */
export type DecisionRule = 'unanimous' | 'first' | { readonly decider: string };

/** What an agent found out that others must deal with. */
export interface GivenFeedback<Type extends string = string> {
  /** One of the known types, or the user's own. */
  readonly type: Type;
  /** Agents whose steps are before the sender's, or beside it. */
  readonly targets: readonly string[];
  readonly severity: Severity;
  readonly description: string;
  /** The requirement that it is about. */
  readonly requirement?: string;
  readonly details?: Type extends FeedbackType ? FeedbackDetails[Type] : JsonObject;
  /** What the targets are asked to do, in words. */
  readonly action?: string;
  /** What they may choose from. A type of the user's own without options asks for a fix. */
  readonly options?: readonly FeedbackOption[];
  /** `unanimous` unless set. */
  readonly rule?: DecisionRule;
  /** The step from which the target works again, by its name or by its number among the target's steps. */
  readonly from?: string | number;
  /** How long to wait for answers; 10 minutes unless set. */
  readonly timeMs?: number;
}

const OPTION_MEMBERS: Readonly<Record<string, (value: Json | undefined) => boolean>> = {
  option: (value) => isText(value),
  impact: (value) => isSaid(value),
  effort: (value) => isSaid(value),
  rerun: (value) => Array.isArray(value) && value.every(isText),
  keep: (value) => typeof value === 'boolean',
  debt: (value) => typeof value === 'boolean',
};

const isText = (value: Json | undefined): boolean => typeof value === 'string' && value.trim() !== '';
/** A large text is a reference to it. */
const isSaid = (value: Json | undefined): boolean => typeof value === 'string' || isBlobRef(value);

const MEMBERS = [
  'type',
  'targets',
  'severity',
  'description',
  'requirement',
  'details',
  'action',
  'options',
  'rule',
  'from',
  'timeMs',
];

/** Everything that is wrong with the form of a feedback. Whoever made it may be a model, so that nothing about it is sure. */
export const problemsOfForm = (given: Json | undefined): readonly string[] => {
  if (given === undefined || !isJsonObject(given) || isBlobRef(given)) return ['it is not an object'];
  const { type, targets, severity, description, requirement, details, action, options, rule, from, timeMs } =
    given;
  const problems: string[] = [];
  const check = (isGood: boolean, problem: string): void => {
    if (!isGood) problems.push(problem);
  };
  check(isText(type), '"type" must be a text');
  check(isList(targets) && targets.length > 0 && targets.every(isText), '"targets" must name agents');
  check(isList(targets) && new Set(targets).size === targets.length, '"targets" has one twice');
  check(
    SEVERITIES.some((name) => name === severity),
    `"severity" must be one of ${SEVERITIES.join(', ')}`,
  );
  check(isText(description) || isBlobRef(description), '"description" must be a text');
  const strangers = Object.keys(given).filter((name) => !MEMBERS.includes(name));
  check(strangers.length === 0, `there is no "${strangers.join('", "')}"; known are ${MEMBERS.join(', ')}`);
  check(requirement === undefined || isText(requirement), '"requirement" must be a text');
  check(details === undefined || isJsonObject(details), '"details" must be an object');
  check(action === undefined || isSaid(action), '"action" must be a text');
  check(
    options === undefined || (isList(options) && options.every(isOption)),
    `"options" must be a list of objects with ${Object.keys(OPTION_MEMBERS).join(', ')}, of which "option" must be there`,
  );
  const names = isList(options) ? options.map((option) => isJsonObject(option) && option['option']) : [];
  check(new Set(names).size === names.length, '"options" has one twice');
  check(
    rule === undefined || rule === 'unanimous' || rule === 'first' || isDecider(rule, targets),
    '"rule" must be "unanimous", "first", or { "decider": one of the targets }',
  );
  check(
    from === undefined || isText(from) || (typeof from === 'number' && Number.isSafeInteger(from)),
    '"from" must be the name or the number of a step',
  );
  check(
    timeMs === undefined || (typeof timeMs === 'number' && timeMs > 0 && Number.isFinite(timeMs)),
    '"timeMs" must be a number above 0',
  );
  return problems;
};

const isOption = (given: Json): boolean =>
  isJsonObject(given) &&
  'option' in given &&
  Object.entries(given).every(
    ([name, value]) => Object.hasOwn(OPTION_MEMBERS, name) && OPTION_MEMBERS[name]?.(value) === true,
  );

const isDecider = (rule: Json, targets: Json | undefined): boolean =>
  isJsonObject(rule) && isList(targets) && targets.some((target) => target === rule['decider']);

const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

/** What an agent said beside its output, if it said any: a list, in which each is checked by itself. */
export const feedbackIn = (given: Json | undefined): readonly Json[] =>
  given === undefined || given === null ? [] : isList(given) ? given : [given];

/** The form of all that an agent reports. */
export const problemsOfReport = (given: unknown): readonly string[] =>
  // What an agent returns goes through the door afterwards; only its form is looked at here.
  feedbackIn(given as Json | undefined).flatMap((each, index) =>
    isForPlan(each) ? problemsOfForm(each).map((problem) => `feedback[${index}]: ${problem}`) : [],
  );

/** What is meant for a node of a tree is looked at there. */
const isForPlan = (each: Json): boolean =>
  isJsonObject(each) &&
  !('feedback_type' in each) &&
  ('targets' in each || ('type' in each && each['type'] !== 'FEEDBACK'));
