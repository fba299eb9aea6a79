import { describe, expect, it } from 'vitest';
import { createReaders, type EventReaders } from '../../src/events/versions.ts';

const read = createReaders({
  'job.submitted@1': (data) => ({ ...data, priority: 'low' }),
  'job.submitted@2': ({ kind = null, ...rest }) => ({ ...rest, task: kind }),
  'job.failed@1': (data) => ({ ...data, reason: 'unknown' }),
});

describe('readers of old events', () => {
  it('bring an event of any version up to the newest, step by step', () => {
    const newest = { data: { task: 'build', priority: 'low' }, version: 3 };
    expect(read('job.submitted', 1, { kind: 'build' })).toEqual(newest);
    expect(read('job.submitted', 2, { kind: 'build', priority: 'low' })).toEqual(newest);
    expect(read('job.failed', 1, {})).toEqual({ data: { reason: 'unknown' }, version: 2 });
  });

  it('leave the newest version and events that never changed as they are', () => {
    const data = { a: 1 };
    expect(read('job.submitted', 3, data)).toEqual({ data, version: 3 });
    expect(read('job.submitted', 3, data).data).toBe(data);
    expect(read('job.done', 1, data)).toEqual({ data, version: 1 });
    expect(read('constructor', 1, data)).toEqual({ data, version: 1 });
    expect(createReaders({})('job.done', 1, data)).toEqual({ data, version: 1 });
  });

  it.each([
    ['a gap', { 'a@1': Object, 'a@3': Object }, 'a@2'],
    ['no first version', { 'a@2': Object }, 'a@1'],
    ['no version', { a: Object }, '"a"'],
    ['version 0', { 'a@0': Object }, 'a@0'],
    ['a broken number', { 'a@1.5': Object }, 'a@1.5'],
    ['no type', { '@1': Object }, '@1'],
    ['no function', { 'a@1': 'x' }, 'a@1'],
  ])('are refused with %s', (_what, table, named) => {
    expect(() => createReaders(table as unknown as EventReaders)).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', message: expect.stringContaining(named) }),
    );
  });
});
