import { RuntimeError } from '../errors.ts';
import type { PureFunction } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import type { StandardSchema } from '../events/standard-schema.ts';
import { wordOf } from './phase-names.ts';
import { asFunction, isAsynchronous } from './phase-shapes.ts';
import { before, fixPlan, type GateRule, type GivenStep, needsOf, type Plan } from './plan.ts';

/** What a phase is for: it makes something, it looks at what others made, or it tries it out. */
export type PhaseKind = 'work' | 'review' | 'test';

/**
 * What something must look like: a schema that answers at once, or the name of one of the workflow's `functions`, which gives a
 * list of what is wrong, empty if nothing is.
 */
export type Shape = StandardSchema | string;

/** A phase as a user writes it. */
export interface GivenPhase {
  readonly id: string;
  /** `work` unless set, or unless it has reviewers. */
  readonly kind?: PhaseKind;
  /** Who does it; an agent of the phase's own name unless set. */
  readonly agent?: string;
  /** Who judge side by side, if it is a review or a test; its agent unless set. */
  readonly reviewers?: readonly string[];
  /** When several reviewers let it pass; `all` unless set. */
  readonly rule?: GateRule;
  /** Phases whose outputs it is given, and reviews that it waits for. */
  readonly needs?: readonly string[];
  /** What it is given besides. */
  readonly with?: Json;
  /** What it takes of each phase that it needs: looked at before its agent is called. */
  readonly input?: Readonly<Record<string, Shape>>;
  /** What it has to make. */
  readonly output?: Shape;
  /** How many passes it may fail, or reject its input; 3 unless set, 2 for a test, null for as many as the run has. */
  readonly passes?: number | null;
  /** Whether it is given the whole history of corrections. */
  readonly history?: boolean;
}

/** A phase as the log keeps it, beside its step: shapes are functions of its workflow, by name. */
export interface Phase {
  readonly kind: PhaseKind;
  readonly passes: number | null;
  readonly history: boolean;
  readonly input: Readonly<Record<string, string>>;
  readonly output: string | null;
  /** Where that goes which nobody says the phase of: the last one before it that makes something. */
  readonly recent: string | null;
}

export type Phases = Readonly<Record<string, Phase>>;

/** The pipeline of a run that declares none of its own. */
export const PIPELINE = [
  { id: 'planning' },
  { id: 'design', needs: ['planning'] },
  { id: 'design-review', kind: 'review', needs: ['planning', 'design'] },
  { id: 'code', needs: ['planning', 'design', 'design-review'] },
  { id: 'code-review', kind: 'review', needs: ['planning', 'design', 'code'] },
  { id: 'test', kind: 'test', needs: ['planning', 'design', 'code', 'code-review'] },
  { id: 'postmortem', needs: ['planning', 'design', 'code', 'test'], history: true },
] as const satisfies readonly GivenPhase[];

const PASSES = { work: 3, review: 3, test: 2 } as const;

/** What `phaseRun` makes of the phases of a user. */
export interface FixedPhases {
  readonly plan: Plan;
  readonly phases: Phases;
  readonly functions: Readonly<Record<string, PureFunction>>;
}

/**
 * A pipeline that can be run: its phases in an order in which each comes after those that it needs.
 *
 * @throws {RuntimeError} BAD_PLAN with everything that is wrong with it
 */
export const fixPhases = (
  given: readonly GivenPhase[],
  own: Readonly<Record<string, PureFunction>>,
): FixedPhases => {
  // Once without reviews: what they may correct follows from the order.
  const plain = ordered(fixPlan(given.map(({ id, needs = [] }) => ({ id, needs }))));
  const byId = new Map(given.map((phase) => [phase.id, phase]));
  const inOrder = plain.steps.flatMap(({ id }) => byId.get(id) ?? []);
  const recents = new Map(inOrder.map(({ id }) => [id, recentOf(plain, inOrder, id)]));
  const problems = [
    ...namesakes(inOrder),
    ...inOrder.flatMap((phase) => problemsOf(phase, { byId, own, recents })),
  ];
  if (problems.length > 0) throw new RuntimeError('BAD_PLAN', { problems });
  const functions: Record<string, PureFunction> = { ...own };
  const nameOf = (shape: Shape, name: string): string => {
    if (typeof shape === 'string') return shape;
    functions[name] = asFunction(shape);
    return name;
  };
  const phases = inOrder.map((phase): readonly [string, Phase] => {
    const { id, input = {}, output, history = false, passes = PASSES[kindOf(phase)] } = phase;
    return [
      id,
      {
        kind: kindOf(phase),
        passes,
        history,
        input: Object.fromEntries(
          Object.entries(input).map(([from, shape]) => [from, nameOf(shape, `input of ${id}: ${from}`)]),
        ),
        output: output === undefined ? null : nameOf(output, `output of ${id}`),
        recent: recents.get(id) ?? null,
      },
    ];
  });
  return {
    plan: fixPlan(inOrder.map((phase) => stepFor(phase, recents.get(phase.id) ?? ''))),
    phases: Object.fromEntries(phases),
    functions,
  };
};

const kindOf = ({ kind, reviewers }: GivenPhase): PhaseKind => kind ?? (reviewers ? 'review' : 'work');

const stepFor = (phase: GivenPhase, recent: string): GivenStep => {
  const { id, agent = id, reviewers = [agent], rule = 'all', needs = [], with: beside = null } = phase;
  const common = { id, needs, with: beside };
  return kindOf(phase) === 'work'
    ? { ...common, agent }
    : { ...common, gate: { reviewers, rule, corrects: recent } };
};

/** Each after those that it needs, else in the order in which they were given. */
const ordered = (plan: Plan): Plan => {
  const steps: Plan['steps'][number][] = [];
  while (steps.length < plan.steps.length) {
    const next = plan.steps.find(
      (step) => !steps.includes(step) && needsOf(plan, step).every((need) => steps.includes(need)),
    );
    if (!next) break; // There is no circle: the plan was checked.
    steps.push(next);
  }
  return { steps };
};

const recentOf = (plan: Plan, phases: readonly GivenPhase[], id: string): string | null => {
  const step = plan.steps.find((each) => each.id === id);
  const earlier = step ? before(plan, step) : new Set<string>();
  return phases.findLast((phase) => kindOf(phase) === 'work' && earlier.has(phase.id))?.id ?? null;
};

/** Reviewers write names as they like: two that are the same to them would be one. */
const namesakes = (phases: readonly GivenPhase[]): readonly string[] =>
  phases.flatMap(({ id }, index) => {
    const other = phases.slice(0, index).find((phase) => wordOf(phase.id) === wordOf(id));
    return other ? [`the phases "${other.id}" and "${id}" have the same name to a reviewer`] : [];
  });

interface Surroundings {
  readonly byId: ReadonlyMap<string, GivenPhase>;
  readonly own: Readonly<Record<string, PureFunction>>;
  readonly recents: ReadonlyMap<string, string | null>;
}

const problemsOf = (phase: GivenPhase, { byId, own, recents }: Surroundings): readonly string[] => {
  const { id, kind, agent, reviewers, needs = [], input = {}, output, passes } = phase;
  const place = `phase "${id}"`;
  const problems: string[] = [];
  const isReview = kindOf(phase) !== 'work';
  if (!Object.hasOwn(PASSES, kindOf(phase)))
    problems.push(`${place} is of the kind "${kind}": choose work, review or test`);
  if (!isReview && reviewers) problems.push(`${place} has reviewers, but makes something: choose one`);
  if (isReview && agent !== undefined && reviewers)
    problems.push(`${place} has an agent and reviewers: choose one`);
  if (isReview && recents.get(id) === null)
    problems.push(`${place} comes after no phase that makes something`);
  if (isReview && output !== undefined)
    problems.push(`${place} gives a report, whose shape is fixed: leave \`output\` out`);
  const isCount = passes === undefined || passes === null || (Number.isSafeInteger(passes) && passes >= 0);
  if (!isCount) problems.push(`${place} may fail ${passes} passes: give an integer from 0, or null`);
  for (const from of Object.keys(input)) {
    const source = byId.get(from);
    if (!needs.includes(from) || !source) problems.push(`${place} checks "${from}", which it does not need`);
    else if (kindOf(source) !== 'work')
      problems.push(`${place} checks "${from}", which is a review: its report has a fixed shape`);
  }
  const shapes = [...Object.entries(input), ...(output === undefined ? [] : [['output', output] as const])];
  for (const [what, shape] of shapes) {
    if (typeof shape === 'string' && !Object.hasOwn(own, shape))
      problems.push(`${place} checks ${what} with the function "${shape}", which is not among \`functions\``);
    if (typeof shape !== 'string' && isAsynchronous(shape))
      problems.push(`${place} checks ${what} with an asynchronous schema: it has to answer at once`);
  }
  return problems;
};
