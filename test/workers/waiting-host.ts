/** Starts a run that asks a person, waits for its end, and says how it ended. Nothing else keeps its process running. */
import { createRuntime, planRun } from 'loopwright';

const runtime = await createRuntime({
  file: process.argv[2] ?? '',
  workflows: [
    planRun('signed', {
      steps: [{ id: 'sign', agent: 'boss' }],
      persons: { boss: { text: 'Shall it be sent?' } },
    }),
  ],
  agents: {},
});
const run = await runtime.start('signed', null, { id: 'r' });
await run.settled();
console.log('waiting');
console.log((await run.result()).verdict);
await runtime.close();
