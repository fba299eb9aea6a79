import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AgentRequest, type Json, planRun, storyLoop, type Workflow } from '../../src/index.ts';
import { Random } from '../simulation/random.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { open, rounds } from '../support/runtimes.ts';

const refine = storyLoop('refine', {
  refinement: { maxIterations: 1, escalateOnMaxAttempts: 'skip' },
  onFailure: 'stop',
  roles: {
    ...Object.fromEntries(
      ['research', 'plan', 'implement', 'create-pr'].map((role) => [role, { attempts: 2, backoffMs: 0 }]),
    ),
    review: { backoffMs: 0 },
  },
});

const release = (said: Json = null, calls: number | null = 1_000) =>
  planRun('release', {
    steps: [
      { id: 'outline', agent: 'planner' },
      { id: 'stories', run: refine, needs: ['outline'], with: said },
    ],
    limits: { calls, ...(calls === null && { unbounded: 'to see that there need not be one' }) },
    onLimit: 'stop',
    roles: { planner: { attempts: 1 } },
  });

const work = ({ input }: AgentRequest<{ readonly story: { readonly id: string }; readonly phase: string }>) =>
  `${input.phase} of ${input.story.id}`;

const agents = (outline: Json) => ({
  planner: () => outline,
  research: work,
  plan: work,
  implement: work,
  'create-pr': work,
  review: () => ({ decision: 'approved', passed: true, issues: [], feedback: '' }),
});

const runOf = async (outline: Json, said: Json = null) => {
  const workflows: readonly Workflow[] = [refine as Workflow, release(said) as Workflow];
  const runtime = await open({ file: temporaryFile(), workflows, agents: agents(outline) });
  const run = await runtime.start('release', 'CSV export', { id: 'r' });
  return { ...(await run.result()), runtime };
};

describe('stories as a step of a plan', () => {
  it('R1, T10: are those that the step before it has made, and what was made of them goes on', async () => {
    const { verdict, output } = await runOf({ stories: [{ id: 'rows', title: 'Rows' }, { id: 'quotes' }] });
    expect(verdict).toBe('verified');
    expect(output).toMatchObject({
      outputs: {
        stories: {
          verdict: 'verified',
          run: 1,
          outputs: {
            stories: {
              rows: { title: 'Rows', verdict: 'verified', work: { implement: 'implement of rows' } },
              quotes: { verdict: 'verified', work: { implement: 'implement of quotes' } },
            },
          },
        },
      },
    });
  });

  it('R1, T10: are those that the plan says, files too, whatever the step before it has made', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'nested-'));
    const file = join(folder, 'rows.md');
    writeFileSync(file, '---\ntitle: Rows\n---\nAs CSV.\n');
    const { verdict, output } = await runOf({ stories: [{ id: 'other' }] }, { stories: [file] });
    expect(verdict).toBe('verified');
    expect(Object.keys(storiesIn(output))).toEqual(['rows']);
    expect(readFileSync(file, 'utf8')).toContain('status: done');
  });

  it('T10: without any, what the step is given is one story', async () => {
    const { verdict, output, runtime } = await runOf('an outline');
    expect(verdict).toBe('verified');
    expect(storiesIn(output)).toMatchObject({ story: { title: 'CSV export', verdict: 'verified' } });
    const asked = await runtime.audit({ run: 'r', types: ['agent.request'], limit: 10 });
    expect(asked[1]?.data['request']).toMatchObject({
      input: {
        story: { id: 'story', title: 'CSV export', body: 'CSV export' },
        task: { input: { inputs: { outline: 'an outline' } }, feedback: [] },
      },
    });
  });

  it.each([
    ['names a file', { stories: ['/tmp/nested-stories-never.md'] }, /"nested-stories-never" names a file/],
    ['has none', { stories: [] }, /there is no story/],
    ['is there twice', { stories: [{ id: 'a' }, { id: 'a' }] }, /two stories "a"/],
    ['has no id', { stories: [{ title: 'a' }] }, /story 1: it has no id/],
  ])('R1, X1: an outline that %s fails the step, with what is wrong', async (_, outline, reason) => {
    const { verdict, output } = await runOf(outline);
    expect(verdict).toBe('failed');
    expect(output).toMatchObject({ spent: { calls: 1 }, reason: expect.stringMatching(reason) });
    expect(existsSync('/tmp/nested-stories-never.md')).toBe(false);
  });

  // Method: so many stories side by side, and so many calls for all of them; agents fail and find fault at random.
  it('X4: however many are worked on at once, they make no more calls than the plan has left', async () => {
    const cases = fc.record({
      count: fc.integer({ min: 1, max: 6 }),
      calls: fc.integer({ min: 1, max: 40 }),
      seed: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(cases, async ({ count, calls: most, seed }) => {
        const random = new Random(seed);
        let calls = 0;
        const counted = Object.fromEntries(
          Object.entries(
            agents({ stories: Array.from({ length: count }, (_, nth) => ({ id: `s${nth}` })) }),
          ).map(([role, agent]) => [
            role,
            (request: AgentRequest<never>) => {
              calls += 1;
              if (role !== 'planner' && random.chance(0.2)) throw new Error('not now');
              return role === 'review' && random.chance(0.3)
                ? {
                    decision: 'rejected',
                    passed: false,
                    issues: [{ severity: 'high', category: 'code', description: 'no' }],
                    feedback: '',
                  }
                : agent(request);
            },
          ]),
        );
        const workflows = [refine as Workflow, release(null, most) as Workflow];
        const runtime = await open({ file: ':memory:', workflows, agents: counted, printEscalations: false });
        const { output } = await (await runtime.start('release', null, { id: 'r' })).result();
        await runtime.close();
        expect(calls).toBeLessThanOrEqual(most);
        expect(output).toMatchObject({ spent: { calls } });
        // What is left is not kept from those who could use it.
        if (reasonOf(output).includes('The limit "calls"')) expect(calls).toBe(most);
      }),
      { numRuns: rounds(15, 500) },
    );
  });
});

const storiesIn = (output: unknown): Readonly<Record<string, { readonly verdict: string }>> => {
  const { outputs } = output as {
    readonly outputs: { readonly stories?: { readonly outputs?: { readonly stories?: object } } };
  };
  return (outputs.stories?.outputs?.stories ?? {}) as Readonly<Record<string, { readonly verdict: string }>>;
};

const reasonOf = (output: unknown): string => (output as { readonly reason: string | null }).reason ?? '';
