/**
 * A service that needs a model which nobody has planned: the planner adds it, it is made, and the service is made again. What was
 * made before stays as it is.
 *
 *   npm run examples && node build/examples/tree-missing-node.js
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AgentRequest,
  answer,
  createRuntime,
  type NodeInput,
  treeFeedbackLog,
  treeRun,
} from 'loopwright';

type Request = AgentRequest<NodeInput>;

const refunds = treeRun('refunds', {
  nodes: [
    { id: 'workflow-root', agent: 'planner', plans: true },
    { id: 'create-payment-model', parent: 'workflow-root', agent: 'builder' },
    {
      id: 'create-payment-processor',
      parent: 'workflow-root',
      agent: 'processor',
      needs: ['create-payment-model'],
    },
  ],
});

const calls: string[] = [];
const called = ({ input }: Request): void => void calls.push(input.node);

const runtime = await createRuntime({
  file: join(mkdtempSync(join(tmpdir(), 'loopwright-')), 'refunds.db'),
  workflows: [refunds],
  agents: {
    /** Adds what is missed. Whatever is below it is given its result without the plan. */
    planner: (request: Request) => {
      called(request);
      const isTold = request.feedback.length > 0;
      return {
        goal: 'refunds',
        ...(isTold && { plan: { add: [{ id: 'create-refund-model', agent: 'builder' }] } }),
      };
    },
    builder: (request: Request) => {
      called(request);
      return { made: request.input.node };
    },
    processor: (request: Request) => {
      called(request);
      if (request.input.inputs['create-refund-model']) return { made: 'the processor' };
      return answer(null, {
        feedback: [
          {
            type: 'FEEDBACK',
            from_node: 'create-payment-processor',
            to_node: 'workflow-root',
            feedback_type: 'DEPENDENCY_MISSING',
            message: 'There is no Refund model to work with.',
            suggested_action: 'Make one before this service.',
            priority: 'critical',
          },
        ],
      });
    },
  },
});
const run = await runtime.start('refunds', { task: 'Give money back' });
const { verdict } = await run.result();
for (const { timestamp: _, ...row } of (await runtime.read(treeFeedbackLog, run.id)).audit)
  console.log(JSON.stringify(row));
console.log(`${verdict}: ${calls.join(', ')}`);
await runtime.close();
