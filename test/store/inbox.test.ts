import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { setTimeout } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Inbox, type InboxCommand, openInbox } from '../../src/store/inbox.ts';
import { workerPath } from '../support/workers.ts';
import { temporaryFile } from './temporary-directory.ts';

const DAY_MS = 24 * 60 * 60 * 1_000;

const opened = (file: string): Inbox => {
  const inbox = openInbox(file);
  onTestFinished(() => inbox.close());
  return inbox;
};
const command = (id: string, changes: Partial<InboxCommand> = {}): InboxCommand => ({
  id,
  kind: 'pause',
  body: '{"run":"run-1"}',
  by: 'ann',
  atMs: 1_000,
  ...changes,
});

describe('the inbox', () => {
  test('gives the owner what others posted, in order, until it is settled', () => {
    const file = temporaryFile();
    const [sender, other, owner] = [opened(file), opened(file), opened(file)];
    sender.post(command('z'));
    other.post(command('a', { by: null }));
    sender.post(command('m'));
    expect(owner.pending(10)).toEqual([command('z'), command('a', { by: null }), command('m')]);
    expect(owner.pending(1)).toEqual([command('z')]);
    expect(sender.outcome('z')).toBeUndefined();
    owner.settle('z', '{"ok":true}', 2_000);
    expect(sender.outcome('z')).toBe('{"ok":true}');
    expect(owner.pending(10).map(({ id }) => id)).toEqual(['a', 'm']);
  });

  test('the same id twice is the same command, before and after it is settled', () => {
    const inbox = opened(temporaryFile());
    inbox.post(command('a'));
    inbox.post(command('a', { kind: 'cancel' }));
    expect(inbox.pending(10)).toEqual([command('a')]);
    inbox.settle('a', '1', 2_000);
    inbox.post(command('a'));
    expect(inbox.pending(10)).toEqual([]);
    inbox.settle('a', '2', 3_000);
    expect(inbox.outcome('a')).toBe('1');
  });

  test('outcomes are kept for seven days; what waits is kept for ever', () => {
    const inbox = opened(temporaryFile());
    for (const id of ['old', 'young', 'waiting', 'last']) inbox.post(command(id));
    inbox.settle('old', '1', 1_000);
    inbox.settle('young', '2', 1_001);
    inbox.settle('last', '3', 1_001 + 7 * DAY_MS);
    expect(inbox.outcome('old')).toBeUndefined();
    expect(inbox.outcome('young')).toBe('2');
    expect(inbox.pending(10).map(({ id }) => id)).toEqual(['waiting']);
  });

  // Method: several processes post as fast as they can, from the moment when not even the file is there, while the owner takes
  // and settles. Nothing may be lost, done twice, or change places with another command of the same sender.
  test('many processes may post while the owner drains it', async () => {
    const [file, senders, count] = [temporaryFile(), ['a', 'b', 'c', 'd'], 40];
    const posting = Promise.all(
      senders.map((name) =>
        once(spawn(process.execPath, [workerPath('post-commands'), file, name, `${count}`]), 'exit'),
      ),
    );
    const owner = opened(file);
    const done: string[] = [];
    while (done.length < senders.length * count) {
      if (!owner.changed()) await setTimeout(5);
      for (const { id } of owner.pending(10)) {
        done.push(id);
        owner.settle(id, '{}', 1_000);
      }
    }
    expect((await posting).map(([code]: readonly unknown[]) => code)).toEqual([0, 0, 0, 0]);
    for (const name of senders) {
      const ofSender = done.filter((id) => id.startsWith(`${name}-`));
      expect(ofSender).toEqual(Array.from({ length: count }, (_, n) => `${name}-${n}`));
    }
    expect(owner.pending(10)).toEqual([]);
  });

  test('tells whether another process has written since it was last asked', () => {
    const file = temporaryFile();
    const [sender, owner] = [opened(file), opened(file)];
    expect(owner.changed()).toBe(true);
    expect(owner.changed()).toBe(false);
    sender.post(command('a'));
    expect(owner.changed()).toBe(true);
    expect(owner.changed()).toBe(false);
    owner.settle('a', '1', 2_000);
    expect(owner.changed()).toBe(false);
  });

  test('keeps everything when it is closed and opened again', () => {
    const file = temporaryFile();
    const inbox = openInbox(file);
    inbox.post(command('a'));
    inbox.close();
    expect(opened(file).pending(10)).toEqual([command('a')]);
    expect(() => inbox.post(command('b'))).toThrow(expect.objectContaining({ code: 'RUNTIME_CLOSED' }));
  });

  test('refuses a file that is no inbox', () => {
    const text = temporaryFile();
    writeFileSync(
      `${text}.inbox`,
      'not a database, but some text that is long enough to be looked at '.repeat(20),
    );
    expect(() => openInbox(text)).toThrow(expect.objectContaining({ code: 'LOG_CORRUPT' }));
    const foreign = temporaryFile();
    new Database(`${foreign}.inbox`).exec('create table songs (title text)').close();
    expect(() => openInbox(foreign)).toThrow(expect.objectContaining({ code: 'NOT_A_LOG' }));
  });
});
