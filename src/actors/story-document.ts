import { isMap, isScalar, type Pair, parseDocument, stringify, type YAMLMap } from 'yaml';
import { hashText } from '../events/blob.ts';
import { canonicalJson } from '../events/encode.ts';
import type { Json, JsonObject } from '../events/json.ts';
import type { AuthorsPart, OwnPart } from '../machines/story-state.ts';
import { renderNotes } from './story-notes.ts';

/** The fields of the frontmatter that are ours. `title` is not: it is only added if there is none. */
const OWN_FIELDS = [
  'id',
  'status',
  'max_refinement_attempts',
  'research_complete',
  'plan_complete',
  'implement_complete',
  'refinement_count',
  'refinement_iterations',
  'review_history',
  'resets',
  'last_error',
] as const;

const NOTES_BEGIN = '<!-- loopwright:notes -->';
const NOTES_END = '<!-- /loopwright:notes -->';
const NOTES_TITLE = '## Notes of the reviews';

/** A story's file, taken apart. Joined again, its parts are the file. */
export interface StoryDocument {
  readonly text: string;
  readonly head: string;
  readonly yaml: string;
  /** From the line that closes the frontmatter up to our notes. */
  readonly before: string;
  /** What is between the markers of our notes, with them; null if there is no such section. */
  readonly notes: string | null;
  readonly after: string;
  readonly lineEnd: '\n' | '\r\n';
  readonly map: YAMLMap | null;
  /** All of the frontmatter. */
  readonly fields: JsonObject;
}

/** What is in it goes with every request. */
const YAML_LENGTH_MAX = 256 * 1024;

/** Takes a file apart, or says why it cannot be. */
export const readDocument = (text: string): StoryDocument | { readonly problem: string } => {
  const lineEnd = text.includes('\r\n') ? '\r\n' : '\n';
  const opening = /^\uFEFF?---[ \t]*\r?\n/.exec(text);
  if (!opening) return { ...bodyOf(text), text, head: '', yaml: '', lineEnd, map: null, fields: {} };
  const [head] = opening;
  const rest = text.slice(head.length);
  const closing = /^---[ \t]*\r?$/m.exec(rest);
  if (!closing) return { problem: 'its frontmatter is not closed by a line of ---' };
  const yaml = rest.slice(0, closing.index);
  if (yaml.length > YAML_LENGTH_MAX) return { problem: `its frontmatter has ${yaml.length} characters` };
  const document = parseDocument(yaml, { uniqueKeys: true });
  const [error] = document.errors;
  if (error) return { problem: `its frontmatter is no YAML: ${error.message.split('\n')[0] ?? ''}` };
  const { contents } = document;
  if (contents !== null && !isMap(contents)) return { problem: 'its frontmatter is no list of fields' };
  if (contents?.flow === true) return { problem: 'its frontmatter is written in one pair of brackets' };
  const fields = valuesOf(document);
  if (fields === undefined) return { problem: 'its frontmatter refers to itself too often, or to nothing' };
  const map = contents as YAMLMap | null;
  return {
    ...bodyOf(rest.slice(closing.index)),
    text,
    head,
    yaml,
    lineEnd,
    map,
    fields: fields as JsonObject,
  };
};

/** Aliases are only looked at here. */
const valuesOf = (document: { toJS(options: { maxAliasCount: number }): unknown }): Json | undefined => {
  try {
    return safe(document.toJS({ maxAliasCount: 100 }) ?? {});
  } catch {
    return undefined;
  }
};

/** The last section that is opened and closed is ours: whatever else looks like one is somebody's text. */
const bodyOf = (body: string): Pick<StoryDocument, 'before' | 'notes' | 'after'> => {
  const end = lastLine(body, NOTES_END, body.length);
  const begin = end === undefined ? undefined : lastLine(body, NOTES_BEGIN, end.start);
  if (!end || !begin) return { before: body, notes: null, after: '' };
  return {
    before: body.slice(0, begin.start),
    notes: body.slice(begin.start, end.end),
    after: body.slice(end.end),
  };
};

/** The last line before a place that is just this text. */
const lastLine = (
  text: string,
  line: string,
  until: number,
): { readonly start: number; readonly end: number } | undefined => {
  for (let from = until; from >= 0; ) {
    const start = text.lastIndexOf(line, from - 1);
    if (start === -1 || from === 0) return undefined;
    const end = start + line.length;
    const isWhole =
      (start === 0 || text[start - 1] === '\n') && /^\r?(?:\n|$)/.test(text.slice(end, end + 2));
    if (isWhole && end <= until) return { start, end };
    from = start;
  }
  return undefined;
};

/** What can be logged of a value that YAML may hold: other numbers, dates and unsafe keys are for the author's eyes only. */
const safe = (value: unknown): Json => {
  if (value === null || typeof value === 'boolean') return value;
  if (typeof value === 'string') return value.toWellFormed();
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : String(value);
  if (Array.isArray(value)) return value.map(safe);
  // YAML has no other values than these, and dates, which are texts here.
  if (typeof value !== 'object') return '';
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key]) => !UNSAFE.includes(key))
      .map(([key, member]) => [key.toWellFormed(), safe(member)]),
  );
};

const UNSAFE = ['__proto__', 'constructor', 'prototype'];

/** Our fields as the file has them; null for one that is not there. */
export const ownFields = ({ fields }: StoryDocument): JsonObject =>
  Object.fromEntries(
    OWN_FIELDS.map((field) => [field, Object.hasOwn(fields, field) ? (fields[field] ?? null) : null]),
  );

/** What its author wrote. */
export const authorsPart = (
  document: StoryDocument,
  key: string,
): AuthorsPart | { readonly problem: string } => {
  const { fields, before, after } = document;
  const max = fields['max_refinement_attempts'] ?? null;
  if (max !== null && (typeof max !== 'number' || !Number.isSafeInteger(max) || max < 0))
    return { problem: `max_refinement_attempts is ${JSON.stringify(max)}, and no count` };
  const body = `${document.head === '' ? before : before.replace(/^---[ \t]*(?:\r?\n)?/, '')}${after}`;
  return {
    title: titleOf(document, key),
    body: body.trim().toWellFormed(),
    fields: Object.fromEntries(
      Object.entries(fields).filter(([name]) => name !== 'title' && !OWN_FIELDS.some((own) => own === name)),
    ),
    max,
  };
};

/** That of the frontmatter, else the first heading. */
const titleOf = ({ fields, before }: StoryDocument, key: string): string => {
  const { title } = fields;
  if (typeof title === 'string' && title.trim() !== '') return title;
  if (typeof title === 'number') return String(title);
  return /^#[ \t]+(.{1,200})/m.exec(before)?.[1]?.trim().toWellFormed() ?? key;
};

/** What stands between the markers of our section; null if there is none. */
export const sectionText = ({ notes }: StoryDocument): string | null =>
  notes === null ? null : notes.slice(NOTES_BEGIN.length, -NOTES_END.length).trim().toWellFormed();

/** Hash of our section; null if there is none. */
export const notesHash = ({ notes }: StoryDocument): string | null =>
  notes === null ? null : hashText(notes);

/**
 * The file with our part as it is to be. Of the rest, not a byte is another. It is taken apart again to be sure of that: what
 * cannot be joined is a problem of the author's file, which is then left alone.
 */
export const withOwnPart = (
  document: StoryDocument,
  own: OwnPart,
  key: string,
): string | { readonly problem: string } => {
  const joined = joinedWith(document, own, key);
  const again = readDocument(joined);
  const problem = 'our fields cannot be written into its frontmatter as it is';
  if ('problem' in again) return { problem };
  const wanted: JsonObject = { ...ownFields(document), ...own.fields };
  const isOurs = canonicalJson(ownFields(again)) === canonicalJson(wanted);
  const theirs = authorsPart(document, key);
  const isTheirs =
    canonicalJson(theirsOf(again, key)) ===
    canonicalJson('problem' in theirs ? null : theirsOf(document, key));
  return isOurs && isTheirs ? joined : { problem };
};

/** What must be the same before and after: all but the limit, which may become ours. */
const theirsOf = (document: StoryDocument, key: string): Json => {
  const part = authorsPart(document, key);
  if ('problem' in part) return null;
  const { title, body, fields } = part;
  return { title, body, fields };
};

const joinedWith = (document: StoryDocument, own: OwnPart, key: string): string => {
  const { head, yaml, before, after, lineEnd } = document;
  const written = frontmatter(document, own.fields, key);
  const section = own.notes.length === 0 ? document.notes : sectionOf(own, lineEnd);
  const body =
    document.notes === null && section !== null
      ? `${ended(before, lineEnd)}${lineEnd}${section}${lineEnd}`
      : `${before}${section ?? ''}${after}`;
  if (head === '') {
    const start = before.startsWith('\uFEFF') ? '\uFEFF' : '';
    return `${start}---${lineEnd}${written}---${lineEnd}${body.slice(start.length)}`;
  }
  return `${head}${written === '' ? yaml : written}${body}`;
};

const ended = (text: string, lineEnd: string): string =>
  text === '' || text.endsWith('\n') ? text : `${text}${lineEnd}`;

const sectionOf = ({ notes, earlier }: OwnPart, lineEnd: string): string => {
  // A text that was large is whole again here: the call that brought it has resolved it.
  const before = typeof earlier === 'string' && earlier !== '' ? earlier.split(/\r?\n/) : [NOTES_TITLE];
  return [NOTES_BEGIN, ...before, ...renderNotes(notes), NOTES_END].join(lineEnd);
};

/** Only the text of our own fields is another. New ones come last. */
const frontmatter = (document: StoryDocument, own: JsonObject, key: string): string => {
  const { yaml, lineEnd, fields } = document;
  const values: Record<string, Json> = {
    ...(Object.hasOwn(fields, 'title') ? {} : { title: titleOf(document, key) }),
    ...own,
  };
  const inOrder = ['title', ...OWN_FIELDS].flatMap((name) => {
    const value = values[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const changed = inOrder.filter(
    ([name, value]) =>
      canonicalJson(fields[name] ?? null) !== canonicalJson(value) ||
      (value === null && Object.hasOwn(fields, name)),
  );
  const places = new Map(placesIn(document).map((place) => [place.name, place]));
  let text = yaml;
  const added: string[] = [];
  // From the end, so that places before it stay where they are.
  const inFile = changed.flatMap(([name, value]) => {
    const place = places.get(name);
    if (!place && value !== null) added.push(fieldOf(name, value, lineEnd));
    return place ? [{ ...place, value }] : [];
  });
  for (const { name, start, end, value } of inFile.sort((one, other) => other.start - one.start)) {
    const rest = text.slice(end);
    const field = value === null ? '' : fieldOf(name, value, lineEnd);
    text = `${text.slice(0, start)}${inPlace(field, rest, { lineEnd, isLine: yaml[end - 1] === '\n' })}`;
  }
  return `${added.length === 0 ? text : ended(text, lineEnd)}${added.join('')}`;
};

/** A field in the place of another. What stands behind that on its line, a comment say, is the author's. */
const inPlace = (
  field: string,
  rest: string,
  { lineEnd, isLine }: { readonly lineEnd: string; readonly isLine: boolean },
): string => {
  if (isLine || rest === '') return `${field}${rest}`;
  const line = /^\r?\n/.exec(rest);
  if (line) return `${field}${rest.slice(line[0].length)}`;
  const isOneLine = field !== '' && field.indexOf(lineEnd) === field.length - lineEnd.length;
  return isOneLine ? `${field.slice(0, -lineEnd.length)}${rest}` : `${field}${rest.trimStart()}`;
};

interface Place {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const placesIn = ({ map }: StoryDocument): readonly Place[] =>
  (map?.items ?? []).flatMap(({ key, value }: Pair) => {
    if (!isScalar(key) || !key.range) return [];
    const range = (value as { range?: readonly [number, number, number] } | null)?.range;
    return [{ name: String(key.value), start: key.range[0], end: range?.[1] ?? key.range[1] }];
  });

/** In a way that older readers understand as well: what they would take for a date, or for a yes, is quoted. */
const fieldOf = (name: string, value: Json, lineEnd: string): string =>
  stringify({ [name]: inReadingOrder(value) }, { lineWidth: 0, version: '1.1' }).replaceAll('\n', lineEnd);

/** The members of our lists as people want to read them. */
const MEMBERS = ['iteration', 'agentType', 'startedAt', 'reviewFeedback', 'result', 'flag', 'at', 'decision'];

const inReadingOrder = (value: Json): Json => {
  if (isList(value)) return value.map(inReadingOrder);
  if (typeof value !== 'object' || value === null) return value;
  const rank = (member: string) => (MEMBERS.includes(member) ? MEMBERS.indexOf(member) : MEMBERS.length);
  return Object.fromEntries(Object.entries(value).sort(([one], [other]) => rank(one) - rank(other)));
};

const isList = (value: Json): value is readonly Json[] => Array.isArray(value);
