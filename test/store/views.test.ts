import { expect, test } from 'vitest';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { sampleTurn } from './sample-turns.ts';
import { temporaryFile } from './temporary-directory.ts';

const view = (partition: string, position: number) => ({
  projection: 'progress',
  version: 1,
  partition,
  position,
  state: `{"position":${position}}`,
});
const key = ({ projection, version, partition }: ReturnType<typeof view>) => ({
  projection,
  version,
  partition,
});

const SOON = { mayWait: true };

test('views go along with the next commit, the newest last', async () => {
  const log = await openSqliteLog({ file: temporaryFile() });
  const stored = Promise.all([
    log.saveViews([view('a', 1)], SOON),
    log.saveViews([view('a', 2), view('b', 2)], SOON),
  ]);
  expect(await log.loadView(key(view('a', 1)))).toBeUndefined();
  await log.commit({ turns: [sampleTurn('t', [{ actor: 'run-1', version: 1 }])], snapshots: [] });
  expect(await log.loadView(key(view('a', 1)))).toEqual({ position: 2, state: '{"position":2}' });
  await stored;
  await log.close();
});

test('whoever does not want to wait takes along what waits', async () => {
  const log = await openSqliteLog({ file: temporaryFile() });
  const stored = log.saveViews([view('a', 1)], SOON);
  await log.saveViews([view('a', 2)]);
  await stored;
  expect(await log.loadView(key(view('a', 1)))).toEqual({ position: 2, state: '{"position":2}' });
  await log.close();
});

test('without a commit they are stored soon, or when the log is closed', async () => {
  const file = temporaryFile();
  const log = await openSqliteLog({ file });
  await log.saveViews([view('a', 1)], SOON);
  expect(await log.loadView(key(view('a', 1)))).toBeDefined();
  const late = log.saveViews([view('b', 1)], SOON);
  await log.close();
  await late;
  const second = await openSqliteLog({ file, mode: 'read' });
  expect(await second.loadView(key(view('b', 1)))).toBeDefined();
  await second.close();
});

test('a commit that fails fails the views that went along, and the next has none of them', async () => {
  const log = await openSqliteLog({ file: temporaryFile() });
  const stored = log.saveViews([view('a', 1)], SOON);
  const wrong = sampleTurn('t', [{ actor: 'run-1', version: 7 }]);
  await Promise.all([
    expect(stored).rejects.toThrow(/version/),
    expect(log.commit({ turns: [wrong], snapshots: [] })).rejects.toThrow(/version/),
  ]);
  await log.commit({ turns: [sampleTurn('t', [{ actor: 'run-1', version: 1 }])], snapshots: [] });
  expect(await log.loadView(key(view('a', 1)))).toBeUndefined();
  await log.close();
});

test('dropping a view that still waits to be stored leaves none', async () => {
  const log = await openSqliteLog({ file: temporaryFile() });
  const stored = log.saveViews([view('a', 1)], SOON);
  await log.dropViews([key(view('a', 1))]);
  await stored;
  expect(await log.loadView(key(view('a', 1)))).toBeUndefined();
  await log.close();
});
