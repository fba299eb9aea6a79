import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type AgentRequest, agent, type Json } from '../../src/index.ts';
import { temporaryDirectory } from '../store/temporary-directory.ts';
import { askAll, askOnce } from '../support/commands.ts';
import { rounds } from '../support/runtimes.ts';

// What a shell would run of a text, in every place where a shell looks.
const FORMS: readonly ((run: string) => string)[] = [
  (run) => `; ${run}`,
  (run) => `x; ${run} #`,
  (run) => `| ${run}`,
  (run) => `>/no/such/place || ${run}`,
  (run) => `&& ${run}`,
  (run) => `x & ${run}`,
  (run) => `$(${run})`,
  (run) => `"$(${run})"`,
  (run) => `\`${run}\``,
  (run) => `x\n${run}`,
  (run) => `x\r\n${run}`,
  (run) => `'; ${run}; '`,
  (run) => `"; ${run}; "`,
  (run) => `' \`${run}\` '`,
  (run) => `\${x:-$(${run})}`,
  (run) => `<(${run})`,
  (run) => `--eval=$(${run})`,
  (run) => `-o ProxyCommand=$(${run})`,
  (run) => `{"input": "$(${run})"}`,
  (run) => `\\"; ${run}; \\"`,
];

interface Payload {
  readonly text: string;
  readonly trace: string;
}

/** Texts that leave a file in the directory if anything of them is run. */
const payloadsFor = (directory: string, count: number): readonly Payload[] =>
  Array.from({ length: count }, (_, index) => {
    const trace = `trace-${index}`;
    const form = FORMS[index % FORMS.length] ?? String;
    return { trace, text: form(`touch ${join(directory, trace)}`) };
  });

describe('S9: commands and injection', () => {
  const COUNT = rounds(200, 2_000);
  const AT_ONCE = 20;

  const program = `
    let text = '';
    process.stdin.setEncoding('utf8').on('data', (piece) => { text += piece; }).on('end', () => {
      process.stdout.write(text.startsWith('{"loopwright"') ? JSON.stringify(JSON.parse(text).input) : JSON.stringify(text));
    });
  `;

  it('S9: nothing of an input or of feedback is ever run, as JSON or as text', async () => {
    const directory = temporaryDirectory();
    const payloads = payloadsFor(directory, COUNT);
    const texts = payloads.map(({ text }) => text);
    const batches = Array.from({ length: COUNT / AT_ONCE }, (_, index) =>
      texts.slice(index * AT_ONCE, (index + 1) * AT_ONCE),
    );
    const worker = agent.command<Json>(process.execPath, ['-e', program], { cwd: directory });
    const asked = await askAll(worker, batches);
    expect(asked).toEqual(batches.map((batch) => ({ answer: batch, failure: null })));

    const cat = agent.command<Json>('cat', [], { cwd: directory, input: 'text', output: 'text' });
    expect(await askAll(cat, texts.slice(0, AT_ONCE))).toEqual(
      texts.slice(0, AT_ONCE).map((text) => ({ answer: { text: `${text}\n`, exitCode: 0 }, failure: null })),
    );
    const { signal } = new AbortController();
    const request = { input: 'x', feedback: texts, signal, idempotencyKey: '$(touch key)' };
    // The command reads no other members of a request.
    const { text } = (await cat.run(request as unknown as AgentRequest<Json>)) as { text: string };
    for (const payload of texts) expect(text).toContain(`:\n\n${payload}\n`);

    expect(readdirSync(directory)).toEqual([]);
  });

  it('S9: arguments reach the program as they are, and are not run', async () => {
    const directory = temporaryDirectory();
    const texts = payloadsFor(directory, FORMS.length).map(({ text }) => text);
    const code = 'process.stdout.write(JSON.stringify(process.argv.slice(1)))';
    const worker = agent.command<Json>(process.execPath, ['-e', code, '--', ...texts], { cwd: directory });
    expect(await askOnce(worker)).toEqual({ answer: texts, failure: null });
    expect(readdirSync(directory)).toEqual([]);
  });

  it('S9, control: a shell runs the same texts', () => {
    const directory = temporaryDirectory();
    for (const { text } of payloadsFor(directory, FORMS.length)) {
      spawnSync(`echo ${text}`, { shell: '/bin/bash', cwd: directory });
      spawnSync(`echo "${text}"`, { shell: '/bin/bash', cwd: directory });
      spawnSync(`echo '${text}'`, { shell: '/bin/bash', cwd: directory });
    }
    expect(readdirSync(directory)).toHaveLength(FORMS.length);
  });
});

describe('S11: the environment of a command', () => {
  const setHere = (name: string, value: string): void => {
    const before = process.env[name];
    process.env[name] = value;
    onTestFinished(() => {
      if (before === undefined) Reflect.deleteProperty(process.env, name);
      else process.env[name] = before;
    });
  };
  const TAGS = ['LOOPWRIGHT_CALL', 'LOOPWRIGHT_LOG', 'LOOPWRIGHT_START'];
  const OPEN_TO_ALL = ['PATH', 'HOME', 'USER', 'LOGNAME', 'LANG', 'LC_ALL', 'LC_CTYPE', 'TZ', 'TMPDIR'];
  const showAll = 'process.stdout.write(JSON.stringify(process.env))';

  it('S11: has the few variables that all may see, those that it was allowed or given, and no other', async () => {
    setHere('TEST_SECRET', 'hunter2');
    setHere('TEST_ALLOWED', 'seen');
    setHere('LC_ALL', 'C.UTF-8');
    const inherited = OPEN_TO_ALL.filter((name) => process.env[name] !== undefined);
    const bare = agent.command<Json>(process.execPath, ['-e', showAll]);
    const { answer } = (await askOnce(bare)) as { answer: Record<string, string> };
    expect(Object.keys(answer).sort()).toEqual([...inherited, ...TAGS].sort());

    const given = agent.command<Json>(process.execPath, ['-e', showAll], {
      env: { OWN: 'x', LC_ALL: 'C' },
      passEnv: ['TEST_ALLOWED', 'TEST_NOT_SET'],
    });
    const { answer: second } = (await askOnce(given)) as { answer: Record<string, string> };
    expect(Object.keys(second).sort()).toEqual([...inherited, ...TAGS, 'OWN', 'TEST_ALLOWED'].sort());
    expect(second).toMatchObject({ OWN: 'x', LC_ALL: 'C', TEST_ALLOWED: 'seen' });
  });

  it('S11, control: a process that is started the usual way sees the secret', () => {
    setHere('TEST_SECRET', 'hunter2');
    expect(spawnSync(process.execPath, ['-e', showAll], { encoding: 'utf8' }).stdout).toContain('hunter2');
  });
});
