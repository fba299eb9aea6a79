import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { isRuntimeError } from '../../src/errors.ts';
import type { EventLog } from '../../src/store/event-log.ts';
import { createMemoryLog } from '../../src/store/memory/memory-log.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { exportLog, importLog } from '../../src/store/transfer.ts';
import { readEverything } from './read-everything.ts';
import { fillLog, sampleTurn } from './sample-turns.ts';
import { createRandom } from './seeded-random.ts';
import { temporaryFile } from './temporary-directory.ts';

async function exported(log: EventLog): Promise<string[]> {
  const lines: string[] = [];
  await exportLog(log, (line) => {
    lines.push(line);
  });
  return lines;
}

/** What a log says, without what an import does not bring: caches. */
async function lasting(log: EventLog): Promise<unknown> {
  const { view: _view, actors: _actors, ...rest } = await readEverything(log);
  return rest;
}

describe('export and import', () => {
  test('give a log with an equal head, which says the same and goes on', async () => {
    const log = await openSqliteLog({ file: temporaryFile() });
    await fillLog(log, { turns: 86 });
    await log.commit({ turns: [sampleTurn('empty', [], { atMs: 9_000 })], snapshots: [] });
    const lines = await exported(log);
    const file = temporaryFile();
    const head = await importLog(lines, file);
    const copy = await openSqliteLog({ file });
    expect(head).toEqual(await log.head());
    expect(await lasting(copy)).toEqual(await lasting(log));
    expect((await copy.verify()).ok).toBe(true);
    expect(await exported(copy)).toEqual(lines);
    await copy.commit({
      turns: [sampleTurn('next', [{ actor: 'run-0', version: 14 }], { atMs: 9_000 })],
      snapshots: [],
    });
    await Promise.all([log.close(), copy.close()]);
  });

  test('a log in memory is exported like one in a file', async () => {
    const [memory, log] = [createMemoryLog(), await openSqliteLog({ file: temporaryFile() })];
    for (const each of [memory, log]) await fillLog(each, { turns: 20 });
    expect(await exported(memory)).toEqual(await exported(log));
    await log.close();
  });

  test('an empty log can be exported and imported', async () => {
    const lines = await exported(createMemoryLog());
    expect((await importLog(lines, temporaryFile())).position).toBe(0);
  });

  test('a log in use is exported up to the head that it had', async () => {
    const log = createMemoryLog();
    await fillLog(log, { turns: 30 });
    const before = await log.head();
    const lines: string[] = [];
    const head = await exportLog(log, async (line) => {
      if (lines.length === 10) await fillLog(log, { turns: 10, from: 30 });
      lines.push(line);
    });
    expect(head).toEqual(before);
    expect(await importLog(lines, temporaryFile())).toEqual(before);
  });

  test('nothing is imported into a log that has something', async () => {
    const file = temporaryFile();
    const log = await openSqliteLog({ file });
    await fillLog(log, { turns: 1 });
    const lines = await exported(log);
    await expect(importLog(lines, file)).rejects.toMatchObject({ code: 'LOG_LOCKED' });
    await log.close();
    await expect(importLog(lines, file)).rejects.toMatchObject({ code: 'IMPORT_NOT_EMPTY' });
  });
});

/** Lines of an export, one of them changed. */
type Change = (lines: string[]) => void;

const replace =
  (index: number, from: string | RegExp, to: string): Change =>
  (lines) => {
    const line = lines.at(index) ?? '';
    expect(line).toMatch(from);
    lines[index < 0 ? lines.length + index : index] = line.replace(from, to);
  };

/** The change, and a last line with a digest that fits: what someone would do who knows the format. */
const resealed =
  (change: Change): Change =>
  (lines) => {
    change(lines);
    const digest = createHash('sha256')
      .update(`${lines.slice(0, -1).join('\n')}\n`)
      .digest('hex');
    lines[lines.length - 1] = JSON.stringify({ end: { digest } });
  };

describe('what was altered on the way is refused, and nothing is imported', () => {
  const refusal = async (change: Change): Promise<{ line: number; problem: string }> => {
    const log = createMemoryLog();
    await fillLog(log, { turns: 86 });
    const lines = await exported(log);
    const file = temporaryFile();
    change(lines);
    const error: unknown = await importLog(lines, file, { source: 'export.jsonl' }).catch(
      (thrown: unknown) => thrown,
    );
    if (!isRuntimeError(error, 'IMPORT_BAD_LINE')) throw error;
    expect(error.fields.file).toBe('export.jsonl');
    const left = await openSqliteLog({ file });
    expect(await left.head()).toMatchObject({ position: 0, turn: 0 });
    expect(await left.blobHashes({})).toEqual([]);
    expect(await left.openWork()).toEqual({ calls: [], timers: [] });
    await left.close();
    return error.fields;
  };

  test.each<[string, Change, number, string]>([
    ['data of an event', replace(5, '"text":"zaż', '"text":"Zaż'), 6, 'does not match its chain'],
    ['the type of an event', replace(5, 'progress.made', 'progress.lost'), 6, 'does not match its chain'],
    ['the time of a turn', replace(5, '"atMs":1040', '"atMs":1041'), 6, 'does not match its chain'],
    ['a version', replace(30, '"version":5', '"version":6'), 31, 'is at version'],
    ['the head', replace(0, /"chain":"\w/, '"chain":"x'), -1, 'altered'],
    [
      'the head, and the last line made to fit',
      resealed(replace(0, /"chain":"\w/, '"chain":"x')),
      -1,
      'head',
    ],
    [
      'the position of the head, likewise',
      resealed(replace(0, '"position":258', '"position":259')),
      -1,
      'head',
    ],
    [
      'an event, likewise',
      resealed(replace(5, 'progress.made', 'progress.lost')),
      6,
      'does not match its chain',
    ],
    ['the last turn left out, likewise', resealed((lines) => lines.splice(86, 1)), -1, 'head'],
    ['a turn left out', (lines) => lines.splice(5, 1), 6, 'turn 5 is missing'],
    ['a turn twice', (lines) => lines.splice(5, 0, lines[4] ?? ''), 6, ''],
    [
      'turns in another order',
      (lines) => lines.splice(5, 2, lines[6] ?? '', lines[5] ?? ''),
      6,
      'turn 5 is missing',
    ],
    [
      'an open call',
      (lines) =>
        replace(
          lines.findIndex((line) => line.startsWith('{"call"')),
          'developer',
          'attacker',
        )(lines),
      -1,
      'altered',
    ],
    [
      'a run',
      (lines) =>
        replace(
          lines.findIndex((line) => line.startsWith('{"run"')),
          'tight-loop',
          'other',
        )(lines),
      -1,
      'altered',
    ],
    ['a large value', replace(-2, 'large', 'LARGE'), -1, 'altered'],
    ['a member more', replace(5, '"origin"', '"extra":1,"origin"'), 6, 'member "extra"'],
    ['a member less', replace(5, /"by":(null|"ann"),/, ''), 6, '"by" is not'],
    [
      'no number',
      replace(5, '"typeVersion":1', '"typeVersion":"1"'),
      6,
      '"typeVersion" is not a whole number',
    ],
    ['an unknown kind', replace(5, '"kind":"fact"', '"kind":"gossip"'), 6, '"kind" is not one of'],
    ['a dangerous key', replace(5, '"data":{"n"', '"data":{"__proto__":1,"n"'), 6, 'prototype'],
    ['no JSON', (lines) => lines.splice(5, 1, '{"turn":'), 6, 'it is not JSON'],
    ['no line of an export', (lines) => lines.splice(5, 1, '{"hello":1}'), 6, 'not a line of an export'],
    ['no header', (lines) => lines.splice(0, 1), 1, 'header'],
    ['a newer format', replace(0, '"format":1', '"format":2'), 1, 'format 2'],
    ['no end', (lines) => lines.pop(), -1, 'ends too early'],
    ['lines behind the end', (lines) => lines.push(lines[1] ?? ''), -1, 'has ended'],
  ])('%s', async (_what, change, line, problem) => {
    const found = await refusal(change);
    if (line > 0 && problem !== '') expect(found.line).toBe(line);
    expect(found.problem).toContain(problem);
  });

  // Method: change any one character of any line. Whatever it is, the import is refused.
  test('any one character', async () => {
    const random = createRandom(9);
    for (let round = 0; round < 60; round += 1) {
      await refusal((lines) => {
        const index = random.below(lines.length);
        const line = lines[index] ?? '';
        const at = random.below(line.length);
        const other = line.charAt(at) === '1' ? '2' : '1';
        lines[index] = `${line.slice(0, at)}${other}${line.slice(at + 1)}`;
      });
    }
  });
});
