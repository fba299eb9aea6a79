import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import {
  type FileProblem,
  isRuntimeError,
  parseWorkflowFile,
  readWorkflowFile,
  type WorkflowFile,
} from '../../src/index.ts';
import { refusal, rounds } from '../support/runtimes.ts';
import { exampleText } from './examples.ts';

const problemsOf = (text: string, path = 'w.yaml'): readonly FileProblem[] => {
  try {
    parseWorkflowFile(text, { path });
    return [];
  } catch (error) {
    if (!isRuntimeError(error, 'BAD_WORKFLOW_FILE')) throw error;
    return error.fields.problems;
  }
};

/** As they are printed, without the name of the file. */
const linesOf = (text: string): readonly string[] =>
  problemsOf(text).map(
    ({ line, column, path, problem, allowed }) =>
      `${line}:${column} ${path}: ${problem}${allowed === null ? '' : ` (${allowed})`}`,
  );

const tight = exampleText('tight');
const plan = exampleText('plan');
const instead = (text: string, before: string, after: string): string => {
  expect(text).toContain(before);
  return text.replace(before, () => after);
};

it.each<[string, string, readonly (string | RegExp)[]]>([
  ['nothing', '', [/^1:1 : it is empty \(a mapping with `loop` and `agents`\)/]],
  ['a list', '- a', [/^1:1 : found a list/]],
  ['a text that ends too early', 'loop: [', [/^1:8 : Flow sequence/]],
  ['no loop', 'agents: {}', [/^1:1 loop: "loop" is missing \(tight, plan, stories, phases, tree, repeat\)/]],
  [
    'another loop',
    instead(tight, 'loop: tight', 'loop: tigth'),
    [/^4:7 loop: found "tigth": did you mean "tight"\?/],
  ],
  [
    'a key that is there twice',
    instead(tight, 'onLimit: stop', 'onLimit: stop\nloop: plan'),
    ['7:1 loop: "loop" is there twice (each key once)'],
  ],
  [
    'keys that there are not',
    instead(tight, 'maxIterations: 5', 'maxIteration: 5\nlimits: { pases: 3 }'),
    [
      /^6:11 limits.pases: there is no "pases" here: did you mean "passes"\? \(passes, /,
      /^5:1 maxIteration: .*did you mean "maxIterations"\?/,
    ],
  ],
  [
    'values of another type, all at once',
    instead(
      tight,
      'maxIterations: 5',
      'maxIterations: many\nonLimit: go\nask: { to: me }\nrepeat: often',
    ).replace('\nonLimit: stop', ''),
    [
      '5:16 maxIterations: found "many" (a number from 0)',
      '8:9 repeat: found "often" (true or false or a number from 0)',
      '6:10 onLimit: found "go" ("ask" or "stop")',
      '7:6 ask: found a mapping (a list)',
    ],
  ],
  [
    'a number below what it may be',
    instead(plan, 'rule: any-blocker', 'rule: { quorum: 0 }'),
    ['13:59 steps[2].gate.rule.quorum: found 0 (an integer from 1)'],
  ],
  [
    'an agent of no kind',
    instead(tight, '  tester:\n    script:', '  tester:\n    scrpt:'),
    [/^21:5 agents.tester.scrpt: .*did you mean "script"\?/],
  ],
  [
    'an agent of two kinds',
    instead(tight, '  tester:\n    script:', '  tester:\n    command: [a]\n    script:'),
    [/^2[12]:5 agents.tester.(?:command|script): there is no "(?:command|script)" here/],
  ],
  [
    'a missing agent',
    tight.slice(0, tight.indexOf('  tester:')),
    ['8:1 agents: there is no agent "tester" (developer, reviewer: describe it under `agents`)'],
  ],
  [
    'an agent that nothing names',
    instead(tight, '  tester:', '  spare: { script: [] }\n  tester:'),
    ['20:3 agents.spare: nothing in this workflow names this agent (developer, reviewer, tester)'],
  ],
  [
    'a step of an agent that is not there',
    instead(plan, 'reviewers: [security, style]', 'reviewers: [security, speed]'),
    [/^13:35 steps\[2\].gate.reviewers\[1\]: there is no agent "speed"/, /agents.style: nothing/],
  ],
  [
    'a step that needs what is not there',
    instead(plan, 'needs: [design]', 'needs: [desing]'),
    [
      '10:43 steps[1].needs[0]: step "code" needs "desing", which is neither a step nor a group (design, code, review, same-database)',
    ],
  ],
  [
    'steps that wait for each other',
    instead(plan, '{ id: design, agent: architect }', '{ id: design, agent: architect, needs: [code] }'),
    [/^9:5 steps\[0\]: the steps design, code, .* wait for each other/],
  ],
  [
    'X8: a loop without a bound',
    instead(tight, 'maxIterations: 5', 'limits: { passes: null }'),
    [/^5:19 limits.passes: "limits.passes" is no bound \(a number, or `unbounded` with the reason/],
  ],
  [
    'X8: stories without a bound',
    instead(exampleText('stories'), 'maxIterations: 3', 'enableCircuitBreaker: false'),
    [/^8:25 refinement.enableCircuitBreaker: .*`limits.unbounded`/],
  ],
  [
    'a name that reaches a prototype',
    instead(tight, 'agents:', 'agents:\n  __proto__: { script: [] }'),
    ['9:3 agents.__proto__: no member may have this name'],
  ],
  [
    'a number that JSON has not',
    instead(tight, 'maxIterations: 5', 'maxIterations: .inf'),
    [/^5:16 maxIterations: JSON has no such value/],
  ],
  ['a key that is no text', `${tight}\n? [a]\n: b`, [/a key is not a text/]],
  [
    "a person in a loop without a person's role",
    instead(
      tight,
      '  tester:\n    script:',
      '  tester:\n    person: { text: Does it work? }\n  # script:',
    ).replace(/ {6}- passed: false\n {8}failures[^]*$/, ''),
    [/^21:5 agents.tester.person: no role of a tight loop can be a person's/],
  ],
  [
    'a line of a script that says too much',
    instead(tight, '- { passed: true }', '- { loopwright: 1, output: 1, more: 2 }'),
    [/^24:9 agents.tester.script\[1\]: its answer has a member "more"/],
  ],
  [
    "a variable that is not the user's to set",
    instead(
      tight,
      '  tester:\n    script:',
      '  tester:\n    command: [a]\n    env: { "A=B": x }\n    input: text\n  # script:',
    ).replace(/ {6}- passed: false\n {8}failures[^]*$/, ''),
    [/^22:10 agents.tester.env: "env" is/],
  ],
  [
    'an input without a task',
    instead(exampleText('tree'), 'input: { task: Take payments }', 'input: Take payments'),
    [/^6:8 input: .*without a task/],
  ],
])('it is refused where it stands: %s', (_what, text, expected) => {
  const lines = linesOf(text);
  expect(lines).toEqual(
    expected.map((each) => (typeof each === 'string' ? each : expect.stringMatching(each))),
  );
});

it('the error shows every problem with file, line and column, and says what to do', () => {
  const text = instead(tight, 'maxIterations: 5', 'maxIterations: many\nlimit: 3');
  expect(() => parseWorkflowFile(text, { path: 'loops/w.yaml' })).toThrow(
    /^The workflow file "loops\/w.yaml" cannot be used:\n {2}loops\/w.yaml:5:16 maxIterations: found "many" \(allowed: a number from 0\)\n {2}loops\/w.yaml:6:1 limit: there is no "limit" here: did you mean "limits"\?[^]* Mend these places/,
  );
});

it('what a file says is shown so that it cannot mislead, and what may be secret is not shown', () => {
  const evil = '\\e[2J\\r\\u202eok';
  const text = instead(
    tight,
    'maxIterations: 5',
    `? "${evil}${'x'.repeat(5_000)}"\n: 1\nsecrets: { values: [abc], names: [""] }`,
  );
  const lines = linesOf(text).join('\n');
  expect(lines).toContain('there is no "\\u{1b}[2J\\u{d}\\u{202e}okxxx');
  expect(lines).toContain(
    'secrets.values[0]: found a text that is not shown (a text of 4 characters or more)',
  );
  expect(lines).not.toMatch(/abc/);
  expect(lines.length).toBeLessThan(5_000);
});

const folder = () => mkdtempSync(join(tmpdir(), 'loopwright-files-'));

it('a file that cannot be read is refused with the reason', async () => {
  const place = folder();
  const write = (name: string, content: string | Buffer): string => {
    writeFileSync(join(place, name), content);
    return join(place, name);
  };
  execFileSync('/usr/bin/env', ['mkfifo', join(place, 'pipe')]);
  const cases: readonly (readonly [string, Partial<FileProblem>])[] = [
    [join(place, 'none.yaml'), { line: null, problem: 'there is no such file' }],
    [join(place, 'none', 'none.yaml'), { problem: 'there is no such file' }],
    [place, { problem: 'it is a directory' }],
    [join(place, 'pipe'), { problem: 'it is no plain file' }],
    [
      write('latin.yaml', Buffer.concat([Buffer.from('loop: tight\n# caf'), Buffer.from([0xe9, 10])])),
      { line: 2, column: 1, problem: 'this line is not UTF-8' },
    ],
    [
      write('large.yaml', `${tight}#${'x'.repeat(1024 * 1024)}`),
      { problem: 'it is larger than 1048576 bytes' },
    ],
  ];
  for (const [path, problem] of cases) {
    const { fields } = await refusal(readWorkflowFile(path), 'BAD_WORKFLOW_FILE');
    expect(fields).toMatchObject({ file: path, problems: [problem] });
  }
  await expect(readWorkflowFile(write('bom.yaml', `\ufeff${tight}`))).resolves.toMatchObject({
    loop: 'tight',
  });
});

// Method: paths of any segments, links that lead out among them. What is accepted must lie in the folder.
it('S13: no path of a story leads out of the folder of its file, by ".." or through a link', () => {
  const place = folder();
  mkdirSync(join(place, 'inside', 'a'), { recursive: true });
  symlinkSync('/etc', join(place, 'inside', 'link'));
  symlinkSync('..', join(place, 'inside', 'up'));
  symlinkSync('a', join(place, 'inside', 'near'));
  writeFileSync(join(place, 'inside', 'story.md'), '');
  const segment = fc.constantFrom(
    '..',
    '.',
    'a',
    'link',
    'up',
    'near',
    'story.md',
    '%2e%2e',
    '...',
    '~',
    '\\..',
  );
  const anyPath = fc
    .tuple(
      fc.constantFrom('', '/', './', '/etc/', `${place}/`, `${place}/inside/`),
      fc.array(segment, { minLength: 1, maxLength: 6 }),
    )
    .map(([start, segments]) => start + segments.join('/'));
  const read = (path: string): WorkflowFile | undefined => {
    const text = instead(
      exampleText('stories'),
      '    - { id: sign-in, title: People can sign in, body: With a name and a password. }',
      `    - ${JSON.stringify(path)}`,
    );
    const file = join(place, 'inside', 'w.yaml');
    return problemsOf(text, file).length === 0 ? parseWorkflowFile(text, { path: file }) : undefined;
  };
  let accepted = 0;
  fc.assert(
    fc.property(anyPath, (path) => {
      const { stories = [] } = (read(path)?.input ?? {}) as { stories?: readonly string[] };
      for (const story of stories) {
        accepted += 1;
        expect(story.startsWith(`${place}/inside/`)).toBe(true);
        const real = realOf(story);
        expect(real === undefined || real.startsWith(`${realOf(place)}/inside/`)).toBe(true);
      }
    }),
    { numRuns: rounds(300, 3_000) },
  );
  expect(accepted).toBeGreaterThan(5);
  for (const path of [
    '../story.md',
    '/etc/passwd',
    'link/passwd',
    'up/story.md',
    'a/../../x.md',
    'link/../../x.md',
  ])
    expect(read(path), path).toBeUndefined();
});

const realOf = (path: string): string | undefined => {
  try {
    return realpathSync(path);
  } catch {
    return undefined;
  }
};
