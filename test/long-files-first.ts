import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** What takes longest, the longest first. */
const LONG = [
  'simulation/loops',
  'faults/kill',
  'simulation/runtime-simulation',
  'cli/going-on',
  'acceptance/tight-loop',
  'actors/equivalence',
  'graph/machines',
  'cli/looking-back',
  'acceptance/agents',
  'acceptance/many-stories',
  'cli/verdicts',
  'proofs/shipped-loops',
  'simulation/simulation',
  'cli/planted-secrets',
  'faults/io-errors',
  'cli/bombs',
  'cli/commands',
  'documentation/code',
  'acceptance/story-limits',
  'acceptance/story-files',
  'acceptance/stories',
  'proofs/tree',
  'cli/moving',
  'cli/hints',
  'acceptance/examples',
  'proofs/bound',
  'store/writer-lock',
  'faults/story-kill',
  'faults/commit-failures',
  'phases/proofs',
  'acceptance/what-if-loops',
  'acceptance/what-if',
  'acceptance/random-plans',
  'feedback/random-feedback',
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
