import { RuntimeError } from '../errors.ts';
import type { ReviewIssue } from './story-review.ts';

/** The phases that make something, in their order. */
export const WORK_PHASES = ['research', 'plan', 'implement'] as const;
export type WorkPhase = (typeof WORK_PHASES)[number];
export type StoryPhase = WorkPhase | 'review' | 'create-pr';

/** Which phase a finding points to: by its category, else by words of its description, else a phase for the rest. */
export interface FaultTable {
  readonly categories: Readonly<Record<string, WorkPhase>>;
  /** Words or phrases. Case, spacing and punctuation do not matter; a part of a word is none. */
  readonly words: Readonly<Record<string, WorkPhase>>;
  readonly otherwise: WorkPhase;
}

export const FAULT_TABLE: FaultTable = {
  categories: {
    requirements: 'research',
    requirement: 'research',
    understanding: 'research',
    'missing information': 'research',
    research: 'research',
    architecture: 'plan',
    design: 'plan',
    approach: 'plan',
    plan: 'plan',
    planning: 'plan',
    code: 'implement',
    'code quality': 'implement',
    implementation: 'implement',
    security: 'implement',
    testing: 'implement',
    tests: 'implement',
  },
  words: {
    requirement: 'research',
    requirements: 'research',
    understanding: 'research',
    understood: 'research',
    misunderstood: 'research',
    misunderstanding: 'research',
    'missing information': 'research',
    'information is missing': 'research',
    architecture: 'plan',
    architectural: 'plan',
    design: 'plan',
    designed: 'plan',
    approach: 'plan',
  },
  otherwise: 'implement',
};

/** The earliest phase that any issue above minor points to. */
export const phaseAtFault = (
  issues: readonly Pick<ReviewIssue, 'severity' | 'category' | 'description'>[],
  table: FaultTable = FAULT_TABLE,
): WorkPhase => {
  const normal = {
    categories: normalisedKeys(table.categories),
    words: normalisedKeys(table.words),
  };
  const phases = issues
    .filter(({ severity }) => severity !== 'minor')
    .map(({ category, description }): WorkPhase => {
      const byCategory = normal.categories.get(normalised(category));
      if (byCategory) return byCategory;
      // Of a large text only its name is known here.
      const text = ` ${typeof description === 'string' ? normalised(description) : ''} `;
      const found = [...normal.words]
        .filter(([word]) => text.includes(` ${word} `))
        .map(([, phase]) => phase);
      return earliest(found) ?? table.otherwise;
    });
  return earliest(phases) ?? table.otherwise;
};

const earliest = (phases: readonly WorkPhase[]): WorkPhase | undefined =>
  WORK_PHASES.find((phase) => phases.includes(phase));

/** `Code_Quality` is `code quality`. */
const normalised = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^\p{L}\p{M}\p{N}]+/gu, ' ')
    .trim();

const normalisedKeys = (table: Readonly<Record<string, WorkPhase>>): ReadonlyMap<string, WorkPhase> =>
  new Map(Object.entries(table).map(([key, phase]) => [normalised(key), phase]));

/** The phase and all that come after it. */
export const phasesFrom = (phase: WorkPhase): readonly WorkPhase[] =>
  WORK_PHASES.slice(WORK_PHASES.indexOf(phase));

/**
 * A table that a user gave; what it leaves out is as usual.
 *
 * @throws {RuntimeError} BAD_OPTION
 */
export const checkedFaultTable = (given: Partial<FaultTable>): FaultTable => {
  const table = { ...FAULT_TABLE, ...given };
  const rows = [
    ...Object.entries(table.categories),
    ...Object.entries(table.words),
    ['otherwise', table.otherwise] as const,
  ];
  const wrong = rows.filter(([, phase]) => !WORK_PHASES.some((each) => each === phase));
  if (wrong.length > 0)
    throw new RuntimeError('BAD_OPTION', {
      option: 'faults',
      found: wrong.map(([key, phase]) => `${key}: ${phase}`).join(', '),
      expected: `phases that make something: ${WORK_PHASES.join(', ')}`,
    });
  const empty = Object.keys(table.words).filter((word) => normalised(word) === '');
  if (empty.length > 0)
    throw new RuntimeError('BAD_OPTION', {
      option: 'faults.words',
      found: empty.map((word) => JSON.stringify(word)).join(', '),
      expected: 'words with letters or digits',
    });
  return table;
};
