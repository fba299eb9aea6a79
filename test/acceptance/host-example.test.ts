import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';

// Method: the example host is killed with SIGKILL while a call and a timer are open, started again on the same file, and asked
// over HTTP, as a user would. The agent appends the key of each of its calls to a file.

const hosts: ChildProcess[] = [];
afterEach(() => {
  for (const host of hosts.splice(0)) host.kill('SIGKILL');
});

const startHost = async (file: string, calls: string, summaryMs: number) => {
  const host = spawn(process.execPath, ['build/examples/http-host.js', file, '0', calls], {
    env: { ...process.env, SUMMARY_MS: String(summaryMs) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  hosts.push(host);
  const url = await new Promise<string>((resolve, reject) => {
    host.stdout?.on('data', (chunk) => {
      const found = /http:\S+/.exec(String(chunk));
      if (found) resolve(found[0]);
    });
    host.once('exit', (code) => reject(new Error(`the host ended with ${code}`)));
  });
  return { host, url };
};

interface Shown {
  readonly state: { readonly context: { readonly words: number | null; readonly reminders: number } };
  readonly summary: { readonly status: string; readonly verdict: string | null };
}

const show = async (url: string, run: string): Promise<Shown> =>
  (await (await fetch(`${url}/runs/${run}`)).json()) as Shown;

const until = async (isThere: () => Promise<boolean>): Promise<void> => {
  while (!(await isThere())) await sleep(20);
};

const linesOf = (file: string): string[] => readFileSync(file, 'utf8').trim().split('\n');

it('K2, G13, G18: a host that is killed while a call and a timer are open goes on after its restart', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'loopwright-host-'));
  const [file, calls] = [join(folder, 'work.db'), join(folder, 'calls.txt')];
  const first = await startHost(file, calls, 60_000);
  const started = await fetch(`${first.url}/runs`, {
    method: 'POST',
    body: JSON.stringify({ text: 'loops that end', remindAfterMs: 1_500 }),
  });
  const { run } = (await started.json()) as { run: string };
  await until(async () => linesOf(calls).length === 1);
  first.host.kill('SIGKILL');
  await new Promise((resolve) => first.host.once('exit', resolve));

  const second = await startHost(file, calls, 50);
  await until(async () => (await show(second.url, run)).state.context.words === 3);
  await until(async () => (await show(second.url, run)).state.context.reminders === 1);
  const keys = linesOf(calls);
  expect(keys).toHaveLength(2);
  expect(keys[1]).toBe(keys[0]);

  const decide = () =>
    fetch(`${second.url}/runs/${run}/decision`, { method: 'POST', body: '{"accept":true,"by":"ada"}' });
  expect(await (await decide()).json()).toMatchObject({ taken: true });
  expect((await decide()).status).toBe(409);
  second.host.kill('SIGTERM');
  await new Promise((resolve) => second.host.once('exit', resolve));

  const third = await startHost(file, calls, 50);
  const shown = await show(third.url, run);
  expect(shown.summary).toMatchObject({ status: 'ended', verdict: 'accepted' });
  expect(shown.state.context.reminders).toBe(1);
  expect(linesOf(calls)).toHaveLength(2);
});
