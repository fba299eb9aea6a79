import { dirname } from 'node:path';
import { expect, it } from 'vitest';
import { answer, planRun } from '../../src/index.ts';
import { cutMessage, MESSAGE_LENGTH_MAX } from '../../src/results/test-report.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { createPlanter, filesIn, leaksIn } from '../support/planted.ts';
import { open } from '../support/runtimes.ts';

const plant = createPlanter();

/** No secret by any rule: what is looked for as a control. */
const CONTROL = 'an-undeclared-word-of-no-shape';

it('S12: what a host, and agents that are functions, bring in leaves no secret in the log or beside it', async () => {
  const file = temporaryFile();
  const plan = planRun('plan', {
    steps: [
      { id: 'prd', agent: 'pm' },
      { id: 'design', agent: 'architect', needs: ['prd'] },
    ],
    roles: { pm: { backoffMs: 0 } },
  });
  let calls = 0;
  const runtime = await open({
    file,
    workflows: [plan],
    secrets: { values: plant.values, names: [plant.name] },
    printEscalations: false,
    agents: {
      pm: ({ progress }) => {
        progress({ at: plant.value('progress') });
        calls += 1;
        if (calls === 1) throw new Error(`no: ${plant.value('an error that is thrown')}`);
        return answer(plant.object('an output'), {
          issues: [{ description: plant.text('an issue'), severity: 'low' }],
          artifacts: { made: plant.value('an artifact') },
        });
      },
      // It waits for what is decided about its feedback, which is the host's to say.
      architect: () =>
        answer(null, {
          feedback: [
            {
              type: 'constraint_violation',
              targets: ['architect'],
              severity: 'high',
              requirement: 'R-1',
              description: `${CONTROL} ${plant.text('feedback')}`,
              details: plant.object('details of feedback'),
              options: [{ option: 'a', effort: plant.value('an option of feedback') }],
            },
          ],
        }),
    },
  });
  const run = await runtime.start('plan', plant.object('an input'), {
    id: 'r',
    by: plant.value('who starts'),
  });
  await run.context.set('project.key', plant.value('a value of the context'));
  await run.context.import({ project: plant.object('an imported context') });
  const triggered = await runtime.feedback.trigger({
    run: 'r',
    source: 'architect',
    type: 'missing_requirement',
    targets: ['pm'],
    severity: 'high',
    requirement: 'R-2',
    description: plant.text('feedback of the host'),
    options: [{ option: 'x' }],
  });
  await runtime.feedback.resolve(
    triggered,
    { option: 'x', value: plant.value('a resolution') },
    { by: plant.value('who resolves'), note: plant.value('a note') },
  );
  await run.settled();
  await run.cancel({ reason: plant.value('a reason'), by: plant.value('who cancels') });
  await runtime.close();

  const files = filesIn(dirname(file));
  expect(plant.planted().length).toBeGreaterThan(25);
  expect(leaksIn(files, plant.planted())).toEqual([]);
  // Control: what is no secret is found.
  expect(leaksIn(files, [{ where: 'the control', needles: [CONTROL] }])).not.toEqual([]);
});

it('S12: what is cut from a report is cut between words, so that no half of a token is left', () => {
  const token = `ghp_${'a1B2'.repeat(9)}`;
  for (let before = MESSAGE_LENGTH_MAX - 60; before <= MESSAGE_LENGTH_MAX + 5; before += 1) {
    const cut = cutMessage(`${'x'.repeat(before)} ${token} and so on`);
    expect(cut.includes('ghp_') && !cut.includes(token)).toBe(false);
  }
  expect(cutMessage('y'.repeat(MESSAGE_LENGTH_MAX + 1))).toBe('…');
});
