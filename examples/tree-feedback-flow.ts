/**
 * A whole flow with real files: one program writes a model, another checks it and reports what is missing with the lines of its own
 * check; the model is mended and checked again. At the end stand the feedback file, which can be read again, and the
 * statistics.
 *
 *   npm run examples && node build/examples/tree-feedback-flow.js [folder]
 */
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  agent,
  createRuntime,
  feedbackRows,
  feedbackStatistics,
  formatFeedback,
  parseFeedback,
  treeFeedbackLog,
  treeRun,
} from 'loopwright';

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'loopwright-'));

/** Stands for a coding agent: writes the model, and keeps what it was given. */
const WRITER = `
import { readFileSync, writeFileSync } from 'node:fs';
const { feedback } = JSON.parse(readFileSync(0, 'utf8'));
writeFileSync('received-' + feedback.length + '.json', JSON.stringify(feedback, undefined, 2));
const rules = ['amount', ...feedback.map(({ suggestedFix }) => /require (\\w+)/.exec(suggestedFix)[1])];
writeFileSync('payment.json', JSON.stringify({ requires: rules }));
console.log(JSON.stringify({ model: 'payment.json', requires: rules }));
`;

/** Stands for a test runner: what it finds it reports in an envelope, with the file that says so. */
const CHECKER = `
import { readFileSync } from 'node:fs';
readFileSync(0);
const { requires } = JSON.parse(readFileSync('payment.json', 'utf8'));
const lines = readFileSync('payment.spec', 'utf8').split('\\n');
const at = lines.findIndex((line) => line.startsWith('requires ') && !requires.includes(line.slice(9)));
const name = at === -1 ? '' : lines[at].slice(9);
console.log(JSON.stringify(at === -1 ? { passed: true } : {
  loopwright: 1,
  output: { passed: false },
  artifacts: { 'payment.spec': lines.join('\\n') },
  feedback: [{
    type: 'FEEDBACK',
    from_node: 'test-payment-model',
    to_node: 'create-payment-model',
    feedback_type: 'FIX_REQUEST',
    message: 'payment.spec:' + (at + 1) + ': a payment without ' + name + ' is let through',
    suggested_fix: 'require ' + name,
    priority: 'high',
    artifacts: ['payment.spec:' + (at + 1)],
  }],
}));
`;

mkdirSync(folder, { recursive: true });
for (const [name, text] of Object.entries({
  'writer.mjs': WRITER,
  'checker.mjs': CHECKER,
  'payment.spec': 'a payment\nrequires amount\nrequires email\n',
}))
  writeFileSync(join(folder, name), text);

const node = process.execPath;
const runtime = await createRuntime({
  file: join(folder, 'work.db'),
  workflows: [
    treeRun('payments', {
      nodes: [
        { id: 'create-payment-model', agent: 'writer' },
        { id: 'test-payment-model', agent: 'checker', parent: 'create-payment-model' },
      ],
    }),
  ],
  agents: {
    writer: agent.command(node, ['writer.mjs'], { cwd: folder }),
    checker: agent.command(node, ['checker.mjs'], { cwd: folder }),
  },
});

runtime.events$.subscribe(({ kind, type, data: { source, target, round } }) => {
  if (kind === 'fact' && type.startsWith('feedback.'))
    console.log(
      `${type.slice('feedback.'.length)}: ${source as string} → ${target as string}, round ${round as number}`,
    );
});
const run = await runtime.start('payments', { task: 'Take payments' }, { id: 'payments' });
const { verdict } = await run.result();
const log = await runtime.read(treeFeedbackLog, run.id);
await runtime.close();

const file = join(folder, 'feedback.jsonl');
writeFileSync(file, formatFeedback(feedbackRows(log)));
const again = parseFeedback(readFileSync(file, 'utf8'));
const { successRate, meanRounds } = feedbackStatistics(log);
for (const { timestamp: _, ...row } of log.audit) console.log(JSON.stringify(row));
console.log(
  `${verdict}; ${again.rows.length} row read again, ${again.refused.length} refused; success rate ${successRate}, mean rounds ${meanRounds}`,
);
