import { z } from 'zod';
import type { FileProblem } from '../errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { FileText } from './file-text.ts';
import { forms } from './form-registry.ts';
import { type FormWords, type Kind, NAME, nearest, wordsOfForm } from './form-words.ts';
import { type Path, problemAt } from './place.ts';

type Issue = z.core.$ZodIssue;

/** Everything in which a document differs from its form, at its place. */
export const formProblems = (form: z.ZodType, file: FileText): readonly FileProblem[] => {
  const result = form.safeParse(file.value);
  if (result.success) return [];
  const words = wordsFor(form);
  return result.error.issues.flatMap((issue) => problemsOf(issue, [], { file, words }));
};

const known = new WeakMap<z.ZodType, FormWords>();

const wordsFor = (form: z.ZodType): FormWords => {
  // A JSON Schema is JSON.
  const words =
    known.get(form) ?? wordsOfForm(z.toJSONSchema(form, { io: 'input', metadata: forms }) as JsonObject);
  known.set(form, words);
  return words;
};

interface Place {
  readonly file: FileText;
  readonly words: FormWords;
  /** Which of several kinds the mapping is of. */
  readonly kind?: Kind;
}

const problemsOf = (issue: Issue, above: Path, place: Place): readonly FileProblem[] => {
  const { file, words } = place;
  const path = [...above, ...keysOf(issue.path)];
  // The kind is that of the union itself, not of what is in it.
  const around = issue.path.length === 0 ? place : { file, words };
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...path, key], around));
  if (issue.code === 'invalid_union') return problemsOfUnion(issue, path, place);
  if (issue.code === 'invalid_key')
    return [problemAt(file.keyAt(path), path, { problem: 'this cannot be a name', allowed: NAME })];
  const found = valueAt(file.value, path);
  const allowed = words.wordsAt(path);
  return [
    found === undefined
      ? problemAt(file.keyAt(path), path, { problem: `"${String(path.at(-1))}" is missing`, allowed })
      : problemAt(file.valueAt(path), path, { problem: `found ${shownAt(path, found)}`, allowed }),
  ];
};

const unknownKey = (path: Path, { file, words, kind }: Place): FileProblem => {
  const key = String(path.at(-1));
  const allowed = words.keysAt(path.slice(0, -1), kind);
  const meant = nearest(key, allowed);
  return problemAt(file.keyAt(path), path, {
    problem: `there is no "${key}" here${meant === undefined ? '' : `: did you mean "${meant}"?`}`,
    allowed: allowed.join(', '),
  });
};

/** Of forms among which a value may choose, the one that it comes nearest to is the one that was meant. */
const problemsOfUnion = (
  { errors }: z.core.$ZodIssueInvalidUnion,
  path: Path,
  { file, words }: Place,
): readonly FileProblem[] => {
  const found = valueAt(file.value, path);
  const tries = errors
    .map((issues, index) => ({ issues, index, missing: missingIn(issues, found) }))
    .filter(
      ({ issues }) => !issues.some(({ code, path: at }) => at.length === 0 && code !== 'unrecognized_keys'),
    )
    .toSorted((a, b) => a.missing - b.missing || sizeOf(a.issues) - sizeOf(b.issues));
  const [best, second] = tries;
  if (best && (best.missing === 0 || !second || second.missing > best.missing))
    return best.issues.flatMap((issue) =>
      problemsOf(issue, path, { file, words, kind: { index: best.index, of: errors.length } }),
    );
  const all = words.keysAt(path);
  const strangers = isJsonObject(found) && best ? Object.keys(found).filter((key) => !all.includes(key)) : [];
  if (strangers.length > 0) return strangers.map((key) => unknownKey([...path, key], { file, words }));
  return [
    problemAt(file.valueAt(path), path, {
      problem: best ? 'it is of no kind that is known' : `found ${shownAt(path, found ?? null)}`,
      allowed: words.wordsAt(path),
    }),
  ];
};

const sizeOf = (issues: readonly Issue[]): number =>
  issues.reduce((sum, issue) => sum + (issue.code === 'unrecognized_keys' ? issue.keys.length : 1), 0);

const missingIn = (issues: readonly Issue[], found: Json | undefined): number =>
  issues.filter(({ path }) => path.length > 0 && valueAt(found, keysOf(path)) === undefined).length;

/** Documents have no symbols as keys. */
const keysOf = (path: readonly PropertyKey[]): Path =>
  path.map((key) => (typeof key === 'number' ? key : String(key)));

export const valueAt = (value: Json | undefined, path: Path): Json | undefined =>
  path.reduce<Json | undefined>((found, key) => {
    if (Array.isArray(found)) return typeof key === 'number' ? (found as readonly Json[])[key] : undefined;
    return isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  }, value);

/** Where people put secrets, although a name is asked for. */
const SECRETIVE: Path = ['env', 'passEnv', 'apiKeyEnv'];

/** What may be a secret is not repeated. */
const shownAt = (path: Path, value: Json): string => {
  const isSecret = path[0] === 'secrets' || (path[0] === 'agents' && SECRETIVE.includes(path[2] ?? ''));
  return isSecret && typeof value === 'string' ? 'a text that is not shown' : shown(value);
};

const TEXT_SHOWN = 40;

/** What was found, short. */
export const shown = (value: Json): string => {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (isJsonObject(value)) return 'a mapping';
  const text = JSON.stringify(value);
  return text.length > TEXT_SHOWN ? `${text.slice(0, TEXT_SHOWN)}…` : text;
};
