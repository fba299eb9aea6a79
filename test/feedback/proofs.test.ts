import { describe, expect, it } from 'vitest';
import {
  type AgentOutcome,
  createRuntime,
  type GivenLimits,
  isFeedbackRequest,
  planRun,
  type Workflow,
  type WorstCaseOptions,
} from '../../src/index.ts';

const plan = (limits: GivenLimits = {}) =>
  planRun('pair', {
    steps: [
      { id: 'prd', agent: 'pm' },
      { id: 'design', agent: 'architect', needs: ['prd'] },
    ],
    limits: { rounds: 2, unchanged: null, oscillations: null, ...limits },
    roles: { pm: { attempts: 1 }, architect: { attempts: 1 } },
  });

const WORKS: AgentOutcome = { name: 'works', output: 'done' };
const FAILS: AgentOutcome = { name: 'fails', fails: true };

const sends = (type: string): AgentOutcome => ({
  name: `sends ${type}`,
  output: null,
  feedback: [{ type, targets: ['pm'], severity: 'blocking', description: type, requirement: type }],
});

const proveOf = async (declared: Workflow, outcomes: NonNullable<WorstCaseOptions['outcomes']>) => {
  const runtime = await createRuntime({ file: ':memory:', workflows: [declared], agents: {} });
  try {
    // Whoever is asked to decide may say anything.
    const working: typeof outcomes = (agent, input) =>
      isFeedbackRequest(input) ? [] : outcomes(agent, input);
    return await runtime.worstCase(declared.name, null, { outcomes: working, statesMax: 50_000 });
  } finally {
    await runtime.close();
  }
};

const prove = (types: readonly string[], limits: GivenLimits = {}) =>
  proveOf(plan(limits), (agent) => [WORKS, FAILS, ...(agent === 'architect' ? types.map(sends) : [])]);

describe('K5: feedback between agents comes to an end, whatever they say', () => {
  it.each([
    ['technical_infeasibility'],
    ['constraint_violation'],
    ['missing_requirement'],
    ['quality_gate'],
    ['a type of our own'],
  ])('%s', async (type) => {
    const proof = await prove([type]);
    expect([proof.result, proof.problem, proof.deadEnds]).toEqual(['proved', null, []]);
    expect(proof.mayAsk).toBe(true);
    expect(proof.text).toMatch(/^at most \d+ calls of agents/);
  });

  it('two kinds at once', async () => {
    const proof = await prove(['technical_infeasibility', 'constraint_violation']);
    expect([proof.result, proof.problem, proof.deadEnds]).toEqual(['proved', null, []]);
  });

  it('two beside each other that each wait for the other', async () => {
    const pair = planRun('pair', {
      steps: [
        { id: 'architecture', agent: 'architect' },
        { id: 'ui', agent: 'ux' },
      ],
      limits: { rounds: 1, unchanged: null, oscillations: null },
      roles: { architect: { attempts: 1 }, ux: { attempts: 1 } },
    });
    const to = (target: string): AgentOutcome => ({
      name: `sends to ${target}`,
      output: null,
      feedback: [
        { type: 'own', targets: [target], severity: 'high', description: 'change it', requirement: 'r' },
      ],
    });
    const proof = await proveOf(pair, (agent) => [WORKS, FAILS, to(agent === 'ux' ? 'architect' : 'ux')]);
    expect([proof.result, proof.problem, proof.deadEnds]).toEqual(['proved', null, []]);
  });

  it('a check of consistency, and a gate', async () => {
    const checked = planRun('checked', {
      steps: [
        { id: 'a', agent: 'ann' },
        { id: 'b', agent: 'ben' },
      ],
      checks: [
        { id: 'same', compare: ['agents.ann.outputs.a', 'agents.ben.outputs.b'] },
        { id: 'good', metric: 'agents.ann.outputs.a', by: { min: 1 }, responsible: ['ann'] },
      ],
      limits: { rounds: 1, unchanged: null, oscillations: null },
      roles: { ann: { attempts: 1 }, ben: { attempts: 1 } },
    });
    const proof = await proveOf(checked, () => [
      { name: 'makes 1', output: 1 },
      { name: 'makes 0', output: 0 },
      FAILS,
    ]);
    expect([proof.result, proof.problem, proof.deadEnds]).toEqual(['proved', null, []]);
    expect(proof.verdicts).toContain('verified');
  });

  it('without its limits the endless way is shown', async () => {
    const proof = await prove(['technical_infeasibility'], { rounds: null, feedbacks: null });
    expect(proof.result).toBe('not proved');
    expect(proof.endless?.cycle.join()).toContain('sends technical_infeasibility');
  });

  it('what agents may do is asked by what they are given', async () => {
    const runtime = await createRuntime({ file: ':memory:', workflows: [plan() as Workflow], agents: {} });
    const seen = new Set<string>();
    await runtime.worstCase('pair', null, {
      outcomes: (agent, input) => {
        seen.add(isFeedbackRequest(input) ? 'asked' : agent);
        if (isFeedbackRequest(input)) return [{ name: 'accepts', output: 'accept_limitation' }];
        return [WORKS, ...(agent === 'architect' ? [sends('constraint_violation')] : [])];
      },
    });
    expect([...seen].sort()).toEqual(['architect', 'asked', 'pm']);
    await runtime.close();
  });
});
