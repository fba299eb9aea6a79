import { authorsPart, ownFields, readDocument } from '../actors/story-document.ts';
import type { JsonObject } from '../events/json.ts';
import type { Redactor } from '../events/redact.ts';
import { isReservedType } from '../events/vocabulary.ts';
import { problemsOfFields } from '../machines/story-sync.ts';
import { excerptOf, IMPORT_LIMITS, type ReadRows } from './rows.ts';

/** A file of a story: what is in it, or why it cannot be read. */
export type GivenStoryFile =
  | { readonly path: string; readonly text: string }
  | { readonly path: string; readonly problem: string };

/** Stories in Markdown with frontmatter: each file is a row. */
export interface StoriesImport extends ReadRows {
  readonly format: 'stories';
  readonly stories: readonly { readonly path: string; readonly text: string }[];
}

/** Reads the files of stories. How far each is stays in its file, which a run of stories reads when it begins. */
export const readStoryFiles = (files: readonly GivenStoryFile[], redactor?: Redactor): StoriesImport => {
  const rows = files.map((file, index) => ({ file, ...readStory(file, index) }));
  const keys = new Map<string, string>();
  const judged = rows.map(({ file, said, faults }) => {
    const key = keyOf(file.path);
    const twin = keys.get(key);
    if (faults.length === 0 && twin === undefined) keys.set(key, file.path);
    return { file, said, faults: twin === undefined ? faults : [...faults, `"${twin}" has the same name`] };
  });
  const clean = (text: string): string => redactor?.text(text) ?? text;
  return {
    format: 'stories',
    stories: judged.flatMap(({ file, faults }) => (faults.length === 0 && 'text' in file ? [file] : [])),
    accepted: judged
      .filter(({ faults }) => faults.length === 0)
      .map(({ file, said }) => ({ place: file.path, text: excerptOf(said, redactor) })),
    refused: judged
      .filter(({ faults }) => faults.length > 0)
      .map(({ file, faults }) => ({
        place: file.path,
        reason: clean(faults.join('; ')),
        text: excerptOf('text' in file ? file.text : '', redactor),
      })),
    notes: [],
  };
};

/** As a run of stories names it. */
const keyOf = (path: string): string =>
  (path.split('/').at(-1) ?? '').replace(/\.[^.]*$/, '').replaceAll(/[^A-Za-z0-9_.-]+/g, '-');

interface ReadStory {
  readonly said: string;
  readonly faults: readonly string[];
}

const readStory = (file: GivenStoryFile, index: number): ReadStory => {
  if (index >= IMPORT_LIMITS.rows)
    return { said: '', faults: [`a folder may have ${IMPORT_LIMITS.rows} stories`] };
  if ('problem' in file) return { said: '', faults: [file.problem] };
  if (file.text.length > IMPORT_LIMITS.row)
    return { said: '', faults: [`it has more than ${IMPORT_LIMITS.row} characters`] };
  const document = readDocument(file.text);
  if ('problem' in document) return { said: '', faults: [document.problem] };
  if (document.head === '') return { said: '', faults: ['it has no frontmatter: a line of --- comes first'] };
  const key = keyOf(file.path);
  const author = authorsPart(document, key);
  const fields = ownFields(document);
  const faults = [
    ...('problem' in author ? [author.problem] : []),
    ...problemsOfFields(fields),
    ...[key, fields['id']].flatMap((id) =>
      typeof id === 'string' && isReservedType(id)
        ? [`"${id.slice(0, 80)}" begins like a name of the runtime`]
        : [],
    ),
    ...(key === '' || ['__proto__', 'constructor', 'prototype'].includes(key)
      ? ['its name cannot be used']
      : []),
  ];
  return { said: 'problem' in author ? '' : `${author.title}: ${standOf(fields)}`, faults };
};

const PHASES = ['research', 'plan', 'implement'];

const standOf = (fields: JsonObject): string => {
  const done = PHASES.filter((phase) => fields[`${phase}_complete`] === true);
  const count = fields['refinement_count'] ?? 0;
  const status = typeof fields['status'] === 'string' ? `${fields['status']}, ` : '';
  return `${status}${done.length === 0 ? 'nothing' : done.join(', ')} complete, refined ${JSON.stringify(count)} times`;
};
