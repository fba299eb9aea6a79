import {
  closeSync,
  createReadStream,
  ftruncateSync,
  mkdirSync,
  openSync,
  readFileSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { callHere } from '../support/call-here.ts';
import { BINARY, type CliFolder, cliFolder, passes, startProgram, tight } from '../support/cli.ts';

// Method: files that are far too large, too deep or unpack to far too much, at every place where the command line reads one. What the
// process took of memory at most is what the system says when it has ended (VmHWM, read as it exits).

const RSS_MAX_KB = 400 * 1024;
const MEGABYTE = 1024 * 1024;

let cli: CliFolder;
beforeAll(() => {
  cli = cliFolder();
  cli.file(
    'peak.cjs',
    "process.on('exit', () => require('node:fs').writeFileSync('peak', String(process.resourceUsage().maxRSS)));",
  );
  cli.file('good.yaml', tight('good', { review: [passes] }));
  mkdirSync(join(cli.folder, 'stories'));
  sparse('huge', 3_000);
  cli.file('deep.json', '['.repeat(5_000_000));
  cli.file('deep.yaml', `name: x\nloop: ${'['.repeat(400_000)}`);
  cli.file('wide.json', `{"feedback_loop":${JSON.stringify(Array.from({ length: 400_000 }, () => ({})))}}`);
  cli.file('nested.json', `{"task":${'{"a":'.repeat(500)}1${'}'.repeat(500)}}`);
  cli.file(
    'laughs.yaml',
    `a: &a [x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 20 }, (_, n) => `b${n}: &b${n} [${`*${n === 0 ? 'a' : `b${n - 1}`},`.repeat(9)}]`).join('\n')}\n`,
  );
  cli.file('long.jsonl', `{"loopwright":"log","x":"${'y'.repeat(4 * MEGABYTE)}`);
  writeFileSync(join(cli.folder, 'bomb.gz'), gzipSync(Buffer.alloc(300 * MEGABYTE)));
  writeFileSync(join(cli.folder, 'stories/a.md'), `---\nid: a\n---\n${'x'.repeat(2 * MEGABYTE)}`);
});
afterAll(() => cli.remove());

/** A file of so many megabytes that takes no room. */
const sparse = (name: string, megabytes: number): void => {
  const descriptor = openSync(join(cli.folder, name), 'w');
  writeSync(descriptor, 'name: x\n');
  ftruncateSync(descriptor, megabytes * MEGABYTE);
  closeSync(descriptor);
};

const called = async (args: readonly string[], input?: Readable) => {
  const { child, ended } = startProgram(process.execPath, ['--require', './peak.cjs', BINARY, ...args], {
    folder: cli.folder,
  });
  // Whoever refuses the rest no longer reads it.
  child.stdin.on('error', () => undefined);
  input?.pipe(child.stdin);
  const ran = await ended;
  input?.destroy();
  return { ...ran, peakKb: Number(readFileSync(join(cli.folder, 'peak'), 'utf8')) };
};

const IMPORT = ['--workflow', 'good.yaml', '--task', 'x'];

describe('S14: bombs', () => {
  it.each([
    [['run', 'huge', 'x'], 'larger than'],
    [['run', 'deep.yaml', 'x'], 'deep'],
    [['prove', 'laughs.yaml'], 'it has too many values (allowed: at most 10000, aliases written out)'],
    [['run', 'good.yaml', '--input', '@huge'], 'has more than'],
    [['run', 'good.yaml', '--input', '@deep.json'], 'levels deep'],
    [['run', 'good.yaml', '--input', '@nested.json'], 'depth'],
    [['run', 'good.yaml', '--input', '@/dev/zero'], 'no plain file'],
    [['import', 'huge', ...IMPORT], 'has more than'],
    [['import', 'bomb.gz', ...IMPORT], 'has more than'],
    [['import', 'deep.json', ...IMPORT], 'like no file'],
    [['import', 'wide.json', ...IMPORT], 'refused the file: it has more than 1048576 characters'],
    [['import', 'stories', '--check'], 'more than'],
    [['import', 'long.jsonl', '--db', 'long.db'], 'Line 1'],
    [['import', '/dev/zero', ...IMPORT], 'is no file'],
  ] as const)('S14: %j is refused, in little memory', async (args, told) => {
    const { code, stdout, stderr, peakKb } = await called(args);
    expect(`${stdout}${stderr}`.slice(0, 2_000)).toContain(told);
    expect([1, 2]).toContain(code);
    expect(peakKb).toBeGreaterThan(20_000);
    expect(peakKb).toBeLessThan(RSS_MAX_KB);
  });

  it.each([
    ['huge', 'has more than'],
    ['bomb.gz', 'has more than'],
    ['deep.json', 'like no file'],
    ['wide.json', 'it has more than 1048576 characters'],
    ['/dev/zero', 'has more than'],
  ] as const)('S14: %s on the standard input is refused, in little memory', async (name, told) => {
    const input = createReadStream(name.startsWith('/') ? name : join(cli.folder, name));
    const { code, stdout, stderr, peakKb } = await called(['import', '-', ...IMPORT], input);
    expect(`${stdout}${stderr}`.slice(0, 2_000)).toContain(told);
    expect([1, 2]).toContain(code);
    expect(peakKb).toBeLessThan(RSS_MAX_KB);
  });

  it('S14, control: what comes late on the standard input, and is none of these, is imported', async () => {
    const progress = { feedback_loop: { current_iteration: 1, max_iterations: 2, iterations: [] } };
    const late = async function* () {
      const text = JSON.stringify(progress);
      for (const part of [text.slice(0, 20), text.slice(20)]) {
        await setTimeout(1_500);
        yield part;
      }
    };
    const { code, stdout } = await called(['import', '-', ...IMPORT], Readable.from(late()));
    expect([code, stdout]).toEqual([0, expect.stringContaining('Imported as the run')]);
  });

  it.each(['junit', 'vitest'] as const)(
    'S14: a report (%s) that is too large or too deep is no report',
    async (results) => {
      const deep = results === 'junit' ? '<a>'.repeat(500_000) : '['.repeat(5_000_000);
      cli.file('report', deep);
      for (const [name, tester] of [
        ['file', { command: ['sh', '-c', 'rm -f out; truncate -s 3G out'], results, resultsFile: 'out' }],
        ['deep', { command: ['cat', 'report'], results }],
      ] as const) {
        cli.file(`${name}.yaml`, {
          ...tight(`${results}-${name}`, { review: [passes] }),
          agents: {
            developer: { script: [{}] },
            reviewer: { script: [passes] },
            tester: { ...tester, attempts: 1 },
          },
        });
        const { code, peakKb } = await called(['run', `${name}.yaml`, 'x', '--no-ask']);
        expect([1, 4]).toContain(code);
        expect(peakKb).toBeLessThan(RSS_MAX_KB);
        expect((await callHere(cli.folder, ['events', 'last', '--json'])).stdout).toContain(
          'AGENT_RESULTS_BAD',
        );
      }
    },
  );

  it('S14, control: a program that reads all of such a file takes more', async () => {
    cli.file(
      'reads.cjs',
      "const all = []; for (let n = 0; n < 9; n += 1) all.push(Buffer.alloc(60_000_000, 1)); process.stdout.write('x');",
    );
    await startProgram(process.execPath, ['--require', './peak.cjs', 'reads.cjs'], { folder: cli.folder })
      .ended;
    expect(Number(readFileSync(join(cli.folder, 'peak'), 'utf8'))).toBeGreaterThan(RSS_MAX_KB);
  });
});
