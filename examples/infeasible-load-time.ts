/**
 * The architect finds a requirement that cannot be met. The pm works again with the architect's analysis, and the architect
 * validates again.
 *
 *   npm run examples && node build/examples/infeasible-load-time.js
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type AgentRequest, answer, createRuntime, planRun, type StepInput } from 'loopwright';
import { feedbackLog } from './feedback-log.js';

type Request = AgentRequest<StepInput>;

const product = planRun('product', {
  steps: [
    { id: 'prd', agent: 'pm' },
    { id: 'architecture', agent: 'architect', needs: ['prd'] },
  ],
});

const SMALLEST_MS = 2_500;

const runtime = await createRuntime({
  file: join(mkdtempSync(join(tmpdir(), 'loopwright-')), 'load-time.db'),
  workflows: [product],
  agents: {
    // Asks for less each time that it hears that it is too much: 500 ms, 2 s, 3.5 s.
    pm: ({ feedback }: Request) => ({ loadTimeMs: 500 + 1_500 * feedback.length }),
    architect: ({ input }: Request) => {
      const { loadTimeMs } = input.inputs['prd'] as { loadTimeMs: number };
      if (loadTimeMs >= SMALLEST_MS) return { pages: 'loaded in parts' };
      return answer(null, {
        feedback: [
          {
            type: 'technical_infeasibility',
            targets: ['pm'],
            severity: 'high',
            requirement: 'REQ-089',
            description: `A page cannot be loaded in ${loadTimeMs} ms.`,
            details: {
              analysis: `With what has to be loaded over 3G it takes ${SMALLEST_MS} ms at least.`,
              alternatives: ['load less at first', 'ask for less'],
            },
          },
        ],
      });
    },
  },
});

const run = await runtime.start('product', 'a shop', { id: 'shop' });
const { verdict, output } = await run.result();
for (const line of await feedbackLog(runtime, 'shop')) console.log(line);
console.log(`${verdict}: ${JSON.stringify(output?.outputs['prd'])}`);
await runtime.close();
