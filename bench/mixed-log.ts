import { agent, createRuntime, planRun, repeatLoop, tightLoop } from 'loopwright';

/** The loops of the package, all in one log: tight loops, plans with gates, nested runs, and the same agent again. */
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
  ] as const;
  return workflows;
};

interface Passing {
  readonly input: { readonly pass: number };
}

const NAMES = ['plan', 'nested', 'tight-loop', 'again'] as const;
const IN_FLIGHT = 200;

/** Writes a log of so many events by running all loops side by side. Gives how many it has. */
export const writeMixedLog = async (file: string, events: number): Promise<number> => {
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
    await (await runtime.start(name, 'Add CSV export')).result();
    if (committed < events) await follow();
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, follow));
  await runtime.close();
  return committed;
};
