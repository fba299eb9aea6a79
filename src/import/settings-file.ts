import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { Redactor } from '../events/redact.ts';
import { excerptOf, IMPORT_LIMITS, parseRow, type ReadRows, type RefusedRow, withoutMark } from './rows.ts';

/** The loops that other systems have settings of. */
export type SettingsLoop = 'stories' | 'tight';

/** The settings of another system. */
export interface SettingsImport extends ReadRows {
  readonly format: 'settings';
  /** What a workflow file of each loop says, under the names of such files. */
  readonly settings: Readonly<Partial<Record<SettingsLoop, JsonObject>>>;
}

interface Setting {
  readonly loop: SettingsLoop;
  readonly to: readonly string[];
  readonly problem: (value: Json) => string | undefined;
}

const count = (min: number) => (value: Json) =>
  typeof value === 'number' && Number.isSafeInteger(value) && value >= min
    ? undefined
    : `it is not an integer from ${min}`;

const POLICIES = ['manual', 'error', 'skip'];

const policy = (value: Json): string | undefined =>
  POLICIES.some((known) => known === value) ? undefined : `it is none of ${POLICIES.join(', ')}`;

const flag = (value: Json): string | undefined =>
  typeof value === 'boolean' ? undefined : 'it is neither true nor false';

/** Off means that a story may go round for ever: somebody has to say why, in words of their own. */
const breaker = (value: Json): string | undefined =>
  flag(value) ??
  (value === true
    ? undefined
    : 'a loop without a bound needs its reason in words: write it into the workflow file as limits.unbounded');

/** By the path in the file of settings. */
const SETTINGS: Readonly<Record<string, Setting>> = {
  'refinement.maxIterations': { loop: 'stories', to: ['refinement', 'maxIterations'], problem: count(0) },
  'refinement.escalateOnMaxAttempts': {
    loop: 'stories',
    to: ['refinement', 'escalateOnMaxAttempts'],
    problem: policy,
  },
  'refinement.enableCircuitBreaker': {
    loop: 'stories',
    to: ['refinement', 'enableCircuitBreaker'],
    problem: breaker,
  },
  max_refinement_attempts: { loop: 'stories', to: ['refinement', 'maxIterations'], problem: count(0) },
  max_feedback_iterations: { loop: 'tight', to: ['maxIterations'], problem: count(1) },
  max_consecutive_review_failures: { loop: 'tight', to: ['limits', 'sameIssue'], problem: count(1) },
  max_consecutive_test_failures: { loop: 'tight', to: ['limits', 'sameFailure'], problem: count(1) },
  'feedback_loop.enabled': { loop: 'tight', to: ['enabled'], problem: flag },
  'feedback_loop.max_iterations': { loop: 'tight', to: ['maxIterations'], problem: count(1) },
};

/** Names under which the same settings stand in a block of their own. */
const BLOCKS = ['feedback_loop', 'tight_loop', 'settings', 'guards', 'limits'];

/** Reads a file of settings. Each value in it is a row, under its path. */
export const readSettingsFile = (text: string, redactor?: Redactor): SettingsImport => {
  const { value, fault } =
    text.length > IMPORT_LIMITS.row
      ? { fault: `it has more than ${IMPORT_LIMITS.row} characters` }
      : parseRow(withoutMark(text));
  if (fault !== undefined || !isJsonObject(value))
    return {
      format: 'settings',
      settings: {},
      accepted: [],
      refused: [
        { place: 'the file', reason: fault ?? 'it is not an object', text: excerptOf(text, redactor) },
      ],
      notes: [],
    };
  const known: Partial<Record<SettingsLoop, JsonObject>> = {};
  const accepted: { place: string; text: string }[] = [];
  const refused: RefusedRow[] = [];
  for (const { path, value: given } of leavesOf(value, [])) {
    const place = excerptOf(path.join('.'), redactor);
    const said = excerptOf(JSON.stringify(given), redactor);
    const setting = settingAt(path);
    const reason = setting ? problemOf(setting, given, known) : 'no setting of a loop has this name';
    if (!setting || reason !== undefined) {
      refused.push({ place, reason: reason ?? '', text: said });
      continue;
    }
    known[setting.loop] = withMember(known[setting.loop] ?? {}, setting.to, given);
    accepted.push({ place, text: `${setting.loop}: ${setting.to.join('.')} = ${said}` });
  }
  return { format: 'settings', settings: known, accepted, refused, notes: [] };
};

const problemOf = (
  { loop, to, problem }: Setting,
  value: Json,
  known: SettingsImport['settings'],
): string | undefined => {
  const wrong = problem(value);
  const before = to.reduce<Json | undefined>(
    (object, name) => (isJsonObject(object) ? object[name] : undefined),
    known[loop],
  );
  return (
    wrong ??
    (before === undefined || before === value
      ? undefined
      : `it was ${JSON.stringify(before)} before, under another name`)
  );
};

const settingAt = (path: readonly string[]): Setting | undefined => {
  const whole = path.join('.');
  if (Object.hasOwn(SETTINGS, whole)) return SETTINGS[whole];
  const [block = '', ...rest] = path;
  const inBlock = rest.join('.');
  return BLOCKS.includes(block) && Object.hasOwn(SETTINGS, inBlock) ? SETTINGS[inBlock] : undefined;
};

interface Leaf {
  readonly path: readonly string[];
  readonly value: Json;
}

/** An empty object is a leaf too: nothing of the file is passed over. */
const leavesOf = (value: Json, path: readonly string[]): readonly Leaf[] =>
  isJsonObject(value) && (path.length === 0 || Object.keys(value).length > 0)
    ? Object.entries(value).flatMap(([name, member]) => leavesOf(member, [...path, name]))
    : [{ path, value }];

const withMember = (object: JsonObject, [name = '', ...rest]: readonly string[], value: Json): JsonObject => {
  const inner = object[name];
  return {
    ...object,
    [name]: rest.length === 0 ? value : withMember(isJsonObject(inner) ? inner : {}, rest, value),
  };
};
