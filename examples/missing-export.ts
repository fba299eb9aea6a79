/**
 * The qa finds that something is missing. The gap between what was asked for and what was made is shown to pm and developer, who
 * decide that the implementation has to be fixed.
 *
 *   npm run examples && node build/examples/missing-export.js
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
    { id: 'code', agent: 'developer', needs: ['prd'] },
    { id: 'report', agent: 'qa', needs: ['code'] },
  ],
  gap: {
    requirements: 'agents.pm.outputs.prd.exports',
    implementation: 'agents.developer.outputs.code.exports',
  },
});

const decides = ({ details, options }: FeedbackRequest) => {
  const { missing } = details['gap'] as { missing: readonly string[] };
  // Something was asked for and is not there: so it is not the requirement that is wrong.
  return { option: missing.length > 0 ? 'fix_implementation' : options[0]?.option };
};

const runtime = await createRuntime({
  file: join(mkdtempSync(join(tmpdir(), 'loopwright-')), 'export.db'),
  workflows: [product],
  agents: {
    pm: ({ input }: Request) => (isFeedbackRequest(input) ? decides(input) : { exports: ['JSON', 'CSV'] }),
    developer: ({ input, feedback }: Request) =>
      isFeedbackRequest(input)
        ? decides(input)
        : { exports: feedback.length === 0 ? ['JSON'] : ['JSON', 'CSV'] },
    qa: ({ input }: Request) => {
      if (isFeedbackRequest(input)) return null;
      const { exports } = input.inputs['code'] as { exports: readonly string[] };
      if (exports.includes('CSV')) return { passed: true };
      return answer(null, {
        feedback: [
          {
            type: 'missing_requirement',
            targets: ['pm', 'developer'],
            severity: 'medium',
            requirement: 'US-045',
            description: 'People cannot export their data as CSV.',
            details: { testCase: 'TC-045' },
          },
        ],
      });
    },
  },
});

const run = await runtime.start('product', 'a list of addresses', { id: 'addresses' });
const { verdict, output } = await run.result();
for (const line of await feedbackLog(runtime, 'addresses')) console.log(line);
console.log(`${verdict}: ${JSON.stringify(output?.outputs['code'])}`);
await runtime.close();
