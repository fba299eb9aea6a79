import { describe, expect, test } from 'vitest';
import { importsOf, lineAt, type SourceFile, sourceFile, sourceFilesIn } from './source-files.ts';

const FILE_LINES_MAX = 400;
const FUNCTION_LINES_MAX = 70;

/** Folders without clock, randomness and I/O: what they compute must come out the same on every replay. */
const PURE = /^src\/(?:events|machines|projections)\//;
const KEBAB_CASE = /^(?:[a-z0-9]+(?:-[a-z0-9]+)*\/)*[a-z0-9]+(?:-[a-z0-9]+)*\.ts$/;

interface Rule {
  readonly name: string;
  readonly only?: RegExp;
  /** The lines that break the rule. */
  readonly find: (file: SourceFile) => readonly number[];
}

const linesOf = (text: string): number => text.trimEnd().split('\n').length;

const matches = (text: string, pattern: RegExp): readonly number[] =>
  [...text.matchAll(pattern)].map(({ index }) => lineAt(text, index));

/** A rule on the code alone: comments and strings may say what they like. */
const ban = (name: string, pattern: RegExp, only?: RegExp): Rule => ({
  name,
  ...(only && { only }),
  find: ({ code }) => matches(code, pattern),
});

const RULES: readonly Rule[] = [
  {
    name: `a file has at most ${FILE_LINES_MAX} lines: split it`,
    find: ({ text }) => (linesOf(text) > FILE_LINES_MAX ? [FILE_LINES_MAX + 1] : []),
  },
  {
    name: `a function has at most ${FUNCTION_LINES_MAX} lines: split it`,
    find: ({ code }) =>
      functionsIn(code)
        .filter(({ lines }) => lines > FUNCTION_LINES_MAX)
        .map(({ line }) => line),
  },
  { name: 'names are in kebab-case', find: ({ path }) => (KEBAB_CASE.test(path) ? [] : [1]) },
  {
    name: 'a file is named after what it holds, not "utils"',
    find: ({ path }) => (/(?:^|[/-])utils?(?:\/|\.ts$)/.test(path) ? [1] : []),
  },
  {
    name: 'a relative import carries ".ts"',
    find: (file) =>
      importsOf(file)
        .filter(({ specifier }) => specifier.startsWith('.') && !specifier.endsWith('.ts'))
        .map(({ line }) => line),
  },
  { name: 'no TODO: do it, or write an issue', find: ({ text }) => matches(text, /\b(?:TODO|FIXME|XXX)\b/g) },
  ban('no default export', /^[ \t]*export\s+default\b|\bas\s+default\b/gm),
  ban('no "export *": list what is public', /^[ \t]*export\s+(?:type\s+)?\*/gm),
  ban('no enum: use a union of strings', /^[ \t]*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s/gm),
  ban('no any: use unknown, or the type', /(?:[:<,|&]|=>|\bas)\s*any\b(?!\s*[:(?])/g),
  ban('no "!": check it, or state an invariant', /[\w$)\]]!(?![=\w$(])/g),
  ban(
    'no clock: time comes with the event',
    /\bDate\.now\b|\bnew\s+Date\b(?!\s*\(\s*[^\s)])|\bperformance\./g,
    PURE,
  ),
  ban(
    'no randomness: replay would differ',
    /\bMath\.random\b|\brandom(?:UUID|Bytes|Int)\b|\bgetRandomValues\b/g,
    PURE,
  ),
  ban('no waiting: use `after`', /\bset(?:Timeout|Interval|Immediate)\b/g, PURE),
  ban('no process: take it as an argument', /\bprocess\s*\??\./g, PURE),
];

const findingsIn = (file: SourceFile): readonly string[] =>
  RULES.filter(({ only }) => only?.test(file.path) ?? true).flatMap(({ name, find }) =>
    find(file).map((line) => `${file.path}:${line}: ${name}`),
  );

interface FunctionSpan {
  readonly line: number;
  readonly lines: number;
}

/** Every function with a body in brackets, from its parameters to its end: near enough, without a parser. */
function functionsIn(code: string): readonly FunctionSpan[] {
  const spans: FunctionSpan[] = [];
  const open: number[] = [];
  const openedAt = new Map<number, number>();
  for (const { 0: bracket, index } of code.matchAll(/[([{}\])]/g)) {
    if ('([{'.includes(bracket)) {
      open.push(index);
      continue;
    }
    const bodyStart = open.pop() ?? 0;
    openedAt.set(index, bodyStart);
    const start = functionStart(code, bodyStart, openedAt);
    if (start !== undefined)
      spans.push({ line: lineAt(code, start), lines: linesOf(code.slice(start, index + 1)) });
  }
  return spans;
}

/** Where the function begins whose body this bracket opens; undefined if it opens something else. */
function functionStart(
  code: string,
  body: number,
  openedAt: ReadonlyMap<number, number>,
): number | undefined {
  const before = code.slice(0, body);
  const arrow = before.trimEnd().endsWith('=>');
  if (code.charAt(body) !== '{' && !arrow) return undefined;
  const signatureEnd = before.lastIndexOf(')');
  if (!/^\)\s*(?::[^{};=]*)?(?:=>)?\s*$/.test(before.slice(signatureEnd))) return arrow ? body : undefined;
  const start = openedAt.get(signatureEnd) ?? body;
  return /\b(?:if|for|await|while|switch|catch)\s*$/.test(before.slice(0, start)) ? undefined : start;
}

describe('tidy', () => {
  test('every file in src keeps the rules', () => {
    const files = sourceFilesIn('src');
    expect(files.length).toBeGreaterThan(0);
    expect(files.flatMap(findingsIn)).toEqual([]);
  });
});

const KERNEL = 'src/actors/kernel.ts';
const steps = (count: number): string => '  step();\n'.repeat(count);

// Method: offences for each rule, and next to them the nearest things that are allowed.
describe('the tidy check itself', () => {
  test.each([
    ['401 lines', KERNEL, 'step();\n'.repeat(401)],
    ['71 lines of function', KERNEL, `export function turn(\n  a: A,\n): Turn {\n${steps(67)}}\n`],
    [
      '71 lines of arrow function',
      KERNEL,
      `export const turn = async (a: A): Promise<T> => {\n${steps(69)}};\n`,
    ],
    ['71 lines with the parameters', KERNEL, `const turn = (\n  a: A,\n): T => {\n${steps(67)}};\n`],
    ['71 lines of one expression', KERNEL, `const turn = (a: A): T => ({\n${'  a,\n'.repeat(69)}});\n`],
    [
      '71 lines of method',
      KERNEL,
      `class Kernel {\n  #a = 0;\n\n  async turn(): Promise<T> {\n${steps(69)}  }\n}\n`,
    ],
    ['a name in camelCase', 'src/actors/jobKernel.ts', ''],
    ['a folder in camelCase', 'src/deadLetters/kernel.ts', ''],
    ['utils', 'src/actors/utils.ts', ''],
    ['utils of something', 'src/actors/string-utils.ts', ''],
    ['an import without extension', KERNEL, `import { turn } from './turn';`],
    ['an import of .js', KERNEL, `import { turn } from './turn.js';`],
    ['a TODO', KERNEL, '// TODO: later'],
    ['a default export', KERNEL, 'export default turn;'],
    ['a default export by name', KERNEL, 'export { turn as default };'],
    ['export *', KERNEL, `export * from './turn.ts';`],
    ['an enum', KERNEL, 'export const enum Mode { Fast }'],
    [': any', KERNEL, 'const turn = (stimulus: any) => stimulus;'],
    ['as any', KERNEL, 'const turn = stimulus as any;'],
    ['any as an argument', KERNEL, 'const turns: Record<string, any> = {};'],
    ['! after an index', KERNEL, 'const turn = turns[0]!;'],
    ['! after a call', KERNEL, 'const id = turn()!.id;'],
    ['Date.now', 'src/events/job.ts', 'const at = Date.now();'],
    ['new Date()', 'src/events/job.ts', 'const at = new Date();'],
    ['new Date', 'src/events/job.ts', 'const at = new Date;'],
    ['Math.random', 'src/machines/job.ts', 'const jitter = Math.random();'],
    ['Math.random in a template', 'src/machines/job.ts', 'const name = `${Math.random()}`;'],
    ['randomUUID', 'src/machines/job.ts', 'const id = randomUUID();'],
    ['setTimeout', 'src/projections/job.ts', 'setTimeout(fold, 10);'],
    ['process', 'src/projections/job.ts', 'const home = process.env.HOME;'],
  ])('finds %s', (_what, path, text) => {
    expect(findingsIn(sourceFile(path, text))).toHaveLength(1);
  });

  test.each([
    ['400 lines', KERNEL, 'step();\n'.repeat(400)],
    ['70 lines of function', KERNEL, `export function turn(\n  a: A,\n): Turn {\n${steps(66)}}\n`],
    ['two functions', KERNEL, `function a(): void {\n${steps(40)}}\n\nfunction b(): void {\n${steps(40)}}\n`],
    [
      'two methods',
      KERNEL,
      `class K {\n  a(): void {\n${steps(40)}  }\n\n  b(): void {\n${steps(40)}  }\n}\n`,
    ],
    ['a long table', KERNEL, `export const MESSAGES: Messages = {\n${'  A: (x) => [x],\n'.repeat(80)}};\n`],
    [
      'a long machine',
      'src/machines/job.ts',
      `const job = setup({}).createMachine({\n${'  a,\n'.repeat(80)}});\n`,
    ],
    ['imports with extension', KERNEL, `import { turn } from './turn.ts';\nimport { of } from 'rxjs';`],
    ['a clock in an impure folder', KERNEL, 'const at = Date.now();\nsetTimeout(turn, Math.random());'],
    ['negation', KERNEL, 'if (!turn || a !== b || a != b) stop(!turn);'],
    ['words in comments and strings', KERNEL, '// as any: no!\nconst text = "export default any!";'],
    ['a key called any', KERNEL, 'const known = { any: true, company: 1 };'],
    [
      'a date of a given time',
      'src/events/job.ts',
      'const at = new Date(atMs).toISOString(); // not Date.now()',
    ],
    ['names that begin alike', 'src/machines/job.ts', 'const processing = postprocess(a.b);'],
  ])('has nothing against %s', (_what, path, text) => {
    expect(findingsIn(sourceFile(path, text))).toEqual([]);
  });
});
