import { describe, expect, it } from 'vitest';
import { answer, createRuntime, planRun } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { createTeam, play, type Request, reports, rosterPlan } from '../support/roster.ts';
import { expectReplays, open } from '../support/runtimes.ts';

const LOAD_TIME = {
  type: 'technical_infeasibility',
  targets: ['pm'],
  severity: 'high',
  description: 'Half a second cannot be reached.',
  requirement: 'REQ-089',
  details: {
    analysis: '50 MB over 3G take at least two and a half seconds.',
    alternatives: ['load less at first', 'two seconds'],
    recommendation: 'ask for two seconds',
  },
} as const;

describe('a requirement that cannot be met', () => {
  it('B3: finding and analysis reach pm, pm works again, and the architect validates again', async () => {
    const { verdict, calls, requests, loops, context } = await play({
      steps: { architect: reports(1, LOAD_TIME) },
    });
    expect(verdict).toBe('verified');
    const after = calls.slice(calls.indexOf('architect') + 1).filter((call) => call !== 'ux-expert');
    expect(after).toEqual(['pm', 'architect', 'developer', 'qa']);
    const again = requests.filter(({ input }) => 'analysis' in input.inputs).at(-1);
    expect(again?.feedback).toMatchObject([
      {
        from: 'architect',
        pass: 1,
        issues: [{ description: LOAD_TIME.description, requirement: 'REQ-089', ...LOAD_TIME.details }],
      },
    ]);
    expect(loops).toMatchObject([
      {
        status: 'resolved',
        rounds: [{ validated: true, details: LOAD_TIME.details, responses: { pm: { answers: [] } } }],
      },
    ]);
    // What the architect had found out stays known.
    expect(context).toMatchObject({
      agents: { pm: { feedback: [{ details: LOAD_TIME.details, resolved: true }] } },
      loops: expect.anything(),
    });
  });

  it.each([
    ['by its name', 'draft', ['draft', 'polish', 'check']],
    ['by its number', 1, ['draft', 'polish', 'check']],
    ['the last one unless said', undefined, ['polish', 'check']],
  ])('B3: pm works again from a step given %s', async (_, from, expected) => {
    const file = temporaryFile();
    const ran: string[] = [];
    const plan = planRun('steps', {
      steps: [
        { id: 'draft', agent: 'pm' },
        { id: 'polish', agent: 'pm', needs: ['draft'] },
        { id: 'check', agent: 'architect', needs: ['polish'] },
      ],
    });
    const feedback = [{ ...LOAD_TIME, ...(from !== undefined && { from }) }];
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        pm: ({ input, feedback: heard }: Request) => {
          const step = 'draft' in input.inputs ? 'polish' : 'draft';
          ran.push(step);
          return `${step} ${heard.length} ${JSON.stringify(input.inputs)}`;
        },
        architect: ({ feedback: heard }: Request) => {
          ran.push('check');
          return heard.length === 0 ? answer(null, { feedback }) : 'good';
        },
      },
    });
    const run = await runtime.start('steps', null, { id: 'r' });
    expect((await run.result()).verdict).toBe('verified');
    expect(ran.slice(3)).toEqual(expected);
    await runtime.close();
    await expectReplays(file, [plan]);
  });

  it('B3, B7, B16: found again, it is the next round of the same loop, three in all; then a person is asked', async () => {
    const { verdict, loops, requests } = await play({ steps: { architect: reports(99, LOAD_TIME) } });
    expect(verdict).toBeNull();
    const [loop] = loops;
    expect(loops).toHaveLength(1);
    expect(loop).toMatchObject({ status: 'escalated', escalationReason: 'The limit "rounds" of 3 was met.' });
    expect(loop?.rounds.map(({ round, validated }) => [round, validated])).toEqual([
      [1, false],
      [2, false],
      [3, false],
    ]);
    expect(requests.filter(({ input }) => 'analysis' in input.inputs)).toHaveLength(4);
  });

  it('B14: a technology that is not on the list (REQ-056)', async () => {
    const given = { ...LOAD_TIME, requirement: 'REQ-056', description: 'The list has no such database.' };
    const { verdict, loops } = await play({ steps: { architect: reports(1, given) } });
    expect(verdict).toBe('verified');
    expect(loops).toMatchObject([{ requirement: 'REQ-056', status: 'resolved' }]);
  });
});

const CSV = {
  type: 'missing_requirement',
  targets: ['pm', 'developer'],
  severity: 'medium',
  description: 'There is no export as CSV.',
  requirement: 'US-045',
  details: { testCase: 'TC-045', acceptanceCriteria: 'Users can export as CSV.' },
} as const;

const chooses = (option: string) => () => ({ option });
const decidedBy = (option: string) => ({ pm: chooses(option), developer: chooses(option) });

describe('a gap between what was asked for and what was made', () => {
  it.each([
    ['add_missing_requirement', ['pm', 'architect', 'ux-expert', 'developer', 'qa'], 'verified'],
    ['fix_implementation', ['developer', 'qa'], 'verified'],
    ['mark_as_limitation', ['qa'], 'accepted'],
    ['revise_acceptance_criteria', ['pm', 'qa'], 'verified'],
  ])('B4: %s runs %j again and ends %s', async (option, again, verdict) => {
    const played = await play({
      steps: { qa: reports(1, CSV) },
      decides: decidedBy(option),
    });
    expect(played.calls.slice(6, 8).toSorted()).toEqual(['developer?', 'pm?']);
    const rest = played.calls.slice(8);
    const sorted = (calls: readonly string[]) => calls.toSorted();
    expect(sorted(rest)).toEqual(sorted(again));
    expect(rest.at(-1)).toBe('qa');
    expect(played.verdict).toBe(verdict);
    expect(played.debt.map(({ description }) => description)).toEqual(
      verdict === 'accepted' ? [CSV.description] : [],
    );
    expect(played.loops).toMatchObject([
      { status: 'resolved', details: { testCase: 'TC-045' }, resolution: { option } },
    ]);
  });

  const gap = {
    requirements: 'agents.pm.outputs.prd.requirements',
    implementation: 'agents.developer.outputs.code.exports',
  };
  const lists = {
    pm: () => ({
      requirements: [
        { id: 'csv', kind: 'file' },
        { id: 'json', kind: 'file' },
      ],
    }),
    developer: () => ({ exports: [{ id: 'json', kind: 'stream' }, { id: 'xml' }] }),
  };

  it('B4: the gap is computed and shown to those who decide', async () => {
    const { asked } = await play(
      { steps: { ...lists, qa: reports(1, CSV) }, decides: decidedBy('mark_as_limitation') },
      { gap },
    );
    expect(asked.map(({ details }) => details['gap'])).toEqual([
      {
        missing: [{ id: 'csv', kind: 'file' }],
        extra: [{ id: 'xml' }],
        differing: [
          { id: 'json', asked: { id: 'json', kind: 'file' }, made: { id: 'json', kind: 'stream' } },
        ],
      },
      expect.anything(),
    ]);
  });

  it('B4: a function of the workflow may compute it instead', async () => {
    const { asked, loops } = await play(
      { steps: { ...lists, qa: reports(1, CSV) }, decides: decidedBy('mark_as_limitation') },
      {
        gap: { ...gap, function: 'count' },
        functions: { count: (wanted, made) => ({ asked: (wanted as []).length, made: (made as []).length }) },
      },
    );
    expect(asked[0]?.details['gap']).toEqual({ asked: 2, made: 2 });
    expect(loops[0]?.details).toMatchObject({ gap: { asked: 2, made: 2 } });
  });

  it('B14: a metric that is missed (REQ-067), with what it is and what it should be', async () => {
    const slow = {
      ...CSV,
      requirement: 'REQ-067',
      description: 'It answers too slowly.',
      details: { metric: 'response time', actual: '2 s', target: '500 ms' },
    };
    const { verdict, loops, asked } = await play({
      steps: { qa: reports(1, slow) },
      decides: decidedBy('fix_implementation'),
    });
    expect(verdict).toBe('verified');
    expect(asked[0]?.details).toEqual(slow.details);
    expect(loops).toMatchObject([{ requirement: 'REQ-067', details: slow.details }]);
  });

  it('B4: a function that is not there is refused when the plan is declared', () => {
    expect(() => rosterPlan({ gap: { ...gap, function: 'nobody' } })).toThrow(/calls the function "nobody"/);
  });
});

it('B1: feedback goes to agents before or beside the sender; what cannot be delivered fails its step with all that is wrong', async () => {
  const file = temporaryFile();
  const bad = { ...LOAD_TIME, targets: ['developer', 'nobody', 'architect'] };
  const { agents } = createTeam({ steps: { architect: reports(1, bad) } });
  const plan = rosterPlan();
  const runtime = await open({ file, workflows: [plan], agents });
  const run = await runtime.start('product', null, { id: 'r' });
  await run.settled();
  await runtime.close();
  const second = await createRuntime({ file, workflows: [plan], agents, idle: true });
  const [question] = await second.questions();
  expect(question?.text).toContain('"developer" comes after "architect"');
  expect(question?.text).toContain('no step is of the agent "nobody"; there are analyst, pm');
  expect(question?.text).toContain('"architect" cannot send feedback to itself');
  await second.close();
  await expectReplays(file, [plan]);
});

it('B1: the one beside it works again', async () => {
  const beside = { ...LOAD_TIME, targets: ['ux-expert'], requirement: 'REQ-1' };
  const { verdict, calls } = await play({ steps: { architect: reports(1, beside) } });
  expect(verdict).toBe('verified');
  expect(calls.filter((call) => call === 'ux-expert')).toHaveLength(2);
  expect(calls.filter((call) => call === 'developer')).toHaveLength(1);
});
