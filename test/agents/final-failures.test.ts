import { expect, it } from 'vitest';
import { planRun, runSummary } from '../../src/index.ts';
import { createVirtualClock } from '../../src/testing/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { until } from '../support/commands.ts';
import { expectReplays, open } from '../support/runtimes.ts';

const one = planRun('one', {
  steps: [{ id: 'work', agent: 'worker' }],
  onLimit: 'stop',
  roles: { worker: { attempts: 3, backoffMs: 1_000 } },
});

it('G16: a failure that is final is not followed by another attempt', async () => {
  const file = temporaryFile();
  let calls = 0;
  const worker = () => {
    calls += 1;
    throw Object.assign(new Error('there is no such thing'), { final: true });
  };
  const runtime = await open({ file, workflows: [one], agents: { worker } });
  const { verdict, output } = await (await runtime.start('one', null)).result();
  expect(verdict).toBe('failed');
  expect(output?.reason).toContain('there is no such thing');
  expect(output?.reason).not.toContain('budget');
  expect(calls).toBe(1);
  await runtime.close();
  await expectReplays(file, [one]);
});

// Method: members that are not what they should be must change nothing: the waits are those of the role.
it.each([
  ['a wait that is shorter than that of its role', { retryAfterMs: 10 }],
  ['a wait that is no number', { retryAfterMs: 'soon' }],
  ['a wait before now', { retryAfterMs: -5 }],
  ['a wait without end', { retryAfterMs: Number.POSITIVE_INFINITY }],
  ['a word in place of true', { final: 'yes' }],
])('%s changes nothing', async (_what, members) => {
  const clock = createVirtualClock();
  let calls = 0;
  const worker = () => {
    calls += 1;
    if (calls === 1) throw Object.assign(new Error('not now'), members);
    return 'done';
  };
  const runtime = await open({ file: temporaryFile(), workflows: [one], agents: { worker }, clock });
  const run = await runtime.start('one', null);
  await until(async () => (await runtime.read(runSummary, run.id)).calls.failed === 1);
  clock.advance(999);
  await runtime.audit({ limit: 1 });
  expect(calls).toBe(1);
  clock.advance(1);
  expect((await run.result()).verdict).toBe('verified');
});
