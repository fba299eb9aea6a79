import type { Scene } from './scene.ts';
import { type Walked, walk } from './walk.ts';

/** What is written down of a scene: whoever changes a machine sees here what that comes to. */
export interface Report {
  readonly moments: number;
  readonly edges: number;
  readonly moves: number;
  readonly rows: number;
  readonly deadLetters: number;
  readonly rests: Readonly<Record<string, number>>;
  /** How many of the machine's transitions are taken. */
  readonly transitions: number;
  readonly facts: string;
  readonly contexts: string;
}

export const nameOf = ({ machine, about }: Scene): string => `${machine}: ${about}`;

export const reportOn = ({ rests, taken, contexts, facts, ...walked }: Walked): Report => ({
  moments: walked.moments,
  edges: walked.edges,
  moves: walked.moves,
  rows: walked.rows,
  deadLetters: walked.deadLetters,
  rests: Object.fromEntries(Object.entries(rests).sort(([one], [other]) => (one < other ? -1 : 1))),
  transitions: taken.transitions.size,
  facts,
  contexts,
});

export const reportOf = (scene: Scene): Report => reportOn(walk(scene));
