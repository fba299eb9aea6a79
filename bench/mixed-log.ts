import {
  agent,
  answer,
  createRuntime,
  phaseRun,
  planRun,
  repeatLoop,
  storyLoop,
  tightLoop,
  treeRun,
} from 'loopwright';

/** The loops of the package, all in one log: each corrects something once or twice. */
export const mixedLoops = () => {
  const part = planRun('part', { steps: [{ id: 'draft', agent: 'writer' }] });
  const plan = planRun('plan', {
    steps: [
      { id: 'write', agent: 'writer' },
      { id: 'lint', agent: 'linter', needs: ['write'] },
      { id: 'docs', agent: 'writer', needs: ['write'] },
      { id: 'review', needs: ['lint', 'docs'], gate: { reviewers: ['critic', 'second'], corrects: 'write' } },
    ],
    limits: { passes: 4 },
    onLimit: 'stop',
  });
  const nested = planRun('nested', {
    steps: [
      { id: 'inner', run: part },
      { id: 'check', needs: ['inner'], gate: { reviewers: ['critic'], corrects: 'inner' } },
    ],
    onLimit: 'stop',
  });
  const workflows = [
    part,
    plan,
    nested,
    tightLoop({ maxIterations: 5, onLimit: 'stop' }),
    repeatLoop('again', { agent: 'worker', onLimit: 'stop' }),
    planRun('talk', {
      steps: [
        { id: 'prd', agent: 'pm' },
        { id: 'design', agent: 'architect', needs: ['prd'] },
      ],
      onLimit: 'stop',
    }),
    phaseRun('phases', {
      phases: [
        { id: 'planning', agent: 'writer' },
        { id: 'coding', agent: 'writer', needs: ['planning'] },
        { id: 'look', kind: 'review', agent: 'inspector', needs: ['coding'] },
      ],
      onLimit: 'stop',
    }),
    storyLoop('stories', { mode: 'auto', reviewers: ['judge'] }),
    treeRun('tree', {
      nodes: [
        { id: 'model', agent: 'writer' },
        { id: 'spec', agent: 'verifier', parent: 'model' },
      ],
      onLimit: 'stop',
    }),
  ] as const;
  return workflows;
};

interface Passing {
  readonly input: { readonly pass: number };
}

/** What each run is started with. */
const STARTS = {
  plan: 'Add CSV export',
  nested: 'Add CSV export',
  'tight-loop': 'Add CSV export',
  again: 'Add CSV export',
  talk: 'Add CSV export',
  phases: 'Add CSV export',
  stories: { stories: [{ id: 'csv', title: 'Add CSV export', body: 'People want their data.' }] },
  tree: { task: 'Add CSV export' },
} as const;
const NAMES = Object.keys(STARTS) as (keyof typeof STARTS)[];
const IN_FLIGHT = 200;

/** Writes a log of so many events or more, by running so many loops side by side. Gives how many it has. */
export const writeMixedLog = async (file: string, events: number, inFlight = IN_FLIGHT): Promise<number> => {
  const many = { concurrency: 10_000 };
  const issues = (found: boolean, what: string) =>
    found
      ? {
          passed: false,
          issues: [{ severity: 'critical', category: 'logic', description: `${what} is missing` }],
        }
      : { passed: true, issues: [] };
  const words = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta'];
  const runtime = await createRuntime({
    file,
    workflows: [...mixedLoops()],
    durability: 'normal',
    runsFolder: null,
    agents: {
      writer: agent(
        ({ feedback }) => ({ text: `draft ${feedback.length} of a text that is as long as short ones are` }),
        many,
      ),
      linter: agent(() => ({ warnings: 0 }), many),
      critic: agent(({ input }) => issues(!JSON.stringify(input).includes('draft 1'), 'a second try'), many),
      second: agent(() => issues(false, ''), many),
      developer: agent(({ input }: Passing) => ({ summary: `change ${input.pass}` }), many),
      reviewer: agent(() => issues(false, ''), many),
      tester: agent(({ input }: Passing) => issues(input.pass < 3, words[input.pass] ?? 'it'), many),
      pm: agent(({ feedback }) => ({ requirements: feedback.length }), many),
      architect: agent(
        ({ feedback }) =>
          feedback.length > 0
            ? { modules: 3 }
            : answer(null, {
                feedback: [
                  {
                    type: 'technical_infeasibility',
                    targets: ['pm'],
                    severity: 'high',
                    requirement: 'REQ-1',
                    description: 'This cannot be done in so little time.',
                  },
                ],
              }),
        many,
      ),
      inspector: agent(
        ({ input }) =>
          JSON.stringify(input).includes('draft 1')
            ? { assessment: 'PASS', issues: [] }
            : {
                assessment: 'FAIL',
                issues: [
                  {
                    severity: 'high',
                    category: 'logic',
                    description: 'no quotes',
                    affectedPhases: ['coding'],
                  },
                ],
              },
        many,
      ),
      research: agent(() => ({ known: true }), many),
      plan: agent(() => ({ steps: 3 }), many),
      implement: agent(({ feedback }) => ({ patch: feedback.length }), many),
      'create-pr': agent(() => ({ url: 'here' }), many),
      judge: agent(
        ({ input }) =>
          JSON.stringify(input).includes('"patch":0')
            ? {
                decision: 'rejected',
                passed: false,
                issues: [{ severity: 'critical', category: 'logic', description: 'no quotes' }],
                feedback: 'not yet',
              }
            : { decision: 'approved', passed: true, issues: [], feedback: '' },
        many,
      ),
      verifier: agent(
        ({ input }) =>
          JSON.stringify(input).includes('draft 1')
            ? { passed: true }
            : answer(
                { passed: false },
                {
                  feedback: [
                    {
                      from_node: 'spec',
                      to_node: 'model',
                      feedback_type: 'FIX_REQUEST',
                      priority: 'high',
                      message: 'no quotes',
                      suggested_fix: 'quote',
                    },
                  ],
                },
              ),
        many,
      ),
      worker: agent(
        ({ input }: { readonly input: { readonly repeat: number } }) => ({ done: input.repeat >= 4 }),
        many,
      ),
    },
  });
  let committed = 0;
  runtime.events$.subscribe(() => {
    committed += 1;
  });
  let next = 0;
  const follow = async (): Promise<void> => {
    const name = NAMES[next % NAMES.length] ?? 'plan';
    next += 1;
    await (await runtime.start(name, STARTS[name])).result();
    if (committed < events) await follow();
  };
  await Promise.all(Array.from({ length: inFlight }, follow));
  await runtime.close();
  return committed;
};
