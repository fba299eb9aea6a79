import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createRedactor,
  detectImport,
  type FeedbackRow,
  formatFeedback,
  IMPORT_LIMITS,
  type ImportFormat,
  parseWorkflowFile,
  type ReadImport,
  readImport,
  readSettingsFile,
  readStoryFiles,
  workflowText,
} from '../../src/index.ts';
import { rounds } from '../support/runtimes.ts';

const LINE = {
  type: 'FEEDBACK',
  from_node: 'test-payment-model',
  to_node: 'create-payment-model',
  feedback_type: 'FIX_REQUEST',
  message: 'PaymentSpec:42 - the email may be empty',
  suggested_fix: 'validate that it is there',
  priority: 'high',
  artifacts: ['spec/models/payment_spec.rb:42'],
  timestamp: '2026-01-21T14:00:00Z',
  status: 'queued',
  round: 1,
};

const PROGRESS = {
  feedback_loop: {
    enabled: true,
    current_iteration: 2,
    max_iterations: 5,
    status: 'in_progress',
    consecutive_review_failures: 0,
    consecutive_test_failures: 1,
    iterations: [
      {
        number: 1,
        implementation: 'made the filter',
        review_result: 'PASS',
        test_result: 'FAIL',
        test_failures: ['Filter.test.tsx:45 - missing mock'],
      },
    ],
  },
};

const STORY = `---
id: story-abc123
title: Complex Feature
max_refinement_attempts: 5
refinement_count: 2
research_complete: true
refinement_iterations:
  - iteration: 1
    agentType: implement
    startedAt: "2024-01-09T10:30:00Z"
    reviewFeedback: "Review failed: 1 blocker(s), 2 critical"
    result: failed
---
# Complex Feature
`;

const SETTINGS = {
  refinement: { maxIterations: 3, escalateOnMaxAttempts: 'manual', enableCircuitBreaker: true },
  max_feedback_iterations: 5,
};

const placesOf = ({ accepted, refused }: Pick<ReadImport, 'accepted' | 'refused'>): readonly string[] => [
  ...accepted.map(({ place }) => place),
  ...refused.map(({ place }) => place),
];

const readAs = (format: ImportFormat, text: string): ReadImport => {
  const read = readImport(text, { format });
  if (!read) throw new Error('Nothing was read.');
  return read;
};

describe('files of other systems', () => {
  it.each([
    ['feedback', `${JSON.stringify(LINE)}\n`, 1],
    ['progress', JSON.stringify(PROGRESS, undefined, 2), 7],
    ['stories', STORY, 1],
    ['settings', JSON.stringify(SETTINGS), 4],
  ] as const)('X11: %s is known by its content, and all of it is taken', (format, text, rows) => {
    expect(detectImport(text)).toBe(format);
    expect(detectImport(`\uFEFF${text}`)).toBe(format);
    const read = readImport(text);
    expect(read?.refused).toEqual([]);
    expect(read?.accepted).toHaveLength(rows);
    expect(read?.notes).toEqual([]);
  });

  it.each(['', ' ', '{}', '[]', 'hello', '%PDF-1.4', 'null', '"feedback"'])(
    'X11: %j is none of them',
    (text) => {
      expect(readImport(text)).toBeNull();
    },
  );

  it('X11: each line of feedback that is refused is named with everything that is wrong', () => {
    const lines = [
      LINE,
      { ...LINE, priority: 'urgent', message: '' },
      'no json {',
      { ...LINE, caused_by: 'FB-9' },
      { ...LINE, type: 'xstate.done.actor.x' },
      { ...LINE, from_node: 'lw.started' },
      { ...LINE, extra: 1 },
    ];
    const read = readImport(
      lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n'),
    );
    expect(read?.accepted.map(({ place }) => place)).toEqual(['line 1', 'line 7']);
    expect(read?.refused.map(({ place, reason }) => [place, reason])).toEqual([
      ['line 2', expect.stringMatching(/"message" is missing.*"priority" is "urgent"/)],
      ['line 3', expect.stringContaining('not JSON')],
      ['line 4', expect.stringContaining('"caused_by" is "FB-9"')],
      ['line 5', expect.stringContaining('"type" begins like')],
      ['line 6', expect.stringContaining('"from_node" begins like')],
    ]);
    expect(read?.notes).toEqual(['line 7: "extra" left out']);
  });

  it.each([
    [{ review_result: 'FAIL', test_result: 'PASS' }, 'although its review had failed'],
    [{ review_result: 'PASS' }, 'not finished'],
    [{ review_result: 'MAYBE', test_result: 'PASS' }, '"review_result" is none of'],
    [{ review_result: 'PASS', test_result: 'PASS', test_failures: ['a'] }, 'says what failed'],
    [{ number: 0, review_result: 'FAIL' }, '"number" is not an integer'],
    [{ review_result: 'FAIL', status: 'IMPLEMENTATION_VERIFIED' }, 'its checks did not pass'],
    [null, 'not an object'],
  ])('X11: the iteration %j of a progress file is refused', (iteration, reason) => {
    const read = readAs('progress', JSON.stringify({ feedback_loop: { iterations: [iteration] } }));
    expect(read.accepted).toEqual([]);
    expect(read.refused).toEqual([
      {
        place: 'feedback_loop.iterations[0]',
        reason: expect.stringContaining(reason),
        text: expect.any(String),
      },
    ]);
  });

  it.each(['accepted', 'cancelled'])('X11: a loop that was %s is not taken up again', (status) => {
    const { feedback_loop: loop } = PROGRESS;
    const read = readAs('progress', JSON.stringify({ feedback_loop: { ...loop, status } }));
    expect(read.accepted).toEqual([]);
    expect(read.refused).toHaveLength(7);
  });

  it('X11: stories are refused by file, each with its reason', () => {
    const read = readStoryFiles([
      { path: 'stories/good.md', text: STORY },
      { path: 'other/good.md', text: STORY },
      { path: 'stories/plain.md', text: '# no frontmatter' },
      { path: 'stories/open.md', text: '---\nid: 1\n' },
      { path: 'stories/count.md', text: '---\nrefinement_count: many\n---\n' },
      { path: 'stories/limit.md', text: '---\nmax_refinement_attempts: -1\n---\n' },
      { path: 'stories/link.md', problem: 'it is a symbolic link' },
      { path: 'stories/lw.x.md', text: '---\ntitle: x\n---\n' },
    ]);
    expect(read.accepted).toEqual([
      { place: 'stories/good.md', text: 'Complex Feature: research complete, refined 2 times' },
    ]);
    expect(read.refused.map(({ place, reason }) => [place, reason])).toEqual([
      ['other/good.md', '"stories/good.md" has the same name'],
      ['stories/plain.md', expect.stringContaining('no frontmatter')],
      ['stories/open.md', expect.stringContaining('not closed')],
      ['stories/count.md', expect.stringContaining('refinement_count is no count')],
      ['stories/limit.md', expect.stringContaining('max_refinement_attempts is -1')],
      ['stories/link.md', 'it is a symbolic link'],
      ['stories/lw.x.md', expect.stringContaining('begins like a name of the runtime')],
    ]);
  });

  it('X11: settings have their names here, and those that there are not are refused', () => {
    const read = readSettingsFile(
      JSON.stringify({
        ...SETTINGS,
        max_consecutive_review_failures: 2,
        guards: { max_consecutive_test_failures: 4 },
        max_refinement_attempts: 9,
        theme: { dark: true },
        empty: {},
      }),
    );
    expect(read.settings).toEqual({
      stories: { refinement: SETTINGS.refinement },
      tight: { maxIterations: 5, limits: { sameIssue: 2, sameFailure: 4 } },
    });
    expect(read.refused.map(({ place, reason }) => [place, reason])).toEqual([
      ['max_refinement_attempts', 'it was 3 before, under another name'],
      ['theme.dark', 'no setting of a loop has this name'],
      ['empty', 'no setting of a loop has this name'],
    ]);
    const off = readSettingsFile(JSON.stringify({ refinement: { enableCircuitBreaker: false } }));
    expect(off.refused).toEqual([
      expect.objectContaining({
        place: 'refinement.enableCircuitBreaker',
        reason: expect.stringContaining('reason'),
      }),
    ]);
  });

  it('S12: no secret is in what is shown of a row, wherever it is cut', () => {
    const token = `ghp_${'a1B2'.repeat(10)}`;
    const redactor = createRedactor({ values: ['hunter2-hunter2'] });
    for (const before of [0, 60, 100, 110, 118]) {
      const text = `{"from_node": "${'x'.repeat(before)} ${token} hunter2-hunter2"`;
      const shown = JSON.stringify(readImport(text, { format: 'feedback', redactor }));
      expect(shown).not.toContain('ghp_a');
      expect(shown).not.toContain('hunter2');
    }
  });
});

const ROW_MAX = 5_000_000;

// Method: whatever a file has in it, reading it gives each of its rows once, by its place. Rows are counted without the readers.
describe('any file', () => {
  const anyJson = fc.jsonValue({ depthSize: 'small' });
  const anyRow = fc.oneof(
    { weight: 4, arbitrary: fc.record({}, { requiredKeys: [] }).chain(() => fc.object()) },
    { weight: 3, arbitrary: changed(LINE) },
    { weight: 1, arbitrary: anyJson },
  );
  const anyLine = fc.oneof(
    { weight: 4, arbitrary: anyRow.map((row) => JSON.stringify(row) ?? '') },
    { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
    {
      weight: 1,
      arbitrary: fc.constantFrom('{"__proto__":{"x":1}}', '['.repeat(10_000), '\u001b[31m', '\ud800', ''),
    },
  );

  it('X11, S14, S17: every line of a feedback file is accepted or refused, wherever it is cut', () => {
    fc.assert(
      fc.property(fc.array(anyLine, { maxLength: 8 }), fc.nat(ROW_MAX), (lines, cut) => {
        const whole = lines.join('\n');
        for (const text of [whole, whole.slice(0, cut % (whole.length + 1))]) {
          const there = text
            .replace(/^\uFEFF/, '')
            .split('\n')
            .flatMap((line, index) => (line.trim() === '' ? [] : [`line ${index + 1}`]));
          const read = readAs('feedback', text);
          expect([...placesOf(read)].sort()).toEqual(there.sort());
          detectImport(text);
        }
      }),
      { numRuns: rounds(300, 5_000) },
    );
  });

  it('X11: every iteration and member of a progress file, and every value of settings', () => {
    const anyIteration = fc.oneof(changed(PROGRESS.feedback_loop.iterations[0] ?? {}), anyJson);
    const anyLoop = fc
      .tuple(changed(PROGRESS.feedback_loop), fc.array(anyIteration, { maxLength: 6 }))
      .map(([loop, iterations]) => ({ ...loop, iterations }));
    fc.assert(
      fc.property(anyLoop, (loop) => {
        // What JSON has no word for is gone from the file.
        const text = JSON.stringify({ feedback_loop: loop });
        // A name that reaches a prototype anywhere in it, and the file is refused as a whole.
        fc.pre(!/"(?:__proto__|constructor|prototype)":/.test(text));
        const { feedback_loop: there } = JSON.parse(text) as { feedback_loop: Record<string, unknown> };
        const { iterations, ...members } = there;
        const read = readAs('progress', text);
        const rows = [
          ...Object.keys(members).map((name) => `feedback_loop.${name}`),
          ...(iterations as unknown[]).map((_, index) => `feedback_loop.iterations[${index}]`),
        ];
        expect([...placesOf(read)].sort()).toEqual(rows.sort());
        const { accepted, refused } = readAs('settings', text);
        expect(accepted.length + refused.length).toBe(leaves(there));
      }),
      { numRuns: rounds(300, 5_000) },
    );
  });

  it('X11: every story, whatever is in its file, cut anywhere', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.nat(STORY.length), (text, cut) => {
        const files = [
          { path: 'a.md', text },
          { path: 'b.md', text: STORY.slice(0, cut) },
          { path: 'c.md', text: `${STORY.slice(0, cut)}${text}${STORY.slice(cut)}` },
        ];
        expect([...placesOf(readStoryFiles(files))].sort()).toEqual(['a.md', 'b.md', 'c.md']);
      }),
      { numRuns: rounds(300, 5_000) },
    );
  });

  it('X11: what is right is taken, all of it, as it was: feedback, settings, stories', () => {
    const text = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 30 })
      .filter((each) => each.trim() !== '');
    const anyRows = fc
      .array(
        fc.record({
          message: text,
          suggested_fix: text,
          priority: fc.constantFrom('critical', 'high', 'medium', 'low'),
          status: fc.constantFrom('queued', 'delivered', 'resolved', 'failed'),
          round: fc.integer({ min: 1, max: 2 }),
        }),
        { maxLength: 5 },
      )
      .map((rows) =>
        rows.map((row, index) => ({ ...LINE, ...row, feedback_id: `F-${index}` }) as FeedbackRow),
      );
    const anySettings = fc.record(
      {
        maxIterations: fc.nat(20),
        escalateOnMaxAttempts: fc.constantFrom('manual', 'error', 'skip'),
        enableCircuitBreaker: fc.constant(true),
      },
      { requiredKeys: ['maxIterations'] },
    );
    fc.assert(
      fc.property(anyRows, anySettings, text, (rows, refinement, title) => {
        const read = readAs('feedback', formatFeedback(rows));
        expect(read.refused).toEqual([]);
        expect(read.format === 'feedback' && read.rows.map(({ row }) => row)).toEqual(rows);
        const settings = readSettingsFile(JSON.stringify({ refinement }));
        expect([settings.settings, settings.refused]).toEqual([{ stories: { refinement } }, []]);
        const file = parseWorkflowFile(workflowText(settings, 'stories'), { path: 'stories.yaml' });
        expect(file.definition['refinement']).toEqual(refinement);
        const story = readStoryFiles([{ path: 'a.md', text: `---\ntitle: ${JSON.stringify(title)}\n---\n` }]);
        expect(story.refused).toEqual([]);
      }),
      { numRuns: rounds(100, 2_000) },
    );
  });

  it('S14: rows that are huge or deep, and too many of them, are refused and not read', () => {
    const huge = JSON.stringify({ ...LINE, message: 'x'.repeat(IMPORT_LIMITS.row) });
    const deep = JSON.stringify({ ...LINE, message: 1 }).replace(
      ':1',
      `:${'['.repeat(500_000)}${']'.repeat(500_000)}`,
    );
    const read = readAs('feedback', [huge, deep, JSON.stringify(LINE)].join('\n'));
    expect(read.accepted.map(({ place }) => place)).toEqual(['line 3']);
    expect(read.refused.every(({ text }) => text.length <= 121)).toBe(true);
    const many = readAs('feedback', `${JSON.stringify(LINE)}\n`.repeat(IMPORT_LIMITS.rows + 2));
    expect(many.accepted).toHaveLength(IMPORT_LIMITS.rows);
    expect(many.refused).toHaveLength(2);
    const long = readAs('progress', `{"feedback_loop":{"status":"${'x'.repeat(5_000_000)}`);
    expect(long.refused).toEqual([expect.objectContaining({ place: 'the file' })]);
    for (const format of ['progress', 'settings'] as const) {
      const { refused } = readAs(format, '{"a":'.repeat(200_000));
      expect(refused).toEqual([expect.objectContaining({ place: 'the file' })]);
    }
    expect(Object.prototype).not.toHaveProperty('x');
  });
});

/** An object of which some members are something else, or not there. */
function changed(like: object): fc.Arbitrary<Record<string, unknown>> {
  const members = Object.entries(like).map(
    ([name, value]) =>
      [
        name,
        fc.oneof(
          { weight: 5, arbitrary: fc.constant<unknown>(value) },
          { weight: 1, arbitrary: fc.jsonValue() },
        ),
      ] as const,
  );
  return fc.record(Object.fromEntries(members), { requiredKeys: [] });
}

/** How many values there are in it that are no objects with members. */
function leaves(value: unknown): number {
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const members = isObject ? Object.values(value) : [];
  return members.length === 0 ? 1 : members.reduce<number>((sum, member) => sum + leaves(member), 0);
}
