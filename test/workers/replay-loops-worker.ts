/**
 * Replays logs of shipped loops, given as pairs of a loop's name and a file, twice each and with everything taken away that a replay
 * must not need. Says in one line of JSON for each what came of it.
 */
import { createRuntime } from '../../src/index.ts';
import { LOOPS } from '../simulation/loops.ts';
import { withoutWorld } from '../support/without-world.ts';

const pairs = process.argv.slice(2);
const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
for (let index = 0; index < pairs.length; index += 2) {
  const [name, file = ''] = pairs.slice(index);
  const loop = LOOPS.find((each) => each.name === name);
  if (!loop) throw new Error(`There is no loop ${name}.`);
  const runtime = await createRuntime({
    file,
    workflows: loop.workflows,
    agents: {},
    readOnly: true,
    printEscalations: false,
  });
  const giveBack = withoutWorld();
  const { log, replay } = await runtime.verify();
  const again = await runtime.verify();
  giveBack();
  await runtime.close();
  console.log(JSON.stringify({ name, zone, log: log.ok, replay, again: again.replay }));
}
