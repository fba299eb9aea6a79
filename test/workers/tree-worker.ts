/**
 * Runs a tree with scripted agents on a log, or takes up the one that is there, and writes how it ended to standard output. With
 * --kill-at it kills itself once so many events were published, with --kill-at-effect once agents have acted so often.
 */
import { parseArgs } from 'node:util';
import {
  type AgentRequest,
  answer,
  createRuntime,
  type NodeInput,
  treeFeedbackLog,
  treeRun,
} from 'loopwright';
import { noted } from '../support/effects.ts';

const { values } = parseArgs({
  options: {
    file: { type: 'string', default: '' },
    'kill-at': { type: 'string', default: '0' },
    'kill-at-effect': { type: 'string', default: '0' },
  },
});
const killAt = Number(values['kill-at']);
const effects = { file: values.file, killAt: Number(values['kill-at-effect']) };

type Request = AgentRequest<NodeInput>;

const report = (from: string, to: string, more: object) =>
  answer(
    { passed: false },
    {
      feedback: [
        {
          type: 'FEEDBACK',
          from_node: from,
          to_node: to,
          message: `${from} to ${to}`,
          priority: 'high',
          ...more,
        },
      ],
    },
  );

/** What an agent does follows from what it is given alone: it may be called twice for the same. */
const agents = {
  planner: ({ input, feedback }: Request) => ({
    goal: input.task,
    ...(feedback.length > 0 && { plan: { add: [{ id: 'refund', agent: 'builder' }] } }),
  }),
  builder: ({ input, history, attempt }: Request) => {
    if (history.length > 0 && attempt === 1) throw new Error('not yet');
    return { made: input.node, version: history.length };
  },
  /** Content with the third version: two rounds. */
  spec: ({ input }: Request) => {
    const { version } = input.inputs['model'] as { version: number };
    return version >= 2
      ? { passed: true }
      : report('spec', 'model', { feedback_type: 'FIX_REQUEST', suggested_fix: 'more' });
  },
  service: ({ input }: Request) =>
    input.inputs['refund']
      ? { made: 'service' }
      : report('service', 'plan', { feedback_type: 'DEPENDENCY_MISSING', suggested_action: 'add a refund' }),
};

const runtime = await createRuntime({
  file: values.file,
  workflows: [
    treeRun('tree', {
      nodes: [
        { id: 'plan', agent: 'planner', plans: true },
        { id: 'model', parent: 'plan', agent: 'builder' },
        { id: 'spec', parent: 'model' },
        { id: 'service', parent: 'plan', needs: ['spec'] },
      ],
      onLimit: 'stop',
      roles: { builder: { backoffMs: 1 } },
    }),
  ],
  agents: noted(agents, effects),
});
let events = 0;
runtime.events$.subscribe(() => {
  events += 1;
  if (events === killAt) process.kill(process.pid, 'SIGKILL');
});
const [known] = await runtime.runs();
const run = known
  ? await runtime.run(known.id, 'tree')
  : await runtime.start('tree', { task: 'refunds' }, { id: 'r' });
const { turns: _, ...result } = await run.result();
const { audit, rows } = await runtime.read(treeFeedbackLog, run.id);
await runtime.close();
console.log(
  JSON.stringify({
    result,
    events,
    audit: audit.map(({ timestamp: __, ...row }) => row),
    rounds: Object.values(rows).map(({ feedback_id: id, round, status }) => [id, round, status]),
  }),
);
