/**
 * Runs a plan whose agents send each other feedback on a log, or takes up the one that is there, and writes how it ended to
 * standard output. With --kill-at it kills itself once so many events were published, with --kill-at-effect once agents have acted so
 * often.
 */
import { parseArgs } from 'node:util';
import {
  type AgentRequest,
  answer,
  createRuntime,
  isFeedbackRequest,
  planRun,
  type StepInput,
} from 'loopwright';
import { noted } from '../support/effects.ts';

const { values } = parseArgs({
  options: {
    file: { type: 'string', default: '' },
    'kill-at': { type: 'string', default: '0' },
    'kill-at-effect': { type: 'string', default: '0' },
  },
});
const killAt = Number(values['kill-at']);
const effects = { file: values.file, killAt: Number(values['kill-at-effect']) };

type Request = AgentRequest<StepInput>;

const plan = planRun('product', {
  steps: [
    { id: 'prd', agent: 'pm' },
    { id: 'architecture', agent: 'architect', needs: ['prd'], group: 'design' },
    { id: 'ui', agent: 'ux', needs: ['prd'], group: 'design' },
    { id: 'code', agent: 'developer', needs: ['design'] },
  ],
  checks: [
    { id: 'base', compare: ['agents.architect.outputs.architecture.base', 'agents.ux.outputs.ui.base'] },
  ],
});

const feedback = {
  severity: 'blocking',
  description: 'It cannot be done.',
  targets: ['pm'],
  requirement: 'REQ-1',
} as const;

/** Both sides agree when they are asked again; the architect reports once, the developer twice. */
const side = (first: string) => (request: Request) => {
  const { input } = request;
  if (isFeedbackRequest(input)) return { value: input.nth === 1 ? first : 'both' };
  const agreed = input.decisions?.findLast(({ type }) => type === 'inconsistency')?.value;
  return { base: agreed ?? first, heard: request.feedback.length };
};
const architect = side('left');

const runtime = await createRuntime({
  file: values.file,
  workflows: [plan],
  agents: noted(
    {
      pm: ({ input, feedback: heard }: Request) =>
        isFeedbackRequest(input) ? { option: 'revise_requirement' } : { version: heard.length + 1 },
      architect: (request: Request) =>
        !isFeedbackRequest(request.input) && request.feedback.length === 0
          ? answer(null, { feedback: [{ ...feedback, type: 'technical_infeasibility' }] })
          : architect(request),
      ux: side('right'),
      developer: ({ input }: Request) =>
        (input.decisions?.length ?? 0) < 2
          ? answer(null, { feedback: [{ ...feedback, type: 'constraint_violation' }] })
          : { built: input.decisions?.map(({ decision }) => decision) },
    },
    effects,
  ),
});
let events = 0;
runtime.events$.subscribe(() => {
  events += 1;
  if (events === killAt) process.kill(process.pid, 'SIGKILL');
});
const [known] = await runtime.runs();
const run = known
  ? await runtime.run(known.id, 'product')
  : await runtime.start('product', null, { id: 'r' });
const { turns: _, ...result } = await run.result();
const loops = (await runtime.feedback.loops('r')).map(({ source, type, status, rounds, resolution }) => [
  source,
  type,
  status,
  rounds.length,
  resolution?.option ?? resolution?.value,
]);
await runtime.close();
console.log(JSON.stringify({ result, loops, events }));
