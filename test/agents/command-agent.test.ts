import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  type AgentRequest,
  agent,
  answer,
  type CommandOptions,
  isAnswer,
  isRuntimeError,
  type Json,
  type JsonObject,
} from '../../src/index.ts';
import { temporaryDirectory, temporaryFile } from '../store/temporary-directory.ts';
import { askAll, askOnce } from '../support/commands.ts';
import { problemsIn } from '../support/json-schema.ts';
import { ask } from '../support/machines.ts';
import { open } from '../support/runtimes.ts';

// Method: real programs, called through a runtime on a file. What is asserted is what a second runtime finds in the log.

const schema = (name: string): JsonObject => JSON.parse(readFileSync(`schema/${name}.schema.json`, 'utf8'));

/** An agent that is a line of shell: the quickest real process. The line is the test's own, never a run's. */
const shell = (line: string, options: CommandOptions = {}) =>
  agent.command<Json>('sh', ['-c', line], options);

/** Writes what it reads: with text for an input, the test decides what the agent answers. */
const echo = (options: CommandOptions = {}) => agent.command<Json>('cat', [], { input: 'text', ...options });

const PROGRAM = `
  let text = '';
  for await (const piece of process.stdin.setEncoding('utf8')) text += piece;
  process.stdout.write(JSON.stringify({ request: JSON.parse(text), args: process.argv.slice(2), cwd: process.cwd() }));
`;

describe('a command agent', () => {
  it('is given the request as one JSON document, as its schema says, and answers with one', async () => {
    const directory = temporaryDirectory();
    const program = join(directory, 'program.mjs');
    writeFileSync(program, PROGRAM);
    const input = { text: 'ünï ☃ \u2028 "quotes"\n', list: [1, -0.5, null, true], deep: { a: { b: [] } } };
    const worker = agent.command<Json>(process.execPath, [program, '--flag', 'a b', '$HOME', ''], {
      cwd: directory,
    });
    const { answer: found, failure } = await askOnce(worker, input);
    expect(failure).toBeNull();
    const { request, args, cwd } = found as { request: JsonObject; args: Json; cwd: string };
    expect(args).toEqual(['--flag', 'a b', '$HOME', '']);
    expect(cwd).toBe(directory);
    expect(request).toMatchObject({
      loopwright: 1,
      attempt: 1,
      input,
      feedback: [],
      history: [],
      context: null,
      failure: null,
    });
    expect(request['idempotencyKey']).toBe(`${request['callId'] as string}/1`);
    const requestSchema = schema('agent-request');
    expect(problemsIn(requestSchema, request)).toEqual([]);
    expect(Object.keys(requestSchema['properties'] as JsonObject).sort()).toEqual(
      Object.keys(request).sort(),
    );
    // A control: the check finds what is wrong.
    expect(problemsIn(requestSchema, { ...request, attempt: 'one', more: 1 })).toHaveLength(2);
  });

  it('answers with any JSON, which is in the log as it was written', async () => {
    const outputs: readonly Json[] = [null, true, 0.5, 'text', [], [[1], {}], { a: 'ü' }, { loopwright: 2 }];
    const asked = await askAll(
      echo(),
      outputs.map((output) => JSON.stringify(output)),
    );
    expect(asked).toEqual(outputs.map((output) => ({ answer: output, failure: null })));
  });

  it('is given text if asked for: the input, then the feedback', async () => {
    const direct = async (input: Json, feedback: readonly Json[]) => {
      const request = { input, feedback, signal: new AbortController().signal, idempotencyKey: 'k' };
      // The command reads no other members of a request.
      const found = await echo({ output: 'text' }).run(request as unknown as AgentRequest<Json>);
      return (found as { text: string }).text;
    };
    expect(await direct('do this', [])).toBe('do this\n');
    expect(await direct('do this', ['too short', { line: 3 }])).toBe(
      'do this\n\nFeedback 1:\n\ntoo short\n\nFeedback 2:\n\n{\n  "line": 3\n}\n',
    );
    // What loops give has all of it in words; what those only refer to comes after them.
    const prompt = 'The task is what "task" of your input says (a text of 9 bytes).';
    expect(await direct({ prompt: 'do this', pass: 1 }, ['too short'])).toBe(
      'do this\n\nFeedback 1:\n\ntoo short\n',
    );
    expect(await direct({ prompt, task: 'a long one', pass: 1 }, [])).toBe(
      `${prompt}\n\n"task" of your input:\n\na long one\n`,
    );
    expect((await askOnce(echo({ output: 'text' }), { a: 1 })).answer).toEqual({
      text: '{\n  "a": 1\n}\n',
      exitCode: 0,
    });
  });

  it('answers with text and its exit code, whatever that is', async () => {
    const { answer: found } = await askOnce(shell('echo "3 tests failed"; exit 7', { output: 'text' }));
    expect(found).toEqual({ text: '3 tests failed\n', exitCode: 7 });
  });

  it('tells of its progress line by line, and answers with the last line', async () => {
    const lines = 'printf \'{"step":1}\\n\\n{"st\'; sleep 0.1; printf \'ep":2}\\r\\n["done"]\'';
    const worker = shell(lines, { output: 'json-lines' });
    const runtime = await open({ file: temporaryFile(), workflows: [ask], agents: { worker } });
    const updates: Json[] = [];
    runtime.progress$.subscribe(({ update }) => updates.push(update));
    const { output } = await (await runtime.start('ask', { input: null })).result();
    expect(output).toEqual({ answer: ['done'], failure: null });
    expect(updates).toEqual([{ step: 1 }, { step: 2 }]);
  });

  it('may answer with an envelope, and one that is malformed is a failed attempt: as its schema says', async () => {
    const good: readonly JsonObject[] = [
      { loopwright: 1, output: null },
      { loopwright: 1, output: { a: 1 }, issues: [{ what: 'typo' }], artifacts: { log: [1] } },
      { loopwright: 1, output: 'x', usage: { inputTokens: 5, outputTokens: 0, costUsd: 0.25 } },
    ];
    const bad: readonly (readonly [JsonObject, string])[] = [
      [{ loopwright: 1 }, 'has no "output"'],
      [{ loopwright: 1, output: 1, outptu: 2 }, 'has a member "outptu"'],
      [{ loopwright: 1, output: 1, issues: {} }, '"issues" of its answer is not a list of objects'],
      [{ loopwright: 1, output: 1, issues: ['x'] }, '"issues" of its answer is not a list of objects'],
      [{ loopwright: 1, output: 1, usage: 5 }, '"usage" of its answer is not an object'],
      [{ loopwright: 1, output: 1, usage: { inputTokens: 0.5 } }, '"usage.inputTokens" of its answer is not'],
      [
        { loopwright: 1, output: 1, usage: { outputTokens: -1 } },
        '"usage.outputTokens" of its answer is not',
      ],
      [{ loopwright: 1, output: 1, usage: { costUsd: '1' } }, '"usage.costUsd" of its answer is not'],
      [{ loopwright: 1, output: 1, usage: { toString: 1 } }, '"usage" of its answer has a member "toString"'],
      [{ loopwright: 1, output: 1, artifacts: [] }, '"artifacts" of its answer is not an object'],
    ];
    const answerSchema = schema('agent-answer');
    const inputs = [...good, ...bad.map(([envelope]) => envelope)];
    expect(inputs.map((envelope) => problemsIn(answerSchema, envelope).length === 0)).toEqual([
      ...good.map(() => true),
      ...bad.map(() => false),
    ]);
    const asked = await askAll(
      echo(),
      inputs.map((envelope) => JSON.stringify(envelope)),
    );
    expect(asked.slice(0, good.length)).toEqual(
      good.map(({ loopwright: _version, ...members }) => ({ answer: members, failure: null })),
    );
    for (const [index, [, problem]] of bad.entries()) {
      const { failure } = asked[good.length + index] ?? {};
      expect(failure).toMatchObject({
        code: 'AGENT_ANSWER_BAD',
        message: expect.stringContaining(problem),
      });
    }
  });

  it.each([
    ['nothing', 'json', ':', 'standard output is empty'],
    ['no JSON', 'json', 'echo hello', 'standard output is not JSON'],
    ['two documents', 'json', 'echo 1; echo 2', 'standard output is not JSON'],
    ['half a document', 'json', 'printf \'{"a":\'', 'standard output is not JSON'],
    ['no UTF-8', 'json', 'printf \'"\\377"\'', 'standard output is not UTF-8'],
    ['no line', 'json-lines', 'echo; echo', 'standard output is empty'],
    ['a line that is no JSON', 'json-lines', 'echo 1; echo; echo oops; echo 2', 'line 3 of standard output'],
    ['a last line that is no JSON', 'json-lines', 'echo 1; printf oops', 'line 2 of standard output'],
  ] as const)('fails if it writes %s', async (_what, output, line, problem) => {
    const { answer: found, failure } = await askOnce(shell(line, { output }));
    expect(found).toBeNull();
    expect(failure).toMatchObject({ code: 'AGENT_ANSWER_BAD', message: expect.stringContaining(problem) });
  });

  it('fails with the exit code or the signal, and the end of standard error without what is secret', async () => {
    const token = `ghp_${'a1B2'.repeat(9)}`;
    const noise = 'for i in $(seq 3000); do echo "line $i" >&2; done';
    const worker = shell(`${noise}; printf '\\033[31mtoken ${token}\\033[0m\\n' >&2; exit 3`);
    const { failure } = await askOnce(worker);
    expect(failure).toMatchObject({ code: 'AGENT_EXITED', message: expect.stringContaining('exit code 3') });
    expect(failure?.message).toMatch(/…\nline 2\d\d\d\n[^]*line 3000\ntoken \[redacted:github-token\]\n/);
    expect(failure?.message.length).toBeLessThan(2_500);
    const { failure: killed } = await askOnce(shell('kill -SEGV $$', { output: 'text' }));
    expect(killed).toMatchObject({ code: 'AGENT_EXITED', message: expect.stringContaining('by SIGSEGV') });
  });

  it('has answered with the exit codes that it was told', async () => {
    const codes = ['zero', 'any', [1], [0, 1], []] as const;
    const found = await Promise.all(
      codes.map(async (exitCodes) => (await askOnce(shell('echo 5; exit 1', { exitCodes }))).answer),
    );
    expect(found).toEqual([null, 5, 5, 5, null]);
  });

  it('fails with what to do if it cannot be started', async () => {
    const directory = temporaryDirectory();
    const plain = join(directory, 'not-executable');
    writeFileSync(plain, '');
    const failures = await Promise.all(
      [
        agent.command<Json>('no-such-program', [], { cwd: directory }),
        agent.command<Json>(plain, [], { cwd: directory }),
        shell('echo 1', { cwd: join(directory, 'nowhere') }),
      ].map(async (worker) => (await askOnce(worker)).failure),
    );
    const expected = [
      ['no-such-program', directory, 'ENOENT'],
      [plain, directory, 'EACCES'],
      ['sh', join(directory, 'nowhere'), 'no such directory'],
    ];
    for (const [index, parts] of expected.entries()) {
      // No second attempt would find it.
      expect(failures[index]).toMatchObject({ code: 'AGENT_NOT_STARTED', final: true });
      for (const part of parts) expect(failures[index]?.message).toContain(part);
      expect(failures[index]?.message).toContain('Check that the directory is there');
    }
  });

  it('may end without reading its input, however large that is', async () => {
    const input = Array.from({ length: 500 }, () => 'x'.repeat(1_000));
    expect(await askOnce(shell('echo 1'), input)).toEqual({ answer: 1, failure: null });
  });

  it('is refused when it is made if it could not be meant so', () => {
    const wrong: readonly (readonly [string, unknown, unknown?, unknown?])[] = [
      ['file', ''],
      ['file', 5],
      ['file', 'a\0b'],
      ['args', 'sh', 'not a list'],
      ['args', 'sh', [5]],
      ['args', 'sh', ['a\0b']],
      ['shell', 'sh', [], { shell: true }],
      ['file', 'sh', [], { file: 'other' }],
      ['cwd', 'sh', [], { cwd: '' }],
      ['env', 'sh', [], { env: { A: 5 } }],
      ['env', 'sh', [], { env: { 'A=B': '' } }],
      ['env', 'sh', [], { env: { LOOPWRIGHT_LOG: 'x' } }],
      ['passEnv', 'sh', [], { passEnv: 'PATH' }],
      ['passEnv', 'sh', [], { passEnv: [''] }],
      ['input', 'sh', [], { input: 'yaml' }],
      ['output', 'sh', [], { output: 'yaml' }],
      ['exitCodes', 'sh', [], { exitCodes: 'all' }],
      ['exitCodes', 'sh', [], { exitCodes: [256] }],
      ['outputBytes', 'sh', [], { outputBytes: 0 }],
      ['graceMs', 'sh', [], { graceMs: Number.POSITIVE_INFINITY }],
      ['concurrency', 'sh', [], { concurrency: 0 }],
      ['timeoutMs', 'sh', [], { timeoutMs: 0 }],
    ];
    for (const [option, file, args = [], options = {}] of wrong) {
      const error = (() => {
        try {
          return agent.command(file as string, args as string[], options as CommandOptions);
        } catch (thrown) {
          return thrown;
        }
      })();
      if (!isRuntimeError(error, 'BAD_OPTION')) throw new Error(`Not refused: ${option}`);
      expect(error.fields.option).toBe(option);
    }
  });
});

describe('answer()', () => {
  it('of a function agent is kept with all its parts, and none that were not given', async () => {
    const full = { issues: [{ what: 'typo' }], usage: { costUsd: 1 }, artifacts: { a: 'b' } };
    expect(await askOnce(agent(() => answer(5, full)))).toEqual({
      answer: { output: 5, ...full },
      failure: null,
    });
    expect((await askOnce(agent(() => answer('x')))).answer).toEqual({ output: 'x' });
    expect(isAnswer(answer(1))).toBe(true);
    expect([null, 1, { output: 1 }, new Proxy({}, {})].some(isAnswer)).toBe(false);
  });
});
