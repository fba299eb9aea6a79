import { describe, expect, it } from 'vitest';
import {
  createRuntime,
  type GivenLimits,
  type GivenPhase,
  PIPELINE,
  phaseRun,
  type Workflow,
} from '../../src/index.ts';

const prove = async (phases: readonly GivenPhase[], limits: GivenLimits = {}) => {
  const names = phases.flatMap(({ id, agent = id, reviewers = [agent] }) => reviewers);
  const declared = phaseRun('pipe', {
    phases,
    limits,
    roles: Object.fromEntries(names.map((name) => [name, { attempts: 1 }])),
    functions: { shape: () => ['never called'] },
  }) as Workflow;
  const runtime = await createRuntime({ file: ':memory:', workflows: [declared], agents: {} });
  try {
    return await runtime.worstCase('pipe', null);
  } finally {
    await runtime.close();
  }
};

const PAIR: readonly GivenPhase[] = [
  { id: 'planning' },
  { id: 'design', needs: ['planning'], passes: 2 },
  { id: 'review', kind: 'review', needs: ['planning', 'design'], passes: 2 },
];

describe('K5: a phase run comes to an end, whatever its agents do', () => {
  it('P6, P9, P15: with issues old and new, reports that nobody can read, and work that changes nothing', async () => {
    const proof = await prove(PAIR);
    expect([proof.result, proof.problem, proof.deadEnds]).toEqual(['proved', null, []]);
    expect(proof.mayAsk).toBe(true);
    expect(proof.verdicts).toEqual(['verified']);
    // Each of the two finders lets it begin anew once.
    expect(proof.callsByAgent).toEqual({ planning: 3, design: 3, review: 2 });
    expect(proof.text).toBe('at most 8 calls of agents in 16 turns, then it ends or asks a person');
  });

  it('P7: with shapes that fit or do not', async () => {
    const proof = await prove([
      { id: 'planning', output: 'shape', passes: 2 },
      { id: 'design', needs: ['planning'], input: { planning: 'shape' } },
    ]);
    expect([proof.result, proof.problem, proof.deadEnds]).toEqual(['proved', null, []]);
    expect(proof.verdicts).toEqual(['verified']);
    expect(proof.calls).toBeGreaterThan(3);
  });

  it('P2: with several reviewers', async () => {
    const proof = await prove([
      { id: 'text' },
      { id: 'review', reviewers: ['ann', 'ben'], needs: ['text'], passes: 2 },
    ]);
    expect([proof.result, proof.problem, proof.deadEnds]).toEqual(['proved', null, []]);
    expect(proof.callsByAgent).toEqual({ text: 2, ann: 2, ben: 2 });
  });

  it('P5, P6: the usual pipeline takes at most 29 calls before it ends or asks', async () => {
    const proof = await prove(PIPELINE);
    expect([proof.result, proof.problem, proof.deadEnds]).toEqual(['proved', null, []]);
    expect(proof.callsByAgent).toEqual({
      planning: 6,
      design: 6,
      'design-review': 6,
      code: 4,
      'code-review': 4,
      test: 2,
      postmortem: 1,
    });
    expect(proof.text).toMatch(
      /^at most 29 calls of agents in \d+ turns, .* \(as long as what runs again makes/,
    );
  });

  it('without its limits the endless way is shown', async () => {
    const endless: readonly GivenPhase[] = [
      { id: 'text' },
      { id: 'review', kind: 'review', needs: ['text'], passes: null },
    ];
    const proof = await prove(endless, {
      passes: null,
      rounds: null,
      unchanged: null,
      oscillations: null,
      unbounded: 'to see it',
    });
    expect(proof.result).toBe('not proved');
    expect(proof.endless?.cycle.length).toBeGreaterThan(0);
  });
});
