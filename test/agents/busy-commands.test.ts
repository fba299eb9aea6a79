import { describe, expect, it } from 'vitest';
import { type Agent, agent, type CommandOptions, createRuntime, type Json } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { createMark, until } from '../support/commands.ts';
import { ask } from '../support/machines.ts';
import { open } from '../support/runtimes.ts';
import { rounds } from '../support/sample-sizes.ts';

// Method: one of two runs has a command that takes all it can get. The other is started while that is at work, and must end first; then the
// first must have ended by its limit, nothing of it may be alive, and this process must not have grown with it.

const ROUNDS = rounds(1, 10);
const GROWN_MAX = 150 * 1024 * 1024;
const node = (script: string, options: CommandOptions) =>
  agent.command<Json>(process.execPath, ['-e', script], options);
const shell = (line: string, options: CommandOptions) => agent.command<Json>('sh', ['-c', line], options);

const LIMITS = { timeoutMs: 1_200, graceMs: 100, outputBytes: 1024 * 1024 };
const MEMORY = `
  const { spawn } = require('node:child_process');
  spawn(process.execPath, ['-e', 'const all = []; for (let n = 0; n < 16; n += 1) all.push(Buffer.alloc(64 * 1024 * 1024, 1)); setInterval(() => all.length, 1000)'], { stdio: 'ignore' });
  setInterval(() => undefined, 1000);`;

type Make = (options: CommandOptions) => Agent<Json>;

const CASES: Readonly<Record<string, readonly [Make, string]>> = {
  'is busy for ever': [(options) => node('while (true);', options), 'AGENT_TIMED_OUT'],
  'is busy for ever in four processes': [
    (options) =>
      shell('for n in 1 2 3; do (trap "" TERM; while :; do :; done) & done; while :; do :; done', options),
    'AGENT_TIMED_OUT',
  ],
  'writes without end': [
    (options) => shell('yes 0123456789', { ...options, timeoutMs: 60_000 }),
    'AGENT_FLOODED',
  ],
  'complains without end': [(options) => shell('yes 0123456789 >&2', options), 'AGENT_TIMED_OUT'],
  'has a child that takes 1 GB': [
    (options) => node(MEMORY, { ...options, timeoutMs: 2_500 }),
    'AGENT_TIMED_OUT',
  ],
};

describe('G17: a command that takes all it can get', () => {
  it.each(Object.entries(CASES))(
    'G17: one that %s is ended with its group, and other runs go on',
    async (_what, [make, code]) => {
      for (let round = 0; round < ROUNDS; round += 1) {
        const file = temporaryFile();
        const mark = createMark();
        const greedy = make({ ...LIMITS, ...mark.options });
        const worker = agent<Json, unknown>(
          (request) => (request.input === 'quick' ? 'done' : greedy.run(request)),
          {
            timeoutMs: greedy.options.timeoutMs,
          },
        );
        const before = process.memoryUsage.rss();
        const runtime = await open({ file, workflows: [ask], agents: { worker } });
        const first = await runtime.start('ask', { input: null, attempts: 1 }, { id: 'greedy' });
        await until(() => mark.pids().length > 0 || code === 'AGENT_FLOODED');
        const others = await Promise.all(
          Array.from({ length: 5 }, (_, index) =>
            runtime.start('ask', { input: 'quick' }, { id: `quick-${index}` }),
          ),
        );
        for (const other of others) expect((await other.result()).output).toMatchObject({ answer: 'done' });
        // Of one that floods nobody knows how soon it is ended.
        if (code === 'AGENT_TIMED_OUT')
          expect((await runtime.runs({ status: 'open' })).map(({ id }) => id)).toEqual(['greedy']);
        const { output } = await first.result();
        expect(output).toMatchObject({ answer: null, failure: { code } });
        expect(process.memoryUsage.rss() - before).toBeLessThan(GROWN_MAX);
        await runtime.close();
        expect(mark.pids()).toEqual([]);
        const second = await createRuntime({ file, workflows: [ask], agents: { worker }, idle: true });
        expect((await (await second.run('greedy', 'ask')).result()).output).toEqual(output);
        await second.close();
      }
    },
  );
});
