/**
 * Owns the log given as its argument until it is killed: starts a run that waits for a person for each further argument, unless
 * it is there already, and says `START` once all of them wait. Commands come through the inbox.
 */
import { writeSync } from 'node:fs';
import { createRuntime, isRuntimeError } from 'loopwright';
import { decision, tally } from '../support/machines.ts';

const [file = '', ...ids] = process.argv.slice(2);
const runtime = await createRuntime({ file, workflows: [decision, tally], agents: {} });
for (const id of ids) {
  await runtime.start('decision', null, { id }).catch((error: unknown) => {
    if (!isRuntimeError(error, 'RUN_EXISTS')) throw error;
  });
}
writeSync(1, 'START\n');
// The runtime itself does not keep the process alive.
setInterval(() => undefined, 60_000);
