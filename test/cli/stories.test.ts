import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CliFolder, cliFolder, jsonLines } from '../support/cli.ts';

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
/** Each for a quarter of a dollar. */
const made = ['a', 'b', 'c', 'd'].map((output) => ({ loopwright: 1, output, usage: { costUsd: 0.25 } }));

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
    const resumed = await cli.run('resume', '--json');
    expect(resumed.code).toBe(0);
    const lines = jsonLines(resumed.stdout);
    const passes = lines.filter(({ type }) => type === 'progress');
    // The bound is that of the story, as it is after the reset.
    expect(passes.map(({ passesMax }) => passesMax)).toEqual(passes.map(() => 3));
    const ended = lines.at(-1);
    expect(ended).toMatchObject({ type: 'ended', verdict: 'verified' });
    const { calls, costUsd } = ended as { readonly calls: number; readonly costUsd: number };
    expect({ calls, costUsd }).toEqual({ calls: 9, costUsd: 1.5 });
    // Whoever looks says the same of it.
    expect(await cli.json(['ps'])).toMatchObject([{ calls, costUsd }]);
    expect(await cli.json(['stats'])).toMatchObject({ workflows: [{ calls, costUsd }] });
    expect(await cli.json(['show', 'board'])).toMatchObject({ calls, costUsd });
    expect(await cli.json(['show', 'S-1'])).toMatchObject({ key: 'S-1', story: { verdict: 'verified' } });
  });
});
