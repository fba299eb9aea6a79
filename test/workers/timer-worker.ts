/**
 * Owns the log given as its argument and sets alarms. It is told what to do on standard input, line by line:
 *
 *   set <id> <delay in ms>   says `SET <id>` once it is in the log
 *   reopen                   closes the runtime, opens it again, and says `OPEN`
 *
 * For each alarm it says `RUNG <id> <wall clock> <monotonic clock>`, both in milliseconds, when it hears that it rang.
 */
import { writeSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { createRuntime } from 'loopwright';
import { alarm } from '../support/machines.ts';

const file = process.argv[2] ?? '';

/** Written before the next line of this program runs. */
const say = (...words: readonly unknown[]): void => {
  writeSync(1, `${words.join(' ')}\n`);
};

const open = async () => {
  const runtime = await createRuntime({ file, workflows: [alarm], agents: {} });
  runtime.events$.subscribe(({ type, run }) => {
    if (type === 'lw.timer.fired') say('RUNG', run, Date.now(), performance.now());
  });
  // Said after what rang while nobody was there, as both come from the same thread.
  say('OPEN', Date.now(), performance.now());
  return runtime;
};

let runtime = await open();
for await (const line of createInterface({ input: process.stdin })) {
  const [command, id = '', delayMs] = line.split(' ');
  if (command === 'set') {
    say('SETTING', id, Date.now(), performance.now());
    await runtime.start('alarm', { delayMs: Number(delayMs) }, { id });
    say('SET', id);
  } else if (command === 'reopen') {
    await runtime.close();
    runtime = await open();
  }
}
