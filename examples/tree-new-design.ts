/**
 * A design that goes in a circle: whoever finds it out tells the planner, which plans anew with a model between the two. Nodes that
 * are the same in the new plan are not made again.
 *
 *   npm run examples && node build/examples/tree-new-design.js
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

const invoices = treeRun('invoices', {
  nodes: [
    { id: 'plan-invoice-feature', agent: 'planner', plans: true },
    { id: 'create-customer', parent: 'plan-invoice-feature', agent: 'builder' },
    {
      id: 'create-payment',
      parent: 'plan-invoice-feature',
      agent: 'builder',
      with: { refersTo: ['invoice'] },
    },
    {
      id: 'create-invoice-service',
      parent: 'plan-invoice-feature',
      agent: 'invoicer',
      needs: ['create-payment', 'create-customer'],
      with: { refersTo: ['payment'] },
    },
  ],
});

/** Neither refers to the other any more: a model of its own joins them. */
const NEW_DESIGN = [
  { id: 'create-customer', agent: 'builder' },
  { id: 'create-payment', agent: 'builder', with: { refersTo: [] } },
  {
    id: 'create-invoice-payment',
    agent: 'builder',
    with: { refersTo: ['invoice', 'payment'] },
    needs: ['create-payment'],
  },
  {
    id: 'create-invoice-service',
    agent: 'invoicer',
    needs: ['create-payment', 'create-customer', 'create-invoice-payment'],
    with: { refersTo: [] },
  },
];

const calls: string[] = [];
const called = ({ input }: Request): void => void calls.push(input.node);

const runtime = await createRuntime({
  file: join(mkdtempSync(join(tmpdir(), 'loopwright-')), 'invoices.db'),
  workflows: [invoices],
  agents: {
    planner: (request: Request) => {
      called(request);
      return { goal: 'invoices', ...(request.feedback.length > 0 && { plan: { nodes: NEW_DESIGN } }) };
    },
    builder: (request: Request) => {
      called(request);
      return { made: request.input.node, ...(request.input.with as object) };
    },
    invoicer: (request: Request) => {
      called(request);
      const { refersTo } = request.input.with as { refersTo: string[] };
      const payment = request.input.inputs['create-payment'] as { refersTo: string[] };
      const isCircle = refersTo.includes('payment') && payment.refersTo.includes('invoice');
      if (!isCircle) return { made: 'the invoice service' };
      return answer(null, {
        feedback: [
          {
            type: 'FEEDBACK',
            from_node: 'create-invoice-service',
            to_node: 'plan-invoice-feature',
            feedback_type: 'ARCHITECTURE_ISSUE',
            message: 'Invoice and Payment refer to each other.',
            suggested_fix: 'Put a model between them that refers to both.',
            priority: 'critical',
          },
        ],
      });
    },
  },
});
const run = await runtime.start('invoices', { task: 'Write invoices' });
const { verdict } = await run.result();
for (const { timestamp: _, ...row } of (await runtime.read(treeFeedbackLog, run.id)).audit)
  console.log(JSON.stringify(row));
console.log(`${verdict}: ${calls.join(', ')}`);
await runtime.close();
