import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliFolder, cliFolder } from '../support/cli.ts';

let cli: CliFolder;
beforeAll(() => {
  cli = cliFolder();
});
afterAll(() => cli.remove());

const rejected = {
  decision: 'rejected',
  passed: false,
  severity: 'high',
  issues: [{ severity: 'critical', category: 'code', description: 'too long' }],
  feedback: 'shorten it',
};
const made = ['a', 'b', 'c', 'd'];

const STORIES = {
  name: 'board',
  loop: 'stories',
  refinement: { maxIterations: 1 },
  input: { stories: [{ id: 'S-1', title: 'Export', body: 'Rows as CSV.' }] },
  agents: {
    research: { script: made },
    plan: { script: made },
    implement: { script: made },
    'create-pr': { script: made },
    review: { script: [rejected, rejected, { decision: 'approved', passed: true, issues: [] }] },
  },
};

describe('stories', () => {
  it('a story that was sent back too often is shown, reset, and ends', async () => {
    const file = cli.file('board.yaml', STORIES);
    const ran = await cli.run('run', file, '--auto');
    expect(ran.stdout).toContain('board-1 asks a person');
    expect(ran.code).toBe(3);
    expect((await cli.run('show', 'S-1')).stdout).toContain('refinements: 1 of 1');
    expect(await cli.json(['show', 'board'])).toMatchObject({ steps: [{ id: 'S-1', status: 'asking' }] });
    expect(await cli.json(['reset', 'S-1', '--max', '2', '--by', 'ada'])).toMatchObject({
      run: 'board-1',
      reset: true,
    });
    const resumed = await cli.run('resume');
    expect(resumed.stdout).toContain('board-1: verified');
    expect(resumed.code).toBe(0);
    expect(await cli.json(['show', 'S-1'])).toMatchObject({ key: 'S-1', story: { verdict: 'verified' } });
  });
});
