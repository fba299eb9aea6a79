import { mkdirSync, readFileSync, renameSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { lookAt, writeTo } from '../../src/actors/story-files.ts';
import { type JsonObject, storyLines } from '../../src/index.ts';
import { createRandom } from '../store/seeded-random.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { createFakeClock, rounds } from '../support/runtimes.ts';
import {
  approve,
  factsIn,
  type Play,
  play,
  type Request,
  rejectFor,
  reread,
  saying,
  storyFile,
} from '../support/stories.ts';

const STORY =
  '---\n# mine\ntitle: Export as CSV # short\ntags: [a, b]\nowner: ada\n---\n# Export\n\nRows as CSV, please.\n';

const textOf = (file: string): string => readFileSync(file, 'utf8');
const frontmatterOf = (file: string) => parse(textOf(file).split(/^---$/m)[1] ?? '') as JsonObject;
const edit = (file: string, change: (text: string) => string): void =>
  writeFileSync(file, change(textOf(file)));

const playFile = async (text: string, { agents, options, ...given }: Play = {}) => {
  const log = temporaryFile();
  const story = storyFile(log, 'a', text);
  const played = await play({
    file: log,
    stories: [story],
    ...(agents && { agents }),
    ...(options && { options }),
    ...given,
  });
  return { ...played, story };
};

const waits = { refinement: { maxIterations: 1 } };

describe('the file of a story', () => {
  it('R6: has its state in the frontmatter and its notes in a section of their own; the rest is as it was', async () => {
    const clock = createFakeClock();
    const { run, story, requests, ...played } = await playFile(STORY, {
      clock,
      agents: { review: saying(rejectFor('design'), rejectFor('code'), approve) },
    });
    expect((await run.result()).verdict).toBe('verified');
    await reread({ ...played });
    const at = '2026-01-01T00:00:00.000Z';
    const rejection = { at, decision: 'rejected', severity: 'high', summary: 'Review failed: 1 critical' };
    const passed = { at, decision: 'approved', severity: null, summary: 'Review passed', phase: null };
    const record = { startedAt: at, reviewFeedback: 'Review failed: 1 critical' };
    expect(frontmatterOf(story)).toEqual({
      title: 'Export as CSV',
      tags: ['a', 'b'],
      owner: 'ada',
      id: 'a',
      status: 'done',
      max_refinement_attempts: 3,
      research_complete: true,
      plan_complete: true,
      implement_complete: true,
      refinement_count: 2,
      refinement_iterations: [
        { iteration: 1, agentType: 'plan', ...record, result: 'failed' },
        { iteration: 2, agentType: 'implement', ...record, result: 'passed' },
      ],
      review_history: [{ ...rejection, phase: 'plan' }, { ...rejection, phase: 'implement' }, passed],
      resets: [
        { flag: 'plan_complete', at, iteration: 1 },
        { flag: 'implement_complete', at, iteration: 1 },
        { flag: 'implement_complete', at, iteration: 2 },
      ],
    });
    expect(
      textOf(story).startsWith('---\n# mine\ntitle: Export as CSV # short\ntags: [a, b]\nowner: ada\n'),
    ).toBe(true);
    expect(textOf(story)).toContain('---\n# Export\n\nRows as CSV, please.\n\n<!-- loopwright:notes -->\n');
    expect(textOf(story).match(/^### .*$/gm)).toEqual([
      `### Review of ${at}`,
      `### Refinement 1 of 3, ${at}`,
      `### Review of ${at}`,
      `### Refinement 2 of 3, ${at}`,
      `### Review of ${at}`,
    ]);
    expect(requests[0]?.request.input.story).toEqual({
      id: 'a',
      title: 'Export as CSV',
      body: '# Export\n\nRows as CSV, please.',
      fields: { tags: ['a', 'b'], owner: 'ada' },
      file: story,
    });
  });

  it('R6, R2: is up to date before the agent of a rework is called: flags are reset, notes are there', async () => {
    const seen: string[] = [];
    const { run } = await playFile(STORY, {
      agents: {
        review: saying(rejectFor('design'), approve),
        plan: ({ input }: Request) => {
          seen.push(textOf(input.story.file ?? ''));
          return 'plan';
        },
      },
    });
    await run.result();
    expect(seen[0]).toContain('status: plan');
    expect(seen[1]).toMatch(/plan_complete: false\n.*implement_complete: false\n/s);
    expect(seen[1]).toContain('result: in_progress');
    expect(seen[1]).toContain('### Refinement 1 of 3');
  });

  it('R6: what it is to become is in the log before it is written, by its hash', async () => {
    const { run, story, ...played } = await playFile(STORY);
    await run.result();
    const { events } = await reread(played);
    const intended = factsIn(events, 'story.intended').map(({ hash }) => hash);
    const written = factsIn(events, 'story.written').map(({ hash }) => hash);
    expect(written.length).toBeGreaterThan(4);
    expect(written).toEqual(intended);
    for (const hash of written) {
      const place = (type: string) =>
        events.findIndex((event) => event.type === type && event.data['hash'] === hash);
      const begun = place('story.intended');
      expect(begun).toBeGreaterThan(-1);
      expect(events[place('story.written')]?.turn).toBeGreaterThan(events[begun]?.turn ?? 0);
    }
    const look = lookAt({ file: story, key: 'a', seen: null, own: null, last: null });
    expect(look.kind === 'found' && look.hash).toBe(written.at(-1));
  });

  it('R6: what its author writes is taken in as an event before the next action', async () => {
    const { run, story, requests, ...played } = await playFile(STORY, { options: { mode: 'manual' } });
    await run.settled();
    edit(story, (text) =>
      text
        .replace('Rows as CSV', 'Rows as TSV')
        .replace('owner: ada', 'owner: bob')
        .replace('Export as CSV', 'Export'),
    );
    await run.send({ type: 'stories.next' });
    await run.settled();
    expect(requests[0]?.request.input.story).toMatchObject({
      title: 'Export',
      body: expect.stringContaining('Rows as TSV'),
      fields: { owner: 'bob' },
    });
    const { events, stories } = await reread(played);
    expect(factsIn(events, 'story.read').map(({ title }) => title)).toEqual(['Export as CSV', 'Export']);
    expect(stories['a']?.title).toBe('Export');
    expect(factsIn(events, 'story.conflict')).toEqual([]);
    expect(textOf(story)).toContain('Rows as TSV');
  });

  it('R6: an edit of our part is reported with both versions, and put right', async () => {
    const { run, story, ...played } = await playFile(STORY, {
      options: waits,
      agents: { review: saying(rejectFor('code')) },
    });
    await run.settled();
    expect(frontmatterOf(story)['refinement_count']).toBe(1);
    const mine = textOf(story);
    // The old way to set the count back, and a word of one's own in our notes.
    edit(story, (text) =>
      text
        .replace('refinement_count: 1', 'refinement_count: 0')
        .replace('### Refinement 1', '### My refinement'),
    );
    const theirs = textOf(story);
    const [question] = await played.runtime.questions();
    await played.runtime.answer(question?.id ?? '', 'cancel');
    await run.result();
    const { events, stories } = await reread(played);
    const conflicts = factsIn(events, 'story.conflict');
    expect(conflicts).toMatchObject([
      {
        reason: null,
        theirs,
        changed: [{ field: 'refinement_count', mine: 1, theirs: 0 }, { field: 'notes' }],
      },
    ]);
    expect(conflicts[0]?.['mine']).toContain('### Refinement 1');
    expect(stories['a']).toMatchObject({ conflicts: 1, refinements: 1 });
    expect(frontmatterOf(story)).toMatchObject({ refinement_count: 1, status: 'cancelled' });
    expect(events.flatMap(storyLines)).toContain(
      '! a: changed by somebody else and put right: refinement_count, notes',
    );
    expect(textOf(story).split('<!-- loopwright:notes -->')[1]).toBe(
      mine.split('<!-- loopwright:notes -->')[1],
    );
  });

  it('R12, R6: setting the count back in the file does nothing but be reported; the command does it, on record', async () => {
    const rejected = rejectFor('code');
    const { run, story, ...played } = await playFile(STORY, {
      options: waits,
      agents: { review: saying(rejected, rejected, approve) },
    });
    await run.settled();
    edit(story, (text) => text.replace('refinement_count: 1', 'refinement_count: 0'));
    await run.send({ type: 'story.reset', story: 'a', by: 'ada', note: 'mended' });
    expect((await run.result()).verdict).toBe('verified');
    const { events } = await reread(played);
    expect(factsIn(events, 'story.reset')).toMatchObject([{ was: 1, by: 'ada', note: 'mended' }]);
    expect(factsIn(events, 'story.conflict')).toHaveLength(1);
    expect(frontmatterOf(story)['resets']).toContainEqual(
      expect.objectContaining({ flag: 'refinement_count', iteration: 1 }),
    );
  });

  it('R5: the limit is fixed at the first refinement: later settings and edits do not change it', async () => {
    const log = temporaryFile();
    const story = storyFile(log, 'a', STORY.replace('owner: ada', 'owner: ada\nmax_refinement_attempts: 5'));
    const rejecting = { review: saying(rejectFor('code')) };
    const first = await play({ file: log, stories: [story], options: { mode: 'manual' }, agents: rejecting });
    await first.run.settled();
    // Before it is fixed it is the author's.
    edit(story, (text) => text.replace('max_refinement_attempts: 5', 'max_refinement_attempts: 2'));
    for (let action = 0; action < 5; action += 1) {
      await first.run.send({ type: 'stories.next' });
      await first.run.settled();
    }
    expect(frontmatterOf(story)).toMatchObject({ max_refinement_attempts: 2, refinement_count: 1 });
    edit(story, (text) => text.replace('max_refinement_attempts: 2', 'max_refinement_attempts: 9'));
    await first.run.send({ type: 'stories.mode', mode: 'auto' });
    await first.run.settled();
    const { events } = await reread(first);
    expect(factsIn(events, 'story.limit')).toMatchObject([{ refinements: 2, max: 2 }]);
    expect(factsIn(events, 'story.conflict')).toMatchObject([
      { changed: [{ field: 'max_refinement_attempts', mine: 2, theirs: 9 }] },
    ]);

    // Another run, with other settings, on the same story.
    const usual = storyFile(log, 'b', STORY);
    const stopping = { refinement: { escalateOnMaxAttempts: 'skip', maxIterations: 1 } } as const;
    const second = await play({ stories: [usual], options: stopping, agents: rejecting });
    await second.run.result();
    expect(frontmatterOf(usual)).toMatchObject({
      refinement_count: 1,
      max_refinement_attempts: 1,
      status: 'skipped',
    });
    const third = await play({
      stories: [usual],
      options: { refinement: { maxIterations: 7, escalateOnMaxAttempts: 'skip' } },
      agents: rejecting,
    });
    expect((await third.run.result()).verdict).toBe('exhausted');
    expect(third.rolesCalled()).toEqual([]);
    expect(frontmatterOf(usual)).toMatchObject({ refinement_count: 1, max_refinement_attempts: 1 });
  });

  it('R2, R5: a limit that its author lowers before the first refinement is seen by the rework, which then does nothing', async () => {
    const { run, story, requests, ...played } = await playFile(STORY, {
      options: { mode: 'manual' },
      agents: { review: saying(rejectFor('code')) },
    });
    for (let action = 0; action < 4; action += 1) {
      await run.send({ type: 'stories.next' });
      await run.settled();
    }
    edit(story, (text) => text.replace('owner: ada', 'owner: ada\nmax_refinement_attempts: 0'));
    expect((await run.send({ type: 'stories.next' })).taken).toBe(true);
    await run.settled();
    expect(requests).toHaveLength(4);
    const { events, stories } = await reread(played);
    expect(factsIn(events, 'rework.refused')).toEqual([{ story: 'a', refinements: 0, max: 0 }]);
    expect(factsIn(events, 'story.limit')).toMatchObject([{ refinements: 0, max: 0 }]);
    expect(stories['a']).toMatchObject({ status: 'review', refinements: 0, max: 0 });
    expect(frontmatterOf(story)).toMatchObject({
      status: 'review',
      max_refinement_attempts: 0,
      refinement_count: 0,
    });
  });

  it('R5: an override of 0 is enforced, reported and kept as 0', async () => {
    const text = STORY.replace('owner: ada', 'max_refinement_attempts: 0');
    const { run, story, ...played } = await playFile(text, { agents: { review: saying(rejectFor('code')) } });
    await run.settled();
    const { stories, second } = await reread(played);
    expect(stories['a']).toMatchObject({
      refinements: 0,
      max: 0,
      lastError: expect.stringContaining('0 of 0'),
    });
    expect((await second.questions())[0]?.text).toContain('0 of 0');
    expect(frontmatterOf(story)).toMatchObject({
      max_refinement_attempts: 0,
      last_error: expect.stringContaining('0 of 0'),
    });
  });

  it.each(['manual', 'error', 'skip'] as const)(
    'R4: with %s the error at the limit is in the file',
    async (policy) => {
      const { run, story } = await playFile(STORY, {
        options: { refinement: { maxIterations: 1, escalateOnMaxAttempts: policy } },
        agents: { review: saying(rejectFor('code')) },
      });
      await run.settled();
      expect(frontmatterOf(story)['last_error']).toBe(
        '1 of 1 refinements are used, and the review still rejects.',
      );
      expect(frontmatterOf(story)['status']).toBe(
        { manual: 'review', error: 'failed', skip: 'skipped' }[policy],
      );
    },
  );

  it.each([
    ['rejected', 4, ['plan', 'implement', 'review', 'create-pr']],
    ['in the middle of a refinement', 5, ['implement', 'review', 'create-pr']],
  ] as const)(
    'R6: a story that was %s goes on in another run from what its file says',
    async (_, actions, roles) => {
      const { run, story, runtime } = await playFile(STORY, {
        options: { mode: 'manual' },
        agents: { review: saying(rejectFor('design')) },
      });
      for (let action = 0; action < actions; action += 1) {
        await run.send({ type: 'stories.next' });
        await run.settled();
      }
      await runtime.close();
      const second = await play({ stories: [story], agents: { review: saying(approve) } });
      expect((await second.run.result()).verdict).toBe('verified');
      // The rejection was there; what it said in detail is in the notes of the file.
      expect(second.rolesCalled()).toEqual(roles);
      // Notes of both runs are there.
      expect(textOf(story).match(/^### \w+/gm)).toEqual(['### Review', '### Refinement', '### Review']);
      expect(textOf(story).match(/^## Notes/gm)).toHaveLength(1);
      expect(frontmatterOf(story)).toMatchObject({
        refinement_count: 1,
        refinement_iterations: [{ result: 'passed' }],
      });
      const before = textOf(story);
      const third = await play({ stories: [story] });
      expect((await third.run.result()).verdict).toBe('verified');
      expect(third.rolesCalled()).toEqual([]);
      expect(textOf(story)).toBe(before);
    },
  );
});

describe('a secret in a file', () => {
  it('R6, S12: stays in the file, and is never in the log', async () => {
    const secret = 'correct-horse-battery-staple';
    const text = STORY.replace('please.', `with ${secret}.`).replace(
      'owner: ada',
      `owner: ada\nkey: ${secret}`,
    );
    const { run, story, file, ...played } = await playFile(text, {
      secrets: { values: [secret] },
      agents: { review: saying(rejectFor('code'), approve) },
    });
    expect((await run.result()).verdict).toBe('verified');
    expect(textOf(story).split(secret)).toHaveLength(3);
    const { events } = await reread({ ...played, file });
    expect(JSON.stringify(events)).not.toContain(secret);
    expect(factsIn(events, 'story.conflict')).toEqual([]);
    expect(readFileSync(file).includes(secret)).toBe(false);
  });
});

describe('the name of a file', () => {
  it('R6: is the name of its story, made fit for an address; the id is that of the frontmatter', async () => {
    const log = temporaryFile();
    const story = storyFile(log, 'My first  story!', STORY.replace('owner: ada', 'id: 12'));
    const { run, ...played } = await play({ file: log, stories: [story] });
    expect((await run.result()).output?.stories).toMatchObject({
      'My-first-story-': { id: '12', verdict: 'verified' },
    });
    await reread({ ...played });
    expect(frontmatterOf(story)).toMatchObject({ id: '12', status: 'done' });
  });

  it('R6: beside it nothing of anybody else is touched', async () => {
    const log = temporaryFile();
    const story = storyFile(log, 'a', STORY);
    for (const name of ['a.md.new', 'a.md.kept', 'a.md~']) writeFileSync(join(dirname(log), name), name);
    const { run } = await play({ file: log, stories: [story] });
    await run.result();
    for (const name of ['a.md.new', 'a.md.kept', 'a.md~'])
      expect(textOf(join(dirname(log), name))).toBe(name);
  });
});

describe('a file that cannot be used', () => {
  it.each([
    ['is not there', (file: string) => rmSync(file), /no such file/],
    ['is no YAML', (file: string) => writeFileSync(file, '---\nid: [\n---\n'), /no YAML/],
    ['is no UTF-8', (file: string) => writeFileSync(file, Buffer.from([0x2d, 0xff, 0xfe])), /no UTF-8/],
    [
      'has fields that make no sense',
      (file: string) =>
        writeFileSync(file, '---\nid: [1]\nrefinement_count: -1\nresets: 3\nplan_complete: maybe\n---\n'),
      /id is no text; refinement_count is no count; plan_complete is neither true nor false; resets is no list/,
    ],
    [
      'has a limit that is none',
      (file: string) => writeFileSync(file, '---\nmax_refinement_attempts: many\n---\n'),
      /no count/,
    ],
    [
      'is a folder',
      (file: string) => {
        rmSync(file);
        mkdirSync(file);
      },
      /it is no file/,
    ],
  ])('R6: one that %s at first is asked about, and read again', async (_, spoil, problem) => {
    const log = temporaryFile();
    const story = storyFile(log, 'a', STORY);
    spoil(story);
    const { run, runtime, ...played } = await play({ file: log, stories: [story, { id: 'b' }] });
    await run.settled();
    const [question] = await runtime.questions();
    expect(question?.text).toMatch(problem);
    rmSync(story, { recursive: true, force: true });
    writeFileSync(story, STORY);
    await runtime.answer(question?.id ?? '', 'retry');
    expect((await run.result()).verdict).toBe('verified');
    const { stories } = await reread({ ...played, runtime });
    expect(stories['b']?.verdict).toBe('verified');
    expect(textOf(story)).toContain('status: done');
  });

  it('R6: one that is broken, or gone, while its story is worked on is left alone and reported; the story goes on', async () => {
    const { run, story, runtime, rolesCalled, ...played } = await playFile(STORY, {
      options: { mode: 'manual' },
    });
    const next = async () => {
      await run.send({ type: 'stories.next' });
      await run.settled();
    };
    await next();
    const broken = '---\ntitle: [half\n---\nin the middle of an edit';
    writeFileSync(story, broken);
    await next();
    expect(textOf(story)).toBe(broken);
    rmSync(story);
    await next();
    expect(() => statSync(story)).toThrow();
    writeFileSync(story, STORY);
    await next();
    await next();
    expect(rolesCalled()).toEqual(['research', 'plan', 'implement', 'review', 'create-pr']);
    const { events } = await reread({ ...played, runtime });
    expect(factsIn(events, 'story.conflict').map(({ reason, theirs }) => [reason, theirs])).toEqual([
      [expect.stringContaining('no YAML'), broken],
      ['there is no such file', null],
      // Back without our fields.
      [null, STORY],
    ]);
    expect(frontmatterOf(story)).toMatchObject({ status: 'done', implement_complete: true });
  });

  it('R6: one that cannot be written is reported, and nothing of it is touched', async () => {
    const { run, story, runtime, ...played } = await playFile(STORY, { options: { mode: 'manual' } });
    await run.settled();
    // A folder in the place where the new file is made ready.
    const draft = join(dirname(story), '.a.md.loopwright-new');
    mkdirSync(join(draft, 'x'), { recursive: true });
    await run.send({ type: 'stories.next' });
    await run.settled();
    expect(textOf(story)).toContain('status: ready');
    rmSync(draft, { recursive: true });
    await run.send({ type: 'stories.mode', mode: 'auto' });
    expect((await run.result()).verdict).toBe('verified');
    const { events } = await reread({ ...played, runtime });
    expect(factsIn(events, 'story.unwritten').length).toBeGreaterThan(0);
    expect(textOf(story)).toContain('status: done');
  });

  it('R6: a link stays a link, and the mode of the file stays', async () => {
    const log = temporaryFile();
    const target = storyFile(log, 'target', STORY);
    const { chmodSync } = await import('node:fs');
    chmodSync(target, 0o664);
    const story = join(dirname(log), 'a.md');
    symlinkSync(target, story);
    const { run } = await play({ file: log, stories: [story] });
    await run.result();
    expect(statSync(target).mode & 0o777).toBe(0o664);
    expect(textOf(target)).toContain('status: done');
    const { lstatSync } = await import('node:fs');
    expect(lstatSync(story).isSymbolicLink()).toBe(true);
  });
});

describe('a file that two write', () => {
  const own = (count: number) => ({ fields: { id: 'a', refinement_count: count }, earlier: '', notes: [] });
  const looked = (file: string, count: number) => {
    const look = lookAt({ file, key: 'a', seen: null, own: own(count), last: null });
    if (look.kind !== 'found' || look.intended === null) throw new Error('It is not to be written.');
    return { file, key: 'a', own: own(count), base: look.hash, intended: look.intended };
  };

  it('R6: is not written if it is no longer the one that was looked at, and once only if it is', () => {
    const file = storyFile(temporaryFile(), 'a', STORY);
    const input = looked(file, 1);
    edit(file, (text) => `${text}more\n`);
    expect(writeTo(input)).toEqual({ kind: 'changed' });
    expect(textOf(file)).toBe(`${STORY}more\n`);
    const again = looked(file, 1);
    expect(writeTo(again)).toMatchObject({ kind: 'written', fields: { refinement_count: 1 } });
    const { mtimeMs } = statSync(file);
    // Killed before it was told that it is done: it is done still.
    expect(writeTo(again)).toMatchObject({ kind: 'written' });
    expect(statSync(file).mtimeMs).toBe(mtimeMs);
  });

  it('R6: what was written into the old file while the new one took its place comes back', () => {
    const file = storyFile(temporaryFile(), 'a', STORY);
    const input = looked(file, 1);
    expect(writeTo(input)).toMatchObject({ kind: 'written' });
    // As a process that was killed just then leaves it: somebody had the old file open.
    const kept = join(dirname(file), '.a.md.loopwright-kept');
    writeFileSync(kept, `${STORY}typed in the last moment\n`);
    expect(writeTo(input)).toEqual({ kind: 'changed' });
    expect(textOf(file)).toBe(`${STORY}typed in the last moment\n`);
    expect(() => statSync(kept)).toThrow();
  });

  // Method: between any two commits somebody edits the file, in place or by renaming, in words that can be told apart: in their
  // own part, and in ours. Whatever was in ours must be reported before it is gone; what was in theirs is never gone.
  it.each(Array.from({ length: rounds(2, 100) }, (_, seed) => seed + 1))(
    'R6: edited by hand at 50 random moments nothing of the author’s is lost, and each conflict is reported (seed %i)',
    async (seed) => {
      const log = temporaryFile();
      const files = ['a', 'b', 'c'].map((name) => storyFile(log, name, STORY));
      const rejected = rejectFor('design');
      const played = await play({
        file: log,
        stories: files,
        options: { refinement: { escalateOnMaxAttempts: 'skip' } },
        agents: { review: saying(rejected, rejectFor('code'), rejectFor('requirements'), rejected) },
      });
      const edits: { readonly file: string; readonly word: string; readonly isOurs: boolean }[] = [];
      const { below: random } = createRandom(seed);
      const change = (): void => {
        const file = files[random(files.length)] ?? '';
        const word = `word${edits.length}`;
        const text = textOf(file);
        const kind = random(6);
        const changes = [
          () => text.replace('owner: ada', `owner: ada\n${word}: ${word}`),
          () => text.replace('Rows as CSV', `${word} Rows as CSV`),
          () => `${text}\n${word}\n`,
          // Ours, from here on.
          () => text.replace('<!-- /loopwright:notes -->', `${word}\n<!-- /loopwright:notes -->`),
          () => text.replace(/^status: (.*)$/m, `status: $1-${word}`),
          () =>
            /^last_error:/m.test(text)
              ? text.replace(/^last_error: /m, `last_error: ${word} `)
              : text.replace('owner: ada', `owner: ada\nlast_error: ${word}`),
        ];
        const next = changes[kind]?.() ?? text;
        if (next === text) return;
        const isOurs = kind >= 3;
        if (random(2) === 0) writeFileSync(file, next);
        else {
          writeFileSync(`${file}.edit`, next);
          renameSync(`${file}.edit`, file);
        }
        edits.push({ file, word, isOurs });
      };
      let events = 0;
      let nextAt = 5;
      played.runtime.events$.subscribe(() => {
        events += 1;
        if (events < nextAt || edits.length >= 50) return;
        nextAt = events + 1 + random(14);
        change();
      });
      expect((await played.run.result()).verdict).toBe('exhausted');
      expect(edits.length).toBe(50);
      const { events: all, second } = await reread(played);
      expect(second).toBeDefined();
      const reports = factsIn(all, 'story.conflict');
      const reported = reports.map(({ theirs }) => (typeof theirs === 'string' ? theirs : '')).join('\n');
      for (const { file, word, isOurs } of edits) {
        const whole = new RegExp(`\\b${word}\\b`);
        if (isOurs) expect(whole.test(textOf(file)) || whole.test(reported)).toBe(true);
        else expect([word, textOf(file)]).toEqual([word, expect.stringMatching(whole)]);
      }
      expect(edits.filter(({ isOurs }) => isOurs).length).toBeGreaterThan(5);
      expect(reports.length).toBeGreaterThan(2);
      for (const { reason } of reports) expect(reason).toBeNull();
      for (const file of files)
        expect(frontmatterOf(file)).toMatchObject({ status: 'skipped', refinement_count: 3, owner: 'ada' });
    },
  );
});
