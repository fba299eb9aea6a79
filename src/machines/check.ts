import { isRuntimeError } from '../errors.ts';
import { readPath } from '../events/context-path.ts';
import type { DecisionRule, FeedbackOption } from '../events/feedback.ts';
import type { Json, JsonObject } from '../events/json.ts';
import type { Severity } from '../events/severity.ts';

/** How values are compared: by a rule, by a function of the workflow, or by an agent. */
export type Comparator =
  | 'equal'
  /** All that the first has, the second has too. */
  | 'subset'
  | { readonly max: number }
  | { readonly min: number }
  | { readonly function: string }
  | { readonly agent: string };

/** A step that compares what others have made, and sends feedback to them if it is not as it must be. */
export interface Check {
  readonly kind: 'inconsistency' | 'quality_gate';
  /** Paths of the run's context. */
  readonly paths: readonly string[];
  readonly by: Comparator;
  /** The agents that are told. */
  readonly targets: readonly string[];
  readonly severity: Severity;
  readonly description: string;
  readonly requirement: string | null;
  readonly details: JsonObject;
  readonly options: readonly FeedbackOption[] | null;
  readonly rule: DecisionRule;
}

interface GivenCheckBase {
  readonly id: string;
  /** `high` unless set. Critical and blocking ones pause the run. */
  readonly severity?: Severity;
  /** What is told; a sentence with the paths unless set. */
  readonly description?: string;
  readonly requirement?: string;
  readonly options?: readonly FeedbackOption[];
  readonly rule?: DecisionRule;
  /** Steps, or groups, after which it is made; those whose results it compares, with their groups, unless set. */
  readonly after?: readonly string[];
}

/** Two results that must agree. */
export interface GivenConsistencyCheck extends GivenCheckBase {
  /** Paths of the context, of two agents: "agents.architect.outputs.design.database". */
  readonly compare: readonly [string, string];
  /** `equal` unless set. */
  readonly by?: 'equal' | 'subset' | { readonly function: string } | { readonly agent: string };
}

/** A measure that must be good enough. */
export interface GivenQualityGate extends GivenCheckBase {
  /** The path of a number, or of a list, which is measured by its length. */
  readonly metric: string;
  readonly by: Exclude<Comparator, 'equal' | 'subset'>;
  /** Who has to fix it: agents, or what each of them is asked to do. */
  readonly responsible: readonly string[] | Readonly<Record<string, Json>>;
  /** What has to be fixed. */
  readonly artifact?: string;
}

export type GivenCheck = GivenConsistencyCheck | GivenQualityGate;

/** The parts of a step that a check makes. */
export interface CheckStep {
  readonly id: string;
  readonly check: Check;
  readonly after: readonly string[] | null;
}

export const fixCheck = (given: GivenCheck): CheckStep => {
  const { id, severity = 'high', requirement = null, options = null, rule = 'unanimous', after } = given;
  const shared = { severity, requirement, options, rule };
  const check: Check =
    'compare' in given
      ? {
          ...shared,
          kind: 'inconsistency',
          paths: given.compare,
          by: given.by ?? 'equal',
          targets: [...new Set(given.compare.flatMap((path) => agentIn(path) ?? []))],
          description: given.description ?? `${given.compare.join(' and ')} do not agree`,
          details: {},
        }
      : {
          ...shared,
          kind: 'quality_gate',
          paths: [given.metric],
          by: given.by,
          targets: isList(given.responsible) ? given.responsible : Object.keys(given.responsible),
          description: given.description ?? `${given.metric} is not good enough`,
          details: {
            gate: id,
            metric: given.metric,
            threshold: thresholdOf(given.by),
            ...(given.artifact !== undefined && { artifact: given.artifact }),
            ...(!isList(given.responsible) && { requests: given.responsible }),
          },
        };
  return { id, check, after: after ?? null };
};

const isList = (value: GivenQualityGate['responsible']): value is readonly string[] => Array.isArray(value);

const thresholdOf = (by: GivenQualityGate['by']): Json => {
  if ('max' in by) return `at most ${by.max}`;
  return 'min' in by ? `at least ${by.min}` : null;
};

/** `agents.<role>.outputs.<step>…`: whose result a path leads into. */
const keysIn = (path: string): readonly string[] => {
  try {
    return readPath(path);
  } catch (error) {
    if (isRuntimeError(error, 'BAD_PATH')) return [];
    throw error;
  }
};
export const agentIn = (path: string): string | undefined => {
  const [first, role] = keysIn(path);
  return first === 'agents' ? role : undefined;
};
export const stepIn = (path: string): string | undefined => {
  const [first, , third, step] = keysIn(path);
  return first === 'agents' && third === 'outputs' ? step : undefined;
};

/** What is wrong with a check itself, whatever the plan. */
export const problemsOfCheck = ({ check: { kind, paths, targets, by } }: CheckStep): readonly string[] => {
  const problems = paths.filter((path) => keysIn(path).length === 0).map((path) => `"${path}" is no path`);
  if (kind === 'inconsistency' && targets.length !== 2)
    problems.push(
      `its paths must be of two agents ("agents.<role>.outputs.<step>"), found ${targets.length}`,
    );
  if (targets.length === 0) problems.push('nobody is responsible for it');
  const isWord = by === 'equal' || by === 'subset';
  const known = isWord || ['max', 'min', 'function', 'agent'].some((name) => Object.keys(by).includes(name));
  if (!known) problems.push('"by" must be equal, subset, { max }, { min }, { function } or { agent }');
  return problems;
};
