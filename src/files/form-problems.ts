import { z } from 'zod';
import type { FileProblem } from '../errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { FileText } from './file-text.ts';
import { type FormWords, NAME, nearest, wordsOfForm } from './form-words.ts';
import { type Path, problemAt } from './place.ts';

type Issue = z.core.$ZodIssue;

/** Everything in which a document differs from its form, at its place. */
export const formProblems = (form: z.ZodType, file: FileText): readonly FileProblem[] => {
  const result = form.safeParse(file.value);
  if (result.success) return [];
  const words = wordsOfForm(z.toJSONSchema(form, { io: 'input' }) as JsonObject);
  return result.error.issues.flatMap((issue) => problemsOf(issue, [], { file, words }));
};

interface Place {
  readonly file: FileText;
  readonly words: FormWords;
}

const problemsOf = (issue: Issue, above: Path, place: Place): readonly FileProblem[] => {
  const { file, words } = place;
  const path = [...above, ...keysOf(issue.path)];
  if (issue.code === 'unrecognized_keys') return issue.keys.map((key) => unknownKey([...path, key], place));
  if (issue.code === 'invalid_union') return problemsOfUnion(issue, path, place);
  if (issue.code === 'invalid_key')
    return [problemAt(file.keyAt(path), path, { problem: 'this cannot be a name', allowed: NAME })];
  const found = valueAt(file.value, path);
  const allowed = words.wordsAt(path);
  return [
    found === undefined
      ? problemAt(file.keyAt(path), path, { problem: `"${String(path.at(-1))}" is missing`, allowed })
      : problemAt(file.valueAt(path), path, { problem: `found ${shown(found)}`, allowed }),
  ];
};

const unknownKey = (path: Path, { file, words }: Place): FileProblem => {
  const key = String(path.at(-1));
  const known = words.keysAt(path.slice(0, -1));
  const meant = nearest(key, known);
  return problemAt(file.keyAt(path), path, {
    problem: `there is no "${key}" here${meant === undefined ? '' : `: did you mean "${meant}"?`}`,
    allowed: known.join(', '),
  });
};

/** Of forms among which a value may choose, the one that it comes nearest to is the one that was meant. */
const problemsOfUnion = (
  { errors }: z.core.$ZodIssueInvalidUnion,
  path: Path,
  place: Place,
): readonly FileProblem[] => {
  const { file, words } = place;
  const found = valueAt(file.value, path);
  const tries = errors
    .filter((issues) => !issues.some(({ code, path: at }) => at.length === 0 && code !== 'unrecognized_keys'))
    .map((issues) => ({ issues, missing: missingIn(issues, found) }))
    .toSorted((a, b) => a.missing - b.missing || a.issues.length - b.issues.length);
  const [best, second] = tries;
  if (best && (best.missing === 0 || !second || second.missing > best.missing))
    return best.issues.flatMap((issue) => problemsOf(issue, path, place));
  const known = words.keysAt(path);
  const strangers =
    isJsonObject(found) && best ? Object.keys(found).filter((key) => !known.includes(key)) : [];
  if (strangers.length > 0) return strangers.map((key) => unknownKey([...path, key], place));
  return [
    problemAt(file.valueAt(path), path, {
      problem: best ? 'it is of no kind that is known' : `found ${shown(found ?? null)}`,
      allowed: words.wordsAt(path),
    }),
  ];
};

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

const TEXT_SHOWN = 40;

/** What was found, short. */
export const shown = (value: Json): string => {
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (isJsonObject(value)) return 'a mapping';
  const text = JSON.stringify(value);
  return text.length > TEXT_SHOWN ? `${text.slice(0, TEXT_SHOWN)}…` : text;
};
