import fc from 'fast-check';
import type { GateRule, GivenStep } from '../../src/machines/plan.ts';

/** What a step is made from: numbers, which mean something only with the steps before it. */
interface Seed {
  readonly kind: number;
  readonly needs: readonly number[];
  readonly group: number;
  readonly corrects: number;
  readonly reviewers: number;
  readonly rule: number;
}

const seed: fc.Arbitrary<Seed> = fc.record({
  kind: fc.nat(9),
  needs: fc.oneof(
    { weight: 4, arbitrary: fc.array(fc.nat(99), { minLength: 1, maxLength: 3 }) },
    { weight: 1, arbitrary: fc.constant([]) },
  ),
  group: fc.nat(9),
  corrects: fc.nat(99),
  reviewers: fc.integer({ min: 1, max: 3 }),
  rule: fc.nat(9),
});

const ruleOf = (rule: number, reviewers: number): GateRule =>
  rule < 4 ? 'any-blocker' : rule < 7 ? 'all' : { quorum: (rule % reviewers) + 1 };

const pick = <Item>(list: readonly Item[], index: number): Item | undefined => list[index % list.length];

/** All steps that one depends on, groups resolved, by walking the plan as it is written. */
const allBefore = (steps: readonly GivenStep[], needs: readonly string[]): ReadonlySet<string> => {
  const found = new Set<string>();
  const walk = (names: readonly string[]): void => {
    for (const { id, group, needs: further = [] } of steps) {
      if (found.has(id) || !(names.includes(id) || (group != null && names.includes(group)))) continue;
      found.add(id);
      walk(further);
    }
  };
  walk(needs);
  return found;
};

const stepOf = (
  steps: readonly GivenStep[],
  { kind, needs, group, corrects, reviewers, rule }: Seed,
): GivenStep => {
  const index = steps.length;
  // A group is closed once someone needs it: a later member could need whoever needs the group.
  const groups = [...new Set(steps.flatMap((step) => step.group ?? []))];
  const names = [...steps.map(({ id }) => id), ...groups];
  const needed = names.length === 0 ? [] : [...new Set(needs.flatMap((at) => pick(names, at) ?? []))];
  const before = [...allBefore(steps, needed)];
  if (kind < 4 && before.length > 0) {
    return {
      id: `g${index}`,
      needs: needed,
      gate: {
        reviewers: Array.from({ length: reviewers }, (_, nth) => `r${index}.${nth}`),
        rule: ruleOf(rule, reviewers),
        corrects: pick(before, corrects) ?? '',
      },
    };
  }
  const isClosed = (name: string): boolean => steps.some((step) => (step.needs ?? []).includes(name));
  const open = ['left', 'right'].filter((name) => !isClosed(name) && !needed.includes(name));
  const member = group < 5 ? pick(open, group) : undefined;
  // Some are given what is in the run's context as well, which is no reason to run them again.
  const reads = rule > 7 ? ['agents'] : [];
  return { id: `s${index}`, needs: needed, reads, ...(member && { group: member }) };
};

/** Plans that can be run: each step needs only what comes before it; gates correct a step before them. */
export const somePlan = ({ stepsMax }: { readonly stepsMax: number }): fc.Arbitrary<readonly GivenStep[]> =>
  fc
    .array(seed, { minLength: 1, maxLength: stepsMax, size: 'max' })
    .map((seeds) => seeds.reduce<readonly GivenStep[]>((steps, each) => [...steps, stepOf(steps, each)], []));
