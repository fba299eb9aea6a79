import { createRegistry } from '../../src/actors/registry.ts';
import { encode } from '../../src/events/encode.ts';
import type { Workflow } from '../../src/index.ts';
import { OWN_ACTORS } from '../../src/machines/own-actors.ts';
import type { ExploredSystem } from '../../src/proofs/explored-system.ts';
import { Keys } from '../../src/proofs/keys.ts';
import type { Outcomes } from '../../src/proofs/outcomes.ts';
import { PrivateSteps } from '../../src/proofs/private-steps.ts';
import { reductionsFor } from '../../src/proofs/reductions.ts';
import { Stepper } from '../../src/proofs/stepper.ts';

const MODE = {
  summarizes: true,
  isExact: false,
  counts: false,
  setsAside: true,
  forgets: true,
  renames: false,
  foretells: true,
  hasPersons: false,
};

/** What an exploration drives a run with. */
export const explorationOf = (workflow: Workflow, outcomes: Outcomes) => {
  const registry = createRegistry();
  registry.register([...OWN_ACTORS, workflow]);
  const stepper = new Stepper(registry, outcomes);
  const keys = new Keys(reductionsFor(registry, {}, MODE));
  const idOf = keys.idOf.bind(keys);
  const { name, version } = registry.newest(workflow.name) ?? { name: '', version: 0 };
  const input = encode(workflow.options.prepare?.({ task: null }) ?? null, { undefinedMembers: 'drop' });
  /** A run that has just begun. */
  const start = (): ExploredSystem =>
    stepper.start({ kind: 'start', run: 'run', workflow: name, version, input }).system;
  return { stepper, keys, idOf, own: new PrivateSteps(stepper, idOf), start };
};
