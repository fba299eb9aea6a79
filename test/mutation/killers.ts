import { readFileSync } from 'node:fs';
import { check, type IRawProperty } from 'fast-check';
import { nameOf, type Report, reportOf } from '../graph/report.ts';
import type { Scene } from '../graph/scene.ts';
import { SCENES } from '../graph/scenes.ts';
import { queueOrder } from '../machines/queue-order.ts';

/** Something that finds a mutant, if it gives another result than what is written down. */
export interface Killer {
  readonly name: string;
  /** What differs from what was written down; null if nothing does. */
  readonly run: () => string | null;
}

/** The same file that test/graph goes by: what is found here fails there. */
const EXPECTED = JSON.parse(readFileSync('test/graph/expected.json', 'utf8')) as Readonly<
  Record<string, Report>
>;

/** Coarse before fine: what only rows and contexts show says little about what goes wrong. */
const MEMBERS = [
  'moments',
  'edges',
  'moves',
  'rests',
  'transitions',
  'deadLetters',
  'rows',
  'facts',
  'contexts',
] as const;

const differenceOf = (found: Report, expected: Report | undefined): string | null =>
  MEMBERS.find((member) => JSON.stringify(found[member]) !== JSON.stringify(expected?.[member])) ?? null;

const ofScene = (scene: Scene): Killer => {
  const name = nameOf(scene);
  return { name, run: () => differenceOf(reportOf(scene), EXPECTED[name]) };
};

/** The same cases each time, so that a mutant is found or not found for good. */
const SEED = 1;

const ofProperty = (name: string, property: IRawProperty<unknown, false>): Killer => ({
  name: `a property: ${name}`,
  run: () => (check(property, { seed: SEED }).failed ? 'the property does not hold' : null),
});

export const KILLERS: readonly Killer[] = [
  ...SCENES.map(ofScene),
  ofProperty('the queue of feedback keeps its order', queueOrder),
];
