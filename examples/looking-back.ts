/**
 * A run that meets a limit, looked at from all sides: why it waits, who did what, what would have been, and whether a changed
 * machine would have changed it.
 *
 *   npm run examples && node build/examples/looking-back.js
 */
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createRuntime, planRun, toSequenceDiagram } from 'loopwright';

const folder = mkdtempSync(join(tmpdir(), 'loopwright-'));
let calls = 0;

const poem = planRun('poem', {
  steps: [
    { id: 'write', agent: 'poet' },
    { id: 'review', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
  ],
  limits: { passes: 2 },
});

const runtime = await createRuntime({
  file: join(folder, 'work.db'),
  workflows: [poem],
  agents: {
    poet: ({ feedback }) => {
      calls += 1;
      return { lines: feedback.length + 1 };
    },
    critic: ({ input }) => {
      calls += 1;
      const { lines } = input.inputs['write'] as { readonly lines: number };
      const issues = [
        { severity: 'critical', category: 'length', description: `${lines} lines are not enough` },
      ];
      return lines >= 4 ? { passed: true, issues: [] } : { passed: false, issues };
    },
  },
});
const run = await runtime.start('poem', 'about the sea', { id: 'sea', by: 'ada' });
await run.settled();

const why = await runtime.why('sea');
console.log(
  `${why.standing}: the limit "${why.limit?.limit}" of ${why.limit?.bound} counted ${why.counted.length} events`,
);
for (const { what } of why.counted) console.log(`  ${what}`);

const before = calls;
const ifTwoMore = await runtime.whatIf('sea', { limits: { passes: 4 }, calls: 'make' });
const { verdict } = await ifTwoMore.run.result();
console.log(
  `with 4 passes: ${verdict}, ${ifTwoMore.reused} answers used again, ${calls - before} calls made`,
);
await ifTwoMore.close();

for (const command of why.commands) await runtime.execute(command, { by: 'bob' });
console.log(`went on: ${(await run.result()).verdict}`);

const audit = await runtime.auditOf({ run: 'sea', agent: 'bob' });
for (const { who, what } of audit.entries) console.log(`${who} ${what}`);
writeFileSync(join(folder, 'audit.md'), (await runtime.auditOf({ run: 'sea' })).toMarkdown());
writeFileSync(join(folder, 'sequence.mmd'), toSequenceDiagram(await runtime.audit({ run: 'sea' })));

const blind = { ...poem, machine: poem.machine.provide({ guards: { isComplete: () => false } }) };
const [changed] = await runtime.compareMachines({ machines: [blind] });
console.log(`under a machine that is never complete: ${changed?.kind}, ${changed?.difference?.text}`);
await runtime.close();
