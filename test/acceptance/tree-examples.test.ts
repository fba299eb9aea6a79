import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import type { NodeFeedback } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';

const runExample = (name: string, ...args: readonly string[]) => {
  const lines = execFileSync(process.execPath, [`build/examples/${name}.js`, ...args], { encoding: 'utf8' })
    .trimEnd()
    .split('\n');
  const rows = lines.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line) as object);
  return { rows, lines: lines.filter((line) => !line.startsWith('{')), end: lines.at(-1) };
};

/** The audit of one feedback that is resolved in its first round. */
const resolved = (type: string, source: string, target: string) =>
  ['queued', 'delivered', 'resolved'].map((status) => ({
    feedback_id: 'FB-001',
    type,
    source,
    target,
    round: 1,
    status,
  }));

it('C1, C8: a failing test has the model mended, and looks again', () => {
  const { rows, end } = runExample('tree-test-driven');
  expect(rows).toEqual(resolved('FIX_REQUEST', 'test-payment-model', 'create-payment-model'));
  expect(end).toBe('verified');
});

it('C1, C12: a missing model is planned, made, and used', () => {
  const { rows, end } = runExample('tree-missing-node');
  expect(rows).toEqual(resolved('DEPENDENCY_MISSING', 'create-payment-processor', 'workflow-root'));
  expect(end).toBe(
    'verified: workflow-root, create-payment-model, create-payment-processor, workflow-root, create-refund-model, create-payment-processor',
  );
});

it('C1, C13: a design that goes in a circle is planned anew; what stays the same is not made again', () => {
  const { rows, end } = runExample('tree-new-design');
  expect(rows).toEqual(resolved('ARCHITECTURE_ISSUE', 'create-invoice-service', 'plan-invoice-feature'));
  const calls = end?.replace('verified: ', '').split(', ') ?? [];
  expect(calls.filter((node) => node === 'create-customer')).toHaveLength(1);
  expect(calls.slice(-4)).toEqual([
    'plan-invoice-feature',
    'create-payment',
    'create-invoice-payment',
    'create-invoice-service',
  ]);
});

it('C1, C8, C10, C15, C16: a whole flow with programs as agents, its feedback file and its statistics', () => {
  const folder = dirname(temporaryFile());
  const { rows, lines, end } = runExample('tree-feedback-flow', folder);
  expect(rows).toEqual(resolved('FIX_REQUEST', 'test-payment-model', 'create-payment-model'));
  expect(lines.slice(0, 3)).toEqual([
    'queued: test-payment-model → create-payment-model, round 1',
    'delivered: test-payment-model → create-payment-model, round 1',
    'resolved: test-payment-model → create-payment-model, round 1',
  ]);
  expect(end).toBe('verified; 1 row read again, 0 refused; success rate 1, mean rounds 1');
  // What the program had on its standard input.
  const received = JSON.parse(
    readFileSync(join(folder, 'received-1.json'), 'utf8'),
  ) as readonly NodeFeedback[];
  expect(received).toMatchObject([
    {
      id: 'FB-001',
      from: 'test-payment-model',
      message: 'payment.spec:3: a payment without email is let through',
      artifacts: [{ path: 'payment.spec', lines: '3', content: 'requires email' }],
    },
  ]);
  const [line = ''] = readFileSync(join(folder, 'feedback.jsonl'), 'utf8').split('\n');
  expect(JSON.parse(line)).toMatchObject({
    type: 'FEEDBACK',
    feedback_id: 'FB-001',
    status: 'resolved',
    round: 1,
  });
});
