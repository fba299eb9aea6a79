import {
  type ImportFormat,
  type ReadImport,
  type ReadRows,
  type Redactor,
  readImport,
  readStoryFiles,
} from '../index.ts';
import { escapeLine, excerpt } from './escape.ts';
import { type ImportSource, STANDARD_INPUT } from './import-source.ts';
import type { Terminal } from './terminal.ts';
import { wrong } from './wrong-use.ts';

const FORMATS: readonly ImportFormat[] = ['feedback', 'progress', 'stories', 'settings'];

/** What can be taken of a source. @throws {RuntimeError} WRONG_USE if it is of no format that is known */
export const readRows = (
  given: string,
  source: Exclude<ImportSource, { kind: 'log' }>,
  { format: wanted, redactor }: { readonly format: string | undefined; readonly redactor: Redactor },
): ReadImport => {
  const format = FORMATS.find((each) => each === wanted);
  if (wanted !== undefined && format === undefined)
    throw wrong(`There is no format "${wanted}".`, `Set it to one of ${FORMATS.join(', ')}.`);
  if (source.kind === 'stories') {
    if (format !== undefined && format !== 'stories')
      throw wrong(`"${given}" is a folder, and no ${format}.`, 'Give a file.');
    if (source.files.length > 0) return readStoryFiles(source.files, redactor);
    throw wrong(`There are no stories in "${given}".`, 'They are files that end with .md.');
  }
  const read = readImport(source.bytes, { path: given, redactor, ...(format && { format }) });
  if (read?.format === 'stories' && given === STANDARD_INPUT)
    throw wrong('A story is kept in its file.', 'Give the path of the file, or of a folder of them.');
  if (read) return read;
  throw wrong(
    `"${given}" is like no file that can be imported.`,
    'Give lines of feedback, a progress.json, a story with frontmatter, settings as JSON, or what "export" wrote; or say with --format which it is.',
  );
};

const SHOWN_MAX = 200;

/** Says what became of every row that was not just taken. */
export const tellRows = (terminal: Terminal, { accepted, refused, notes }: ReadRows): void => {
  terminal.say(`${accepted.length} accepted, ${refused.length} refused.`);
  for (const { place, reason, text } of refused.slice(0, SHOWN_MAX)) {
    terminal.say(`${terminal.colors.yellow('refused')} ${escapeLine(place)}: ${escapeLine(reason)}`);
    if (text !== '') terminal.say(`  │ ${excerpt(text)}`);
  }
  if (refused.length > SHOWN_MAX)
    terminal.say(`… and ${refused.length - SHOWN_MAX} more: --json has them all.`);
  for (const note of notes.slice(0, SHOWN_MAX)) terminal.say(`note: ${escapeLine(note)}`);
};
