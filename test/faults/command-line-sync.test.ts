import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type CliFolder, cliFolder, passes, rejects, tight } from '../support/cli.ts';
import { EIO, faultEnvironment, sharedPlan } from '../support/faultfs.ts';
import { rounds } from '../support/runtimes.ts';

let cli: CliFolder;
beforeAll(() => {
  cli = cliFolder();
  cli.file('loop.yaml', tight('ship', { review: [rejects('no'), rejects('not yet'), passes] }));
});
afterAll(() => cli.remove());

// Method: one sync of the log fails while the command works on a run, as if the disk had lost what was written.
it('G5: after a failed sync the command line says so and exits with 1, and the run goes on later', async () => {
  const plan = join(cli.folder, 'plan');
  const points = rounds(3, 12);
  let failed = 0;
  for (let point = 1; point <= points; point += 1) {
    const db = `log-${point}.db`;
    sharedPlan(plan).set({ operation: 'sync', action: 'fail', error: EIO, first: 2 + 2 * point, count: 1 });
    const { code, stderr } = await cli.runWith(
      faultEnvironment(plan, `${db}-wal$`),
      'run',
      'loop.yaml',
      'a name',
      '--no-ask',
      '--db',
      db,
    );
    if (sharedPlan(plan).read().acted === 0) {
      expect([point, code]).toEqual([point, 0]);
      continue;
    }
    failed += 1;
    expect([point, code, stderr]).toEqual([point, 1, expect.stringContaining('did not confirm a write')]);
    const resumed = await cli.run('resume', '--no-ask', '--db', db);
    // Whether the run itself was on the disk nobody knew.
    expect([0, 2]).toContain(resumed.code);
    expect((await cli.run('verify', '--db', db)).code).toBe(0);
  }
  expect(failed).toBeGreaterThan(1);
});
