/**
 * The plan has forgotten authentication, so that the design has none. Of the three who review the design one finds it, and says that
 * it is the plan's fault: the plan is made again, then the design, then nothing else.
 *
 *   npm run examples && node build/examples/missing-authentication.js
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AgentRequest,
  answer,
  createRuntime,
  type PhaseInput,
  phaseRun,
  phaseTelemetry,
} from 'loopwright';

type Request = AgentRequest<PhaseInput>;

/** A clock that stands still while nobody works: what the agents take is what they say. */
let nowMs = Date.UTC(2026, 0, 1);
const clock = {
  now: () => nowMs,
  after: (delayMs: number, callback: () => void) => {
    const timer = setTimeout(callback, delayMs);
    return () => clearTimeout(timer);
  },
};
const takes = (seconds: number) => {
  nowMs += seconds * 1_000;
};

const delivery = phaseRun('delivery', {
  reviewers: { 'design-review': ['security', 'performance', 'data-model'] },
});

const UNITS = ['CreateUser', 'UpdateUser', 'DeleteUser', 'ListUsers'];
const calls: string[] = [];
const approve = ({ input }: Request) => {
  calls.push(input.phase);
  return { assessment: 'PASS', issues: [] };
};

const runtime = await createRuntime({
  file: join(mkdtempSync(join(tmpdir(), 'loopwright-')), 'users.db'),
  workflows: [delivery],
  clock,
  agents: {
    planning: ({ feedback }: Request) => {
      calls.push('planning');
      takes(10);
      const units = feedback.length === 0 ? UNITS : [...UNITS, 'Authentication'];
      return answer({ units }, { usage: { costUsd: 0.02 } });
    },
    design: ({ input }: Request) => {
      calls.push('design');
      takes(15);
      const { units } = input.inputs['planning'] as { units: readonly string[] };
      return answer({ endpoints: units.map((unit) => `/${unit}`) }, { usage: { costUsd: 0.03 } });
    },
    security: ({ input }: Request) => {
      calls.push('design-review');
      const { endpoints } = input.inputs['design'] as { endpoints: readonly string[] };
      if (endpoints.includes('/Authentication')) return { assessment: 'PASS', issues: [] };
      return {
        assessment: 'FAIL',
        issues: [
          {
            id: 'AUTH-1',
            category: 'security',
            severity: 'critical',
            description: 'Missing authentication requirement',
            evidence: `the endpoints are ${endpoints.join(', ')}`,
            impact: 'anybody may delete users',
            affectedPhases: ['planning'],
          },
        ],
      };
    },
    performance: () => 'PASS',
    'data-model': () => 'PASS',
    code: () => {
      calls.push('code');
      return 'code';
    },
    'code-review': approve,
    test: approve,
    postmortem: ({ input }: Request) => {
      calls.push('postmortem');
      return { lessons: (input.history as { corrections: readonly unknown[] }).corrections.length };
    },
  },
});

const run = await runtime.start('delivery', 'Build a user management system', { id: 'users' });
const { verdict } = await run.result();
console.log(`${verdict}: ${calls.join(', ')}`);
const { defects, corrections, metrics } = await runtime.read(phaseTelemetry, 'users');
for (const { description, injected, detected } of defects)
  console.log(`${description}: injected in ${injected}, detected in ${detected}`);
for (const { attempts, costUsd, latencyMs } of corrections)
  console.log(
    `corrected by ${Object.entries(attempts)
      .map(([phase, times]) => `${times} ${phase}`)
      .join(' + ')}, +$${costUsd.toFixed(2)}, +${latencyMs / 1_000} s`,
  );
console.log(`${metrics.corrections} corrections in ${metrics.firstRuns} phases`);
await runtime.close();
