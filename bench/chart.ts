import { type Agent, agent, tightLoop } from 'loopwright';

/** The chart of the benchmark is the shipped one: a tight loop and its agents, each an actor. It is good in its third pass. */
export const loop = tightLoop({ maxIterations: 5, onLimit: 'stop' });

export const GOAL =
  'Add an export of the report as CSV, with a header row, quoting as RFC 4180 asks for, and a test for each. '.repeat(
    2,
  );

interface Passing {
  readonly input: { readonly pass: number };
}

const WORDS = ['', 'the header row', 'quoting of line breaks', 'quoting of quotes', 'the test', 'the rest'];

const checked = (passed: boolean, pass: number) => ({
  passed,
  issues: passed
    ? []
    : [
        {
          description: `In pass ${pass}, ${WORDS[pass]} is still missing or wrong, and has to be mended.`,
          severity: 'major',
          file: 'src/export.ts',
        },
      ],
});

/** The agents of the loop. `before` is waited for before each answer; `count` of each may be at work at once. */
export const loopAgents = (before: () => Promise<void> | undefined, count: number) => {
  const options = { concurrency: count };
  const answering = <Answer>(give: (pass: number) => Answer): Agent<{ readonly pass: number }, Answer> =>
    agent(async ({ input }: Passing) => {
      await before();
      return give(input.pass);
    }, options);
  return {
    developer: answering((pass) => ({ summary: `Pass ${pass}: ${WORDS[pass]} is there now. `.repeat(4) })),
    reviewer: answering((pass) => checked(pass >= 2, pass)),
    tester: answering((pass) => checked(pass >= 3, pass)),
  };
};
