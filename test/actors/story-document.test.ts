import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parse, stringify } from 'yaml';
import {
  authorsPart,
  ownFields,
  readDocument,
  type StoryDocument,
  withOwnPart,
} from '../../src/actors/story-document.ts';
import type { Json, JsonObject } from '../../src/index.ts';
import type { OwnPart, StoryNote } from '../../src/machines/story-state.ts';
import { rounds } from '../support/runtimes.ts';

const read = (text: string): StoryDocument => {
  const document = readDocument(text);
  if ('problem' in document) throw new Error(document.problem);
  return document;
};

const joined = (text: string, own: OwnPart): string => {
  const next = withOwnPart(read(text), own, 'story');
  if (typeof next !== 'string') throw new Error(next.problem);
  return next;
};

const note: StoryNote = {
  kind: 'review',
  at: '2026-01-01T00:00:00.000Z',
  summary: 'Review failed: 1 critical',
  decision: 'rejected',
  issues: [{ severity: 'critical', category: 'code', description: 'bad\n<!-- /loopwright:notes -->\n---' }],
  feedback: '<!-- loopwright:notes -->\n# Heading',
};

const own = (fields: JsonObject = {}, notes: readonly StoryNote[] = []): OwnPart => ({
  fields: {
    id: 'story',
    status: 'plan',
    research_complete: true,
    plan_complete: false,
    implement_complete: false,
    refinement_count: 1,
    refinement_iterations: [
      { iteration: 1, agentType: 'plan', reviewFeedback: 'Review failed: 1 "x": y', result: 'failed' },
    ],
    review_history: null,
    resets: null,
    last_error: null,
    ...fields,
  },
  earlier: '',
  notes,
});

/** Texts that are awkward in YAML and Markdown. */
const anyText = fc.oneof(
  fc.constantFrom(
    'yes',
    '2026-01-01',
    'a: b',
    '- x',
    '# c',
    '"',
    "'",
    '|',
    '---',
    '1e3',
    'null',
    '~',
    '{',
    '%',
    '@',
    '\t',
  ),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
);
const anyValue: fc.Arbitrary<Json> = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3 },
    anyText,
    fc.boolean(),
    fc.integer(),
    fc.constant(null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.stringMatching(/^[a-z_]{1,8}$/), tie('value'), { maxKeys: 3 }),
  ),
})).value;

/** A field as people and tools write it: in blocks, in brackets, with comments behind it or above. */
const anyField = (name: fc.Arbitrary<string>, value: fc.Arbitrary<Json>) =>
  fc
    .record({
      name,
      value,
      flow: fc.boolean(),
      comment: fc.option(fc.stringMatching(/^[ a-z:#]{0,12}$/)),
      above: fc.option(fc.stringMatching(/^[ a-z:#]{0,12}$/)),
    })
    .map(({ name: key, value: given, flow, comment, above }) => {
      const field = flow
        ? `${key}: ${JSON.stringify(given)}`
        : stringify({ [key]: given }, { lineWidth: 0 }).trimEnd();
      const isOneLine = !field.includes('\n') && !/[|>]$/.test(field);
      const behind = comment !== null && isOneLine ? ` # ${comment}` : '';
      return { name: key, text: `${above === null ? '' : `# ${above}\n`}${field}${behind}` };
    });

const anyStory = fc
  .record({
    fields: fc.uniqueArray(
      fc.oneof(
        anyField(
          fc.stringMatching(/^[a-z][a-z-]{0,8}$/).filter((name) => name !== 'id'),
          anyValue,
        ),
        anyField(
          fc.constantFrom('id', 'status', 'last_error'),
          anyText.filter((text) => text !== ''),
        ),
        anyField(fc.constantFrom('refinement_count', 'max_refinement_attempts'), fc.nat({ max: 9 })),
        anyField(
          fc.constant('refinement_iterations'),
          fc.array(fc.dictionary(fc.constantFrom('a', 'b'), anyValue), { maxLength: 2 }),
        ),
      ),
      { selector: ({ name }) => name, maxLength: 8 },
    ),
    body: fc.array(
      fc.oneof(
        anyText,
        fc.constantFrom('', '# Title', '```', '<!-- loopwright:notes -->', '<!-- /loopwright:notes -->'),
      ),
      { maxLength: 8 },
    ),
    crlf: fc.boolean(),
    bom: fc.boolean(),
    hasFrontmatter: fc.boolean(),
  })
  .map(({ fields, body, crlf, bom, hasFrontmatter }) => {
    const head = hasFrontmatter ? `---\n${fields.map(({ text }) => `${text}\n`).join('')}---\n` : '';
    const text = `${bom ? '\uFEFF' : ''}${head}${body.join('\n')}`;
    return crlf ? text.replaceAll(/\r?\n/g, '\r\n') : text;
  });

const ofOthers = (text: string): JsonObject => {
  const { fields } = read(text);
  return Object.fromEntries(
    Object.entries(fields).filter(
      ([name]) => !Object.keys({ ...own().fields, max_refinement_attempts: 0 }).includes(name),
    ),
  );
};

const lines = (text: string): readonly string[] => text.split(/\r?\n/);

/** Whether all of these lines are in the text, in their order. */
const hasInOrder = (text: string, wanted: readonly string[]): boolean => {
  let next = 0;
  for (const line of lines(text)) if (line === wanted[next]) next += 1;
  return next === wanted.length;
};

describe('the file of a story', () => {
  it('R6: nothing of the author’s part is ever another, whatever the file looks like', () => {
    let merged = 0;
    fc.assert(
      fc.property(anyStory, fc.boolean(), (text, hasNotes) => {
        const document = readDocument(text);
        if ('problem' in document) return;
        const before = authorsPart(document, 'story');
        if ('problem' in before) return;
        const next = withOwnPart(document, own({}, hasNotes ? [note] : []), 'story');
        // What cannot be joined is left alone, which loses nothing; but it must not be the rule.
        if (typeof next !== 'string') return;
        merged += 1;
        const after = read(next);
        const { max: _, ...part } = authorsPart(after, 'story') as typeof before;
        const { max: __, ...was } = before;
        expect(part).toEqual(was);
        // Byte for byte: what was there outside of our fields and notes is there still.
        expect(next.startsWith(document.head)).toBe(true);
        expect(after.before.trimEnd().endsWith(document.before.replace(/^\uFEFF/, '').trimEnd())).toBe(true);
        if (document.notes !== null || !hasNotes) expect(after.after).toBe(document.after);
        else expect(after.after.trim()).toBe('');
        const kept = ofOthers(text);
        expect(ofOthers(next)).toEqual(Object.hasOwn(kept, 'title') ? kept : { title: part.title, ...kept });
        const comments = lines(document.yaml).filter((line) => line.startsWith('#'));
        expect(hasInOrder(next, comments)).toBe(true);
        const wanted = own().fields;
        for (const [name, value] of Object.entries(wanted)) expect(ownFields(after)[name]).toEqual(value);
      }),
      { numRuns: rounds(500, 20_000) },
    );
    expect(merged).toBeGreaterThan(300);
  });

  it('R6: writing the same once more changes nothing, and the last of several changes is what stands', () => {
    fc.assert(
      fc.property(anyStory, fc.nat({ max: 9 }), (text, count) => {
        const document = readDocument(text);
        if ('problem' in document) return;
        const once = withOwnPart(document, own({ refinement_count: count }, [note]), 'story');
        if (typeof once !== 'string') return;
        expect(joined(once, own({ refinement_count: count }, [note]))).toBe(once);
        const there = joined(once, own({ refinement_count: count + 1, last_error: 'x: y #z' }, [note, note]));
        expect(joined(there, own({ refinement_count: count }, [note]))).toBe(once);
      }),
      { numRuns: rounds(150, 5_000) },
    );
  });

  it('R6: what stands around our fields stays byte for byte', () => {
    const text = [
      '---',
      '# about it',
      "title: 'Export'   # short",
      'refinement_count: 0 # by hand',
      'tags: [a,',
      '   b]',
      'refinement_iterations: []',
      '',
      'text: |',
      '  one',
      '',
      '# the end',
      '---',
      'Body',
      '',
    ].join('\n');
    expect(joined(text, own({}, [])).split('\n')).toEqual([
      '---',
      '# about it',
      "title: 'Export'   # short",
      'refinement_count: 1 # by hand',
      'tags: [a,',
      '   b]',
      'refinement_iterations:',
      '  - iteration: 1',
      '    agentType: plan',
      `    reviewFeedback: 'Review failed: 1 "x": y'`,
      '    result: failed',
      '',
      'text: |',
      '  one',
      '',
      '# the end',
      'id: story',
      'status: plan',
      'research_complete: true',
      'plan_complete: false',
      'implement_complete: false',
      '---',
      'Body',
      '',
    ]);
  });

  it('R6: what agents say cannot end our section, begin a heading or a field', () => {
    const text = joined('---\nid: story\n---\nBody\n', own({}, [note]));
    const { notes, after, before } = read(text);
    expect(after.trim()).toBe('');
    expect(before).toBe('---\nBody\n\n');
    expect(notes?.split('\n').filter((line) => /^(?:#|<!--|---)/.test(line))).toEqual([
      '<!-- loopwright:notes -->',
      '## Notes of the reviews',
      '### Review of 2026-01-01T00:00:00.000Z',
      '<!-- /loopwright:notes -->',
    ]);
  });

  it('R6: text behind our section, a copy of it, and broken markers are the author’s', () => {
    const once = joined('---\nid: story\n---\nBody\n', own({}, [note]));
    const more = `${once.replace('Body', `Body\n${read(once).notes ?? ''}\n<!-- loopwright:notes -->\nhalf`)}\nMy remarks\n`;
    const next = joined(more, own({}, [note, note]));
    expect(next).toContain('half');
    expect(next).toContain('My remarks');
    // The copy is as it was; ours has two entries by now.
    expect(next.split('### Review of')).toHaveLength(1 + 1 + 2);
    expect(read(next).after).toBe('\n\nMy remarks\n');
  });

  it.each([
    ['no end of the frontmatter', '---\nid: a\nBody', /not closed/],
    ['no YAML', '---\nid: [a\n---\n', /no YAML/],
    ['a field twice', '---\nid: a\nid: b\n---\n', /no YAML/],
    ['a list', '---\n- a\n---\n', /no list of fields/],
    ['one pair of brackets', '---\n{ id: a }\n---\n', /brackets/],
  ])('R6: a file with %s is not touched', (_, text, problem) => {
    expect(readDocument(text)).toEqual({ problem: expect.stringMatching(problem) });
  });

  it('R6: values that the log cannot hold are the author’s alone, and stay in the file', () => {
    const text = '---\nodd: .nan\nbig: .inf\nconstructor: x\nnested: { __proto__: 1, y: 2 }\n---\n';
    const part = authorsPart(read(text), 'story');
    expect('problem' in part ? part : part.fields).toEqual({ odd: 'NaN', big: 'Infinity', nested: { y: 2 } });
    expect(joined(text, own())).toContain(
      'odd: .nan\nbig: .inf\nconstructor: x\nnested: { __proto__: 1, y: 2 }\n',
    );
  });

  it('R6: an anchor of ours that the author uses elsewhere keeps the file from being written', () => {
    const text = '---\nstatus: &s ready\ncopy: *s\n---\n';
    expect(withOwnPart(read(text), own(), 'story')).toEqual({ problem: expect.any(String) });
  });

  it('R6: other readers see the same values: texts that look like dates or numbers are quoted', () => {
    const fields = { last_error: '2026-01-01', status: 'no' };
    const text = joined('', own(fields));
    const yaml = text.split('---\n')[1] ?? '';
    expect(parse(yaml, { version: '1.1' })).toMatchObject(fields);
    expect(parse(yaml)).toMatchObject(fields);
  });
});
