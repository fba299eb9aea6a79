import { describe, expect, it } from 'vitest';
import { assign, setup } from 'xstate';
import {
  type AgentOutcome,
  agentCall,
  type Json,
  planRun,
  repeatLoop,
  treeRun,
  type Workflow,
  type WorstCase,
  type WorstCaseOptions,
  workflow,
} from '../../src/index.ts';
import { questionMachine } from '../../src/machines/question-machine.ts';
import { open } from '../support/runtimes.ts';

const prove = async (
  proved: Workflow,
  options: WorstCaseOptions,
  input: unknown = null,
): Promise<WorstCase> => {
  const runtime = await open({ file: ':memory:', workflows: [proved], agents: {}, idle: true });
  const proof = await runtime.worstCase(proved.name, input, options);
  await runtime.close();
  return proof;
};

const bounds = ({ result, turns, calls, requests, callsByAgent, unreachable }: WorstCase) => ({
  result,
  turns,
  calls,
  requests,
  callsByAgent,
  unreachable: unreachable['lw.agent'],
});

/** All that is told of a workflow must be the same with shortcuts, with each of them checked everywhere, and without any. */
const expectSame = async (proved: Workflow, options: WorstCaseOptions, input: unknown = null) => {
  const usual = await prove(proved, options, input);
  const thorough = await prove(proved, { ...options, thorough: true }, input);
  const plain = await prove(proved, { ...options, summaries: false, statesMax: 200_000 }, input);
  expect(plain.result).toBe('proved');
  expect(bounds(usual)).toEqual(bounds(plain));
  expect(bounds(thorough)).toEqual(bounds(plain));
};

const NEW: AgentOutcome = { name: 'new', output: ({ nth }) => ({ $fresh: nth }) };
const FAILS: AgentOutcome = { name: 'fails', fails: true };

const request = (from: string, to: string): Json => [
  {
    from_node: from,
    to_node: to,
    feedback_type: 'FIX_REQUEST',
    message: 'm',
    suggested_fix: 'f',
    priority: 'critical',
  },
];

interface GivenToNode {
  readonly node: string;
  readonly verifies: readonly Json[];
}

const asks = (to: string): AgentOutcome => ({
  name: `asks ${to}`,
  output: { passed: false },
  feedback: ({ input }) => request((input as unknown as GivenToNode).node, to),
});

const TASK = { task: null };

// Each of these was told wrongly once.
describe('a proof that takes shortcuts', () => {
  it('K5: an answer that is refused here and taken there is tried', async () => {
    /** Nonsense at first, and a request that can be taken when the agent verifies. */
    const late: AgentOutcome = {
      name: 'late',
      output: { passed: false },
      feedback: ({ input }) =>
        (input as unknown as GivenToNode).verifies.length > 0 ? request('b', 'r') : [{}],
    };
    const said: Readonly<Record<string, readonly AgentOutcome[]>> = {
      r: [NEW, FAILS],
      a: [NEW, asks('r'), FAILS],
      b: [NEW, asks('a'), late, FAILS],
      c: [NEW, FAILS],
    };
    const nodes = [{ id: 'r' }, { id: 'a', parent: 'r' }, { id: 'b', parent: 'a' }, { id: 'c', parent: 'a' }];
    const roles = Object.fromEntries(nodes.map(({ id }) => [id, { attempts: 2 }]));
    const tree = treeRun('t', { nodes, roles }) as Workflow;
    const outcomes = (agent: string) => said[agent] ?? [];
    const usual = bounds(await prove(tree, { outcomes }, TASK));
    // What it is without shortcuts (5,799 states), too.
    expect(usual).toMatchObject({ turns: 100, callsByAgent: { a: 14, b: 12, c: 4, r: 10 } });
    expect(bounds(await prove(tree, { outcomes, thorough: true }, TASK))).toEqual(usual);
  });

  it('K5: nodes that share their agent, refused in turns, end', async () => {
    const nodes = [{ id: 'r' }, { id: 'a', parent: 'r' }, { id: 'b', parent: 'r' }];
    const tree = treeRun('t', {
      nodes: nodes.map((node) => ({ ...node, agent: 'dev' })),
      roles: { dev: { attempts: 2 } },
      limits: { pairRounds: 1 },
    }) as Workflow;
    await expectSame(tree, {}, TASK);
  });

  it('K5: what fails here and answers there under one name is told apart', async () => {
    const plan = planRun('w', {
      steps: [
        { id: 'a' },
        { id: 'b', needs: ['a'] },
        { id: 'g', gate: { reviewers: ['g'], corrects: 'a' }, needs: ['b'] },
      ],
      roles: { a: { attempts: 1 }, b: { attempts: 3 }, g: { attempts: 1 } },
      limits: { passes: 5 },
      onLimit: 'stop',
    }) as Workflow;
    const issue = (nth: number) => ({
      severity: 'critical',
      category: '$fresh',
      description: `new issue no${nth}`,
    });
    const outcomes = (agent: string, input: Json): readonly AgentOutcome[] => {
      if (agent === 'a')
        return [
          {
            name: 'makes',
            output: ({ nth, made }) => (made.length >= 3 ? { $fresh: nth, late: true } : { $fresh: nth }),
          },
        ];
      if (agent === 'b')
        return [
          JSON.stringify(input).includes('late') ? { name: 'go', output: 'B' } : { name: 'go', fails: true },
          NEW,
        ];
      return [
        { name: 'ok', output: { passed: true, issues: [] } },
        { name: 'bad', output: ({ nth }) => ({ passed: false, issues: [issue(nth)] }) },
      ];
    };
    await expectSame(plan, { outcomes });
  });

  it('K5: a limit on calls that is near counts for each agent', async () => {
    const nodes = [{ id: 'n0' }, { id: 'n1', parent: 'n0' }, { id: 'n2', parent: 'n1' }];
    const roles = {
      n0: { attempts: 1, timeLimitMs: 1_000 },
      n1: { attempts: 3, timeLimitMs: 1_000 },
      n2: { attempts: 2 },
    };
    await expectSame(treeRun('w', { nodes, roles, limits: { calls: 7 } }) as Workflow, {}, TASK);
  });

  it('K5: where a limit ends the run, it counts which feedback is sent first', async () => {
    const nodes = [{ id: 'r' }, { id: 'a', parent: 'r' }, { id: 'b', parent: 'a' }];
    const roles = Object.fromEntries(nodes.map(({ id }) => [id, { attempts: 1 }]));
    const tree = treeRun('t', { nodes, roles, onLimit: 'stop', limits: { pairRounds: 2 } }) as Workflow;
    await expectSame(tree, {}, TASK);
  });

  it('K5: a state that an agent comes to by its last try is reached', async () => {
    await expectSame(repeatLoop('w', { agent: 'x', limits: { repeats: 1 } }) as Workflow, {});
  });

  it('K5: a reduction that loses what a person’s decision depends on is noticed', async () => {
    const asking = setup({
      types: { context: {} as { said: string | null } },
      actors: { worker: agentCall<null, string>(), question: questionMachine },
    }).createMachine({
      context: { said: null },
      initial: 'first',
      states: {
        first: {
          invoke: {
            src: 'worker',
            input: () => null,
            onDone: { target: 'asking', actions: assign({ said: ({ event }) => event.output }) },
          },
        },
        asking: {
          tags: 'waiting',
          invoke: {
            id: 'question',
            src: 'question',
            input: () => ({
              text: 'Go on?',
              details: null,
              options: [
                { id: 'go', label: 'Yes' },
                { id: 'end', label: 'No' },
              ],
              isFree: false,
              levels: [],
              onExpiry: 'stop' as const,
            }),
            onDone: [
              {
                guard: ({ context, event }) =>
                  'option' in event.output && event.output.option === 'go' && context.said === 'b',
                target: 'endless',
              },
              { target: 'done' },
            ],
          },
        },
        endless: {
          invoke: { src: 'worker', input: () => null, onDone: { target: 'endless', reenter: true } },
        },
        done: { type: 'final' },
      },
    });
    const outcomes = () => ['a', 'b'].map((name) => ({ name, output: name }));
    const chart = workflow('asking', asking) as Workflow;
    const reduced = await prove(chart, { outcomes, persons: true, reduce: { asking: () => null } });
    expect(reduced.afterDecisions?.result).toBe('inconclusive');
    const whole = await prove(chart, { outcomes, persons: true });
    expect(whole.result).toBe('not proved');
  });
});
