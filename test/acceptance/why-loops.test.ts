import { expect, it } from 'vitest';
import {
  answer,
  createRuntime,
  phaseRun,
  planRun,
  type Runtime,
  storyLoop,
  treeRun,
  type Workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { expectReplays } from '../support/runtimes.ts';

interface Loop {
  readonly workflow: Workflow;
  readonly input: unknown;
  readonly agents: Readonly<Record<string, () => unknown>>;
  readonly limit: string;
}

let made = 0;
const anew = () => {
  made += 1;
  return { made };
};

const LOOPS: Readonly<Record<string, Loop>> = {
  'feedback between agents': {
    workflow: planRun('p', { steps: [{ id: 'pm' }, { id: 'arch', needs: ['pm'] }] }) as Workflow,
    input: 'task',
    agents: {
      pm: anew,
      arch: () =>
        answer(null, {
          feedback: [
            {
              type: 'technical_infeasibility',
              targets: ['pm'],
              severity: 'high',
              description: 'no',
              requirement: 'R',
            },
          ],
        }),
    },
    limit: 'rounds',
  },
  stories: {
    workflow: storyLoop('p', { mode: 'auto' }) as Workflow,
    input: { stories: [{ id: 'a', title: 'A' }] },
    agents: {
      research: anew,
      plan: anew,
      implement: anew,
      'create-pr': anew,
      review: () => ({
        decision: 'rejected',
        passed: false,
        issues: [{ severity: 'critical', category: 'logic', description: `fault ${anew().made}` }],
        feedback: 'no',
      }),
    },
    limit: 'reworks',
  },
  phases: {
    workflow: phaseRun('p', {
      phases: [
        { id: 'planning' },
        { id: 'design', needs: ['planning'] },
        { id: 'look', needs: ['design'], kind: 'review' },
      ],
    }) as Workflow,
    input: 'task',
    agents: {
      planning: anew,
      design: anew,
      look: () => ({
        assessment: 'FAIL',
        issues: [
          {
            severity: 'critical',
            category: 'logic',
            description: `fault ${anew().made}`,
            affectedPhases: ['design'],
          },
        ],
      }),
    },
    limit: 'passes',
  },
  'a tree': {
    workflow: treeRun('p', { nodes: [{ id: 'model' }, { id: 'spec', parent: 'model' }] }) as Workflow,
    input: { task: 'task' },
    agents: {
      model: anew,
      spec: () =>
        answer(
          { passed: false },
          {
            feedback: [
              {
                from_node: 'spec',
                to_node: 'model',
                feedback_type: 'FIX_REQUEST',
                priority: 'high',
                message: `no ${anew().made}`,
                suggested_fix: 'mend it',
              },
            ],
          },
        ),
    },
    limit: 'pairRounds',
  },
};

it.each(Object.keys(LOOPS))(
  'X7: why %s waits, with the limit, what it counted, and commands that let it go on',
  async (name) => {
    const loop = LOOPS[name];
    if (!loop) throw new Error('There is no such loop.');
    const file = temporaryFile();
    const { workflow, agents, input, limit } = loop;
    const options = { file, workflows: [workflow], agents, printEscalations: false, runsFolder: null };
    const runtime: Runtime = await createRuntime(options);
    const run = await runtime.start('p', input, { id: 'r' });
    await run.settled();
    await runtime.close();
    const second: Runtime = await createRuntime(options);
    const why = await second.why('r');
    expect(why.text).toContain(`The limit "${limit}"`);
    expect(why.counted.length).toBeGreaterThan(0);
    expect(why.commands.length).toBeGreaterThan(0);
    const before = (await second.audit({ run: 'r', limit: 10_000 })).length;
    for (const command of why.commands)
      expect(await second.execute(command, { by: 'ada' })).toMatchObject({ taken: true });
    await (await second.run('r')).settled();
    // It went on: agents were called again before it came to the same limit.
    const after = await second.audit({ run: 'r', limit: 10_000 });
    expect(after.slice(before).some(({ type }) => type === 'lw.call.done')).toBe(true);
    await second.close();
    await expectReplays(file, [workflow]);
  },
);
