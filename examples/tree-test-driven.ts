/**
 * A test that fails for what the node above it left out: the model is mended with what the test says, and the test looks
 * again. Every change of the feedback's status is a row.
 *
 *   npm run examples && node build/examples/tree-test-driven.js
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

const payments = treeRun('payments', {
  nodes: [{ id: 'create-payment-model' }, { id: 'test-payment-model', parent: 'create-payment-model' }],
});

/** Stands for a coding agent: it writes what it was asked for, and what it was told that is missing. */
const writeModel = ({ feedback }: Request) => ({
  validates: ['amount', ...(feedback.length > 0 ? ['email'] : [])],
});

/** Stands for a test runner. */
const testModel = ({ input }: Request) => {
  const { validates } = input.inputs['create-payment-model'] as { validates: string[] };
  if (validates.includes('email')) return { passed: true };
  return answer(
    { passed: false },
    {
      feedback: [
        {
          type: 'FEEDBACK',
          from_node: 'test-payment-model',
          to_node: 'create-payment-model',
          feedback_type: 'FIX_REQUEST',
          message: 'A payment without an e-mail address was let through.',
          suggested_fix: 'Require the e-mail address in the model.',
          priority: 'high',
          artifacts: ['spec/models/payment_spec.rb:2-3'],
        },
      ],
      artifacts: {
        'spec/models/payment_spec.rb': 'describe Payment do\n  it "needs an email"\n    expect(...)\nend',
      },
    },
  );
};

const runtime = await createRuntime({
  file: join(mkdtempSync(join(tmpdir(), 'loopwright-')), 'payments.db'),
  workflows: [payments],
  agents: { 'create-payment-model': writeModel, 'test-payment-model': testModel },
});
const run = await runtime.start('payments', { task: 'Take payments' });
const { verdict } = await run.result();
for (const { timestamp: _, ...row } of (await runtime.read(treeFeedbackLog, run.id)).audit)
  console.log(JSON.stringify(row));
console.log(verdict);
await runtime.close();
