/**
 * Replays the log given as its argument with everything taken away that a replay must not need: the clock, randomness, new ids.
 * Says in one line of JSON what came of it, and where it was.
 */
import { createRuntime } from 'loopwright';
import { alarm, callOnce, decision, diary, dice, tally } from '../support/machines.ts';

const runtime = await createRuntime({
  file: process.argv[2] ?? '',
  workflows: [alarm, callOnce, decision, diary, dice, tally],
  agents: { worker: () => null },
  idle: true,
});

const refuse = (what: string) => () => {
  throw new Error(`A replay asked for ${what}.`);
};
const RealDate = Date;
const place = { zone: Intl.DateTimeFormat().resolvedOptions().timeZone };
Date.now = refuse('the time');
globalThis.Date = new Proxy(RealDate, {
  construct: (target, given: readonly number[]) =>
    given.length === 0 ? refuse('the time')() : new target(given[0] ?? 0),
});
Math.random = refuse('a random number');
globalThis.crypto.randomUUID = refuse('an id');
globalThis.crypto.getRandomValues = refuse('random values');
performance.now = refuse('the time');

const { log, replay } = await runtime.verify();
console.log(JSON.stringify({ place, log: log.ok, replay }));
