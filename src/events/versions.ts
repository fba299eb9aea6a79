import { RuntimeError } from '../errors.ts';
import type { JsonObject } from './json.ts';

/** Turns the data of an event of one version into that of the next. Pure: it is called whenever the event is read. */
export type EventReader = (data: JsonObject) => JsonObject;

/** One reader for every version that was ever logged and is not the newest: `job.submitted@1` gives version 2. */
export type EventReaders = Readonly<Record<`${string}@${number}`, EventReader>>;

/** An event's data as code handles it now. */
export interface ReadEvent {
  readonly data: JsonObject;
  readonly version: number;
}

/**
 * Gives a function that brings an event of any version up to the newest, step by step. The log itself never changes.
 *
 * @throws {RuntimeError} BAD_OPTION if a version between the first and the newest has no reader
 */
export const createReaders = (
  table: EventReaders,
): ((type: string, version: number, data: JsonObject) => ReadEvent) => {
  const readers = byType(table);
  return (type, version, data) => {
    const ofType = readers.get(type);
    if (ofType === undefined) return { data, version };
    let newest: ReadEvent = { data, version };
    for (let reader = ofType.get(version); reader !== undefined; reader = ofType.get(newest.version)) {
      newest = { data: reader(newest.data), version: newest.version + 1 };
    }
    return newest;
  };
};

const byType = (table: EventReaders): ReadonlyMap<string, ReadonlyMap<number, EventReader>> => {
  const readers = new Map<string, Map<number, EventReader>>();
  for (const [name, reader] of Object.entries(table)) {
    const { type, version } = parseName(name);
    if (typeof reader !== 'function') throw badReaders(`a table without a function for "${name}"`);
    const ofType = readers.get(type) ?? new Map<number, EventReader>();
    readers.set(type, ofType.set(version, reader));
  }
  for (const [type, ofType] of readers) refuseGaps(type, ofType);
  return readers;
};

const parseName = (name: string): { readonly type: string; readonly version: number } => {
  const [, type, version] = /^(.+)@([1-9]\d{0,8})$/s.exec(name) ?? [];
  if (type === undefined) throw badReaders(`a table with the name "${name}"`);
  return { type, version: Number(version) };
};

const refuseGaps = (type: string, readers: ReadonlyMap<number, EventReader>): void => {
  for (let version = 1; version <= readers.size; version += 1) {
    if (!readers.has(version)) throw badReaders(`a table without a reader for "${type}@${version}"`);
  }
};

const badReaders = (found: string): Error =>
  new RuntimeError('BAD_OPTION', {
    option: 'readers',
    found,
    expected:
      'a function for each old version, named by type and version: "job.submitted@1", "job.submitted@2", …',
  });
