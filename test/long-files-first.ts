import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, the longest first. */
const LONG = [
  'faults/kill',
  'simulation/loops',
  'acceptance/tight-loop',
  'simulation/simulation',
  'acceptance/many-stories',
  'acceptance/random-plans',
  'acceptance/story-limits',
  'simulation/runtime-simulation',
  'proofs/shipped-loops',
  'proofs/bound',
  'faults/io-errors',
  'graph/machines',
  'proofs/tree',
  'phases/proofs',
  'acceptance/agents',
  'faults/story-kill',
  'actors/equivalence',
  'store/writer-lock',
  'feedback/random-feedback',
  'acceptance/examples',
];

/** Begins with the files that take longest, so that no core waits for the last of them alone. */
export class LongFilesFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other));
  }
}

function rank({ moduleId }: TestSpecification): number {
  const index = LONG.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return index === -1 ? LONG.length : index;
}
