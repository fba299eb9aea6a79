/**
 * The developer finds out that the hosting has no WebSockets. The run pauses, architect and pm decide, and the developer goes on
 * with what they have decided.
 *
 *   npm run examples && node build/examples/websocket-constraint.js
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AgentRequest,
  answer,
  createRuntime,
  type FeedbackRequest,
  isFeedbackRequest,
  planRun,
  type StepInput,
} from 'loopwright';
import { feedbackLog } from './feedback-log.js';

type Request = AgentRequest<StepInput | FeedbackRequest>;

const product = planRun('product', {
  steps: [
    { id: 'prd', agent: 'pm' },
    { id: 'architecture', agent: 'architect', needs: ['prd'] },
    { id: 'code', agent: 'developer', needs: ['architecture'] },
  ],
});

const runtime = await createRuntime({
  file: join(mkdtempSync(join(tmpdir(), 'loopwright-')), 'websocket.db'),
  workflows: [product],
  agents: {
    pm: ({ input }: Request) =>
      // The architect has the first word: the pm sees it when both are asked again.
      isFeedbackRequest(input)
        ? { option: input.answers.find(({ target }) => target === 'architect')?.option ?? 'switch_hosting' }
        : { requirements: ['REQ-123: people see the changes of others at once'] },
    architect: ({ input }: Request) =>
      isFeedbackRequest(input)
        ? { option: 'use_polling', note: 'one second is soon enough' }
        : { realtime: 'WebSockets' },
    developer: ({ input }: Request) => {
      if (isFeedbackRequest(input)) return null;
      const [decided] = input.decisions ?? [];
      if (decided) return { realtime: decided.decision };
      return answer(null, {
        feedback: [
          {
            type: 'constraint_violation',
            targets: ['architect', 'pm'],
            severity: 'blocking',
            requirement: 'REQ-123',
            description: 'The hosting has no WebSockets.',
            details: { constraint: 'Functions of the hosting end after ten seconds.' },
            options: [
              { option: 'use_polling', effort: 'low', impact: 'changes are seen later' },
              { option: 'switch_hosting', effort: 'high', impact: 'deployment changes' },
            ],
          },
        ],
      });
    },
  },
});

const run = await runtime.start('product', 'an editor for several people', { id: 'editor' });
const { verdict, output } = await run.result();
for (const line of await feedbackLog(runtime, 'editor')) console.log(line);
console.log(`${verdict}: ${JSON.stringify(output?.outputs['code'])}`);
await runtime.close();
