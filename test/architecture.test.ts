import { posix } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Import, importsOf, type SourceFile, sourceFile, sourceFilesIn } from './source-files.ts';

const FACTS = ['errors', 'invariant'];
const INNER = [...FACTS, 'events', 'machines', 'store', 'projections'];

/**
 * The architecture as data: code on the left may import what stands on the right, and itself, no more.
 * A name is a folder or a file of `src`, else a package; `node:*` is every module of Node.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'agent-errors': [],
  errors: ['agent-errors'],
  invariant: [],
  events: [...FACTS, 'node:crypto'],
  machines: [...FACTS, 'events', 'xstate'],
  store: [...FACTS, 'events', 'better-sqlite3', 'node:*'],
  projections: [...FACTS, 'events', 'immer', 'rxjs'],
  results: ['saxes', 'zod', 'node:util'],
  actors: [...INNER, 'results', 'rxjs', 'uuid', 'xstate', 'yaml', 'node:*'],
  proofs: [...FACTS, 'events', 'machines', 'actors'],
  files: [...FACTS, 'events', 'machines', 'actors', 'yaml', 'zod', 'node:*'],
  audit: [...INNER, 'actors', 'rxjs', 'uuid', 'xstate', 'node:fs'],
  runtime: [...INNER, 'actors', 'audit', 'proofs', 'rxjs', 'uuid', 'xstate', 'node:*'],
  import: [...FACTS, 'events', 'machines', 'actors', 'yaml'],
  index: [...INNER, 'actors', 'audit', 'files', 'proofs', 'runtime', 'import'],
  testing: ['index', 'proofs', 'store', 'fast-check', 'node:*'],
  inspect: ['index', 'node:*', 'rxjs', 'ws'],
  ai: ['index', 'ai', '@ai-sdk/openai-compatible', 'zod'],
  cli: ['ai', 'errors', 'index', 'inspect', 'node:*', 'commander', 'picocolors', 'rxjs'],
};

/** XState runs in machines and behind one door. Everyone else who may import it may name its types only. */
const RUNS_XSTATE = [
  /^src\/machines\//,
  /^src\/actors\/xstate-adapter\.ts$/,
  // The adapter's own way through plain machines: it makes XState's actions of what a machine enqueues.
  /^src\/actors\/plain-walk\.ts$/,
  /^src\/actors\/(?:.+\/)?(?:[\w-]+-machine[\w-]*|lower-[\w-]+|validate-[\w-]+)\.ts$/,
];

/** The files beside `runtime.ts` that join the parts with it. */
const JOINS = [
  'assembly',
  'branch',
  'looking-back',
  'runtime-api',
  'runtime-options',
  'send-command',
  'views',
];

/** `src/events/json.ts` is of the layer `events`, `src/errors.ts` of the layer `errors`. */
const layerOf = (path: string): string => {
  const layer = path.replace(/^src\//, '').replace(/\/.*$|\.ts$/, '');
  return JOINS.includes(layer) ? 'runtime' : layer;
};

function targetOf(path: string, specifier: string): string {
  if (!specifier.startsWith('.')) return specifier.match(/^(?:@[^/]+\/)?[^/]+/)?.[0] ?? specifier;
  const file = posix.join(posix.dirname(path), specifier);
  return file.startsWith('src/') ? layerOf(file) : file;
}

function problemOf(path: string, { specifier, isTypeOnly }: Import): string | undefined {
  const layer = layerOf(path);
  const target = targetOf(path, specifier);
  const allowed = MAY_IMPORT[layer];
  if (!allowed) return `"${layer}" is not in the table of layers`;
  const isAllowed =
    target === layer ||
    allowed.includes(target) ||
    allowed.includes(specifier) ||
    (specifier.startsWith('node:') && allowed.includes('node:*'));
  if (!isAllowed) return `${layer} may not import ${target} ("${specifier}")`;
  if (target === 'xstate' && !isTypeOnly && !RUNS_XSTATE.some((pattern) => pattern.test(path))) {
    return `only machines and the adapter run XState: write "import type", or go through the adapter`;
  }
  return undefined;
}

const violationsIn = (file: SourceFile): readonly string[] =>
  importsOf(file).flatMap((imported) => {
    const problem = problemOf(file.path, imported);
    return problem === undefined ? [] : [`${file.path}:${imported.line}: ${problem}`];
  });

describe('architecture', () => {
  const files = sourceFilesIn('src');

  test('every import in src goes in an allowed direction', () => {
    expect(files.flatMap(violationsIn)).toEqual([]);
  });

  test('the WebSocket package is loaded by whoever inspects, and by nobody else', () => {
    const loads = files.filter(({ text }) => /^import (?!type\b).*from 'ws'/m.test(text));
    expect(loads.map(({ path }) => path)).toEqual([]);
    const lazy = files.filter(({ text }) => text.includes("await import('ws')")).map(({ path }) => path);
    expect(lazy).toEqual(['src/inspect/connect.ts', 'src/inspect/serve.ts']);
  });

  test('the AI SDK and its providers are loaded by the first call of a model, and by nobody else', () => {
    const loads = files.filter(({ text }) => /^import (?!type\b).*from '(?:ai|@ai-sdk\/.*)'/m.test(text));
    expect(loads.map(({ path }) => path)).toEqual([]);
    const lazy = files.filter(({ text }) => /=> import\('(?:ai|@ai-sdk\/.*)'\)/.test(text));
    expect(lazy.map(({ path }) => path)).toEqual(['src/ai/load-packages.ts']);
  });

  test('readers of test reports are loaded by whoever reads reports, and by nobody else', () => {
    const loads = files.filter(({ text }) => /from '[./]*results\/(?:junit|json-report)\.ts'/.test(text));
    expect(loads.map(({ path }) => path)).toEqual([]);
    const lazy = files.filter(({ text }) => text.includes("await import('../results/junit.ts')"));
    expect(lazy.map(({ path }) => path)).toEqual(['src/actors/command-results.ts']);
  });

  test('every file in src belongs to a layer', () => {
    expect(files.length).toBeGreaterThan(0);
    expect(files.map(({ path }) => path).filter((path) => !(layerOf(path) in MAY_IMPORT))).toEqual([]);
  });

  test('machines, projections and store do not see each other', () => {
    const middle = ['machines', 'projections', 'store'];
    for (const layer of middle) {
      const others = middle.filter((other) => other !== layer);
      expect(MAY_IMPORT[layer]).not.toEqual(expect.arrayContaining([expect.toBeOneOf(others)]));
    }
  });
});

// Method: give the check one-file programs of which we know what it must say. A check that finds nothing
// in them would find nothing in src either.
describe('the architecture check itself', () => {
  test.each([
    ['src/errors.ts', `import { invariant } from './invariant.ts';`],
    ['src/events/json.ts', `import { readFileSync } from 'node:fs';`],
    ['src/events/json.ts', `import type { EventLog } from '../store/event-log.ts';`],
    ['src/machines/job.ts', `import {\n  type Log,\n  openLog,\n} from '../store/event-log.ts';`],
    ['src/machines/job.ts', `export { fold } from '../projections/fold.ts';`],
    ['src/machines/job.ts', `export type * from '../projections/fold.ts';`],
    ['src/projections/depth.ts', `import 'xstate';`],
    ['src/projections/depth.ts', `const { jobMachine } = await import('../machines/job.ts');`],
    ['src/store/sqlite/log.ts', `import { jobMachine } from '../../machines/job.ts';`],
    ['src/store/sqlite/log.ts', `const rxjs = require('rxjs');`],
    ['src/actors/kernel.ts', `import { createRuntime } from '../runtime.ts';`],
    ['src/actors/kernel.ts', `import { createActor } from 'xstate';`],
    ['src/actors/kernel.ts', `import { type AnyStateMachine } from 'xstate';`],
    ['src/actors/kernel.ts', `import Database from 'better-sqlite3';`],
    ['src/actors/kernel.ts', `import { anyTurn } from '../../test/any-turn.ts';`],
    ['src/cli/tail.ts', `import { openLog } from '../store/event-log.ts';`],
    ['src/helpers/strings.ts', `import { invariant } from '../invariant.ts';`],
    ['src/events/json.ts', `const text = \`\${a}'\`;\nimport { of } from 'rxjs';`],
    ['src/events/json.ts', `const quote = /[/'"]/;\nimport { of } from 'rxjs';`],
  ])('finds the violation in %s: %s', (path, text) => {
    expect(violationsIn(sourceFile(path, text))).toHaveLength(1);
  });

  test.each([
    ['src/events/json.ts', `import { createHash } from 'node:crypto';`],
    ['src/events/json.ts', `import { RuntimeError } from '../errors.ts';\nimport { x } from './x.ts';`],
    ['src/machines/job.ts', `import { setup } from 'xstate';`],
    ['src/store/sqlite/log.ts', `import Database from 'better-sqlite3';\nimport { join } from 'node:path';`],
    ['src/actors/xstate-adapter.ts', `import { createActor } from 'xstate';`],
    ['src/actors/lower-invoke.ts', `import { enqueueActions } from 'xstate';`],
    ['src/actors/kernel.ts', `import type { AnyStateMachine } from 'xstate';`],
    ['src/actors/kernel.ts', `import { v7 } from 'uuid';\nimport { Subject } from 'rxjs';`],
    ['src/cli/tail.ts', `import { openLog } from '../index.ts';`],
    ['src/errors.ts', `// import { of } from 'rxjs';\n/*\nimport { of } from 'rxjs';\n*/`],
    ['src/errors.ts', `const advice = \`\nimport { of } from 'rxjs';\n\`;`],
    ['src/errors.ts', `export const from = 'rxjs';\nexport type Source = 'rxjs';`],
  ])('has nothing against %s: %s', (path, text) => {
    expect(violationsIn(sourceFile(path, text))).toEqual([]);
  });
});
