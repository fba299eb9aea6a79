import { type FileProblem, isRuntimeError } from '../errors.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import type { FileText } from './file-text.ts';
import { valueAt } from './form-problems.ts';
import { type Path, problemAt } from './place.ts';

/** What an error says that is thrown when a definition is compiled, at the places that it names. Other errors are thrown again. */
export const problemsOfError = (error: unknown, file: FileText, above: Path = []): readonly FileProblem[] => {
  const at = (path: Path, problem: string, allowed: string | null = null): FileProblem =>
    problemAt(file.valueAt(path), path, { problem, allowed });
  if (isRuntimeError(error, 'BAD_PLAN'))
    return error.fields.problems.map((problem) =>
      at(placeNamedIn(problem, file.value), problem, IS_STRANGER.test(problem) ? namesIn(file.value) : null),
    );
  if (isRuntimeError(error, 'BAD_OPTION')) {
    const { option, found, expected } = error.fields;
    return [at(placeOfOption(option, file.value, above), `"${option}" is ${found}`, expected)];
  }
  if (isRuntimeError(error, 'BAD_PATH'))
    return [
      at(pathOfText(file.value, error.fields.path) ?? [], `it is no path: ${error.fields.problem}`, 'a.b.c'),
    ];
  if (isRuntimeError(error, 'BAD_STORIES'))
    return error.fields.problems.map((problem) => {
      const [, number = '0'] = /^story (\d+):/.exec(problem) ?? [];
      return at(Number(number) > 0 ? ['input', 'stories', Number(number) - 1] : ['input'], problem);
    });
  throw error;
};

const IS_STRANGER = /which is (?:not there|neither a step nor a group|not a step before it)/;

const LISTS = ['steps', 'checks', 'nodes', 'phases'];
const MAPPINGS = ['agents', 'roles', 'reviewers'];

/** Problems of plans name what they are about in quotes, the place first; those that wait for each other without quotes. */
const placeNamedIn = (problem: string, document: Json): Path => {
  const [, stuck = ''] = /^the (?:steps|nodes) (.+) wait for each other/.exec(problem) ?? [];
  const names = [...problem.matchAll(/"([^"]*)"/g)].map(([, name = '']) => name);
  const [first = stuck.split(', ')[0] ?? '', second] = names;
  const item = placeOfItem(document, first);
  const inner = item && second !== undefined ? pathOfText(valueAt(document, item), second) : undefined;
  if (item) return [...item, ...(inner ?? [])];
  const mapping = MAPPINGS.find((name) => valueAt(document, [name, first]) !== undefined);
  if (mapping !== undefined) return [mapping, first];
  return LISTS.filter((name) => valueAt(document, [name]) !== undefined).slice(0, 1);
};

/** The names of all steps, nodes or phases, and of groups. */
const namesIn = (document: Json): string => {
  const items = LISTS.flatMap((list) => (valueAt(document, [list]) ?? []) as readonly Json[]);
  const names = items.flatMap((item) =>
    isJsonObject(item) ? [item['id'], item['group']].filter((name) => typeof name === 'string') : [],
  );
  return [...new Set(names)].join(', ');
};

const placeOfItem = (document: Json, id: string): Path | undefined => {
  for (const list of LISTS) {
    const items = valueAt(document, [list]);
    if (!Array.isArray(items)) continue;
    // Of two of the same id, the second is one too many.
    const index = items.findLastIndex((item: Json) => isJsonObject(item) && item['id'] === id);
    if (index >= 0) return [list, index];
  }
  return undefined;
};

/** `ask[0].expiresMs`, `limits.passes, limits.calls`: the first of them, or the nearest that is there. */
const placeOfOption = (option: string, document: Json, above: Path): Path => {
  const [first = ''] = option.split(', ');
  const keys = [...first.matchAll(/[^.[\]]+/g)].map(([key]) => (/^\d+$/.test(key) ? Number(key) : key));
  const path = [...above, ...keys];
  const places = [path, ['settings', ...keys], agentPlace(keys), path.slice(0, -1), above];
  return places.find((place) => place.length > 0 && valueAt(document, place) !== undefined) ?? above;
};

/** What is said of a role or a person stands in the description of the agent. */
const agentPlace = ([kind, agent, ...rest]: Path): Path => {
  if (agent === undefined) return [];
  return kind === 'persons' ? ['agents', agent, 'person', ...rest] : ['agents', agent, ...rest];
};

/** Where a text stands for the first time. */
export const pathOfText = (value: Json | undefined, text: string): Path | undefined => {
  if (value === text) return [];
  const members: readonly (readonly [string | number, Json])[] = Array.isArray(value)
    ? [...(value as readonly Json[]).entries()]
    : isJsonObject(value)
      ? Object.entries(value)
      : [];
  for (const [key, member] of members) {
    const inner = pathOfText(member, text);
    if (inner) return [key, ...inner];
  }
  return undefined;
};
