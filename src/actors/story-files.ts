import { createHash } from 'node:crypto';
import {
  existsSync,
  linkSync,
  lstatSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { canonicalJson } from '../events/encode.ts';
import type { Json } from '../events/json.ts';
import type { OwnPart } from '../machines/story-state.ts';
import type { ChangedField, Looked, LookInput, WriteInput, Written } from '../machines/story-sync.ts';
import { type Agent, agent } from './agent.ts';
import { replaceFile } from './replace-file.ts';
import {
  authorsPart,
  notesHash,
  ownFields,
  readDocument,
  type StoryDocument,
  sectionText,
  withOwnPart,
} from './story-document.ts';

/** What is in a file: its bytes count, since a file that is no UTF-8 would not survive being read and written. */
interface Found {
  readonly hash: string;
  readonly text: string;
}

const hashOfBytes = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');
const hashOfText = (text: string): string => hashOfBytes(Buffer.from(text));

/** A story of more bytes is no story. */
const BYTES_MAX = 8 * 1024 * 1024;

const findIn = (file: string): Found | { readonly problem: string; readonly hash: string | null } => {
  try {
    const found = lstatSync(realpathSync(file));
    const { size } = found;
    // Reading from a pipe would never end.
    if (!found.isFile()) return { problem: 'it is no file', hash: null };
    if (size > BYTES_MAX) return { problem: `it has ${size} bytes`, hash: null };
    const bytes = readFileSync(file);
    const hash = hashOfBytes(bytes);
    const text = bytes.toString('utf8');
    return Buffer.from(text).equals(bytes) ? { hash, text } : { problem: 'it is no UTF-8', hash };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return { problem: code === 'ENOENT' ? 'there is no such file' : String(error), hash: null };
  }
};

/** Reads a story's file: the author's part, what of ours was changed, and what the file is to become. */
export const lookAt = ({ file, key, seen, own, last }: LookInput): Looked => {
  const found = findIn(file);
  if ('problem' in found)
    return { kind: 'unreadable', reason: found.problem, theirs: null, mine: mineOf(own), hash: found.hash };
  const { hash, text } = found;
  const unreadable = (reason: string): Looked => ({
    kind: 'unreadable',
    reason,
    theirs: text.toWellFormed(),
    mine: mineOf(own),
    hash,
  });
  const document = readDocument(text);
  if ('problem' in document) return unreadable(document.problem);
  const author = authorsPart(document, key);
  if ('problem' in author) return unreadable(author.problem);
  const next = own && withOwnPart(document, own, key);
  if (next !== null && typeof next !== 'string') return unreadable(next.problem);
  const changed = own && last ? changedFields(document, own, last) : [];
  return {
    kind: 'found',
    hash,
    author: hash === seen ? null : author,
    fields: ownFields(document),
    notes: notesHash(document),
    section: own === null ? sectionText(document) : null,
    conflict: changed.length === 0 ? null : { changed, theirs: text, mine: next ?? text },
    intended: next === null || next === text ? null : hashOfText(next),
  };
};

const mineOf = (own: OwnPart | null): Json => own as unknown as Json;

/** What of ours is not as it was left. */
const changedFields = (
  document: StoryDocument,
  own: OwnPart,
  last: NonNullable<LookInput['last']>,
): readonly ChangedField[] => {
  const there = ownFields(document);
  const fields = Object.keys(own.fields).flatMap((field): ChangedField[] => {
    const [mine, theirs] = [last.fields[field] ?? null, there[field] ?? null];
    return canonicalJson(mine) === canonicalJson(theirs) ? [] : [{ field, mine, theirs }];
  });
  const notes = notesHash(document);
  return notes === last.notes
    ? fields
    : [...fields, { field: 'notes', mine: last.notes, theirs: document.notes }];
};

class Changed extends Error {}

/** Writes a story's file, if it is still the one that was looked at. Done twice, it is done once. */
export const writeTo = (input: WriteInput): Written => {
  const { file, key, own, base, intended } = input;
  try {
    takeUp(realpathSync(file), input);
    const found = findIn(file);
    if ('problem' in found) return { kind: 'changed' };
    const document = readDocument(found.text);
    if ('problem' in document) return { kind: 'changed' };
    // Killed after it was written, and before that was told.
    if (found.hash === intended) return writtenIn(document);
    const next = withOwnPart(document, own, key);
    if (found.hash !== base || typeof next !== 'string' || hashOfText(next) !== intended)
      return { kind: 'changed' };
    replaceGuarded(realpathSync(file), next, base);
    const again = readDocument(next);
    return 'problem' in again ? { kind: 'changed' } : writtenIn(again);
  } catch (error) {
    const isChanged = error instanceof Changed || (error as NodeJS.ErrnoException).code === 'ENOENT';
    return isChanged ? { kind: 'changed' } : { kind: 'failed', reason: String(error) };
  }
};

const writtenIn = (document: StoryDocument): Written => ({
  kind: 'written',
  fields: ownFields(document),
  notes: notesHash(document),
});

/** Names beside a story's file that nobody else would use: for the new file, and to keep the old one for a moment. */
const besides = (file: string, what: 'new' | 'kept'): string =>
  join(dirname(file), `.${basename(file)}.loopwright-${what}`);

/**
 * Whoever writes into the old file while the new one takes its place writes into what only the link still shows: then the old
 * file, with what was written, takes its place again, and is looked at anew.
 */
const replaceGuarded = (file: string, text: string, base: string): void => {
  const kept = besides(file, 'kept');
  const mode = lstatSync(file).mode & 0o777;
  const before = () => {
    const isKept = keep(file, kept);
    const found = statSync(isKept ? kept : file, { bigint: true });
    if (hashOfBytes(readFileSync(isKept ? kept : file)) !== base) throw new Changed();
    // The last look, right before the rename: somebody may have renamed, or written, while it was read.
    const { ino, mtimeNs } = statSync(file, { bigint: true });
    if (ino !== found.ino || mtimeNs !== found.mtimeNs) throw new Changed();
  };
  try {
    replaceFile(file, text, { mode, before, draft: besides(file, 'new') });
    putBack(file, kept, { base, intended: hashOfText(text) });
  } finally {
    rmSync(kept, { force: true });
  }
};

/** Not every file system has links. */
const keep = (file: string, kept: string): boolean => {
  rmSync(kept, { force: true });
  try {
    linkSync(file, kept);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw error;
    return false;
  }
};

/** @throws {Changed} if the old file was written to, and is the file again */
const putBack = (
  file: string,
  kept: string,
  { base, intended }: Pick<WriteInput, 'base' | 'intended'>,
): void => {
  if (!existsSync(kept) || hashOfBytes(readFileSync(kept)) === base) return;
  // If somebody has replaced ours by now, theirs is the last word.
  if (hashOfBytes(readFileSync(file)) === intended) renameSync(kept, file);
  throw new Changed();
};

/** What a killed process had begun. */
const takeUp = (file: string, input: WriteInput): void => {
  const kept = besides(file, 'kept');
  try {
    putBack(file, kept, input);
  } finally {
    rmSync(kept, { force: true });
  }
};

/** The parts of the runtime that keep the files of stories. */
export const storyFileAgents = (): { readonly look: Agent; readonly write: Agent } => ({
  look: agent(({ input }) => lookAt(input)),
  write: agent(({ input }) => writeTo(input)),
});
