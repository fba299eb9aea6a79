/**
 * Replays the log given as its argument with everything taken away that a replay must not need: the clock, randomness, new ids.
 * Says in one line of JSON what came of it, and where it was.
 */
import { createRuntime } from 'loopwright';
import { alarm, callOnce, decision, diary, dice, tally } from '../support/machines.ts';
import { withoutWorld } from '../support/without-world.ts';

const runtime = await createRuntime({
  file: process.argv[2] ?? '',
  workflows: [alarm, callOnce, decision, diary, dice, tally],
  agents: { worker: () => null },
  idle: true,
});

const place = { zone: Intl.DateTimeFormat().resolvedOptions().timeZone };
withoutWorld();

const { log, replay } = await runtime.verify();
console.log(JSON.stringify({ place, log: log.ok, replay }));
