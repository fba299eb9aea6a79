import { createRegistry, type Registry } from '../../src/actors/registry.ts';
import type { Head } from '../../src/index.ts';
import { OWN_ACTORS } from '../../src/machines/own-actors.ts';
import type { SimulatedLoop } from '../simulation/loop-world.ts';

/** What a stored log of a loop must come to when it is lived again. */
export interface GoldenLoop {
  readonly name: string;
  readonly head: Head;
  readonly actors: number;
  /** Of all states that its actors are left in. */
  readonly states: string;
}

/** Where the log of a loop is: lines as an export writes them. */
export const goldenFile = (name: string): string => `${name.replaceAll(' ', '-')}.jsonl`;

export const loopRegistry = ({ workflows }: Pick<SimulatedLoop, 'workflows'>): Registry => {
  const registry = createRegistry();
  registry.register(OWN_ACTORS);
  registry.register(workflows);
  return registry;
};
