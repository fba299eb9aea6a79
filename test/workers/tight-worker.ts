/**
 * Runs a tight loop with scripted agents on a log, or takes up the one that is there, and writes how it ended to standard
 * output. With --kill-at it kills itself once so many events were published, with --kill-at-effect once agents have acted so often.
 */
import { parseArgs } from 'node:util';
import {
  type AgentRequest,
  type CheckerInput,
  createRuntime,
  type DeveloperInput,
  tightLoop,
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

type Request = AgentRequest<DeveloperInput & CheckerInput>;

/** The review fails in the first pass, the tests in the second; each agent fails its first attempt once. */
const check =
  (goodFrom: number, description: string) =>
  ({ input, attempt }: Request) => {
    if (input.pass === 1 && attempt === 1) throw new Error('not yet');
    const passed = input.pass >= goodFrom;
    return { passed, issues: passed ? [] : [{ category: 'logic', description }] };
  };

const runtime = await createRuntime({
  file: values.file,
  workflows: [
    tightLoop({ onLimit: 'stop', roles: { reviewer: { backoffMs: 1 }, tester: { backoffMs: 1 } } }),
  ],
  agents: noted(
    {
      developer: ({ input }: Request) => ({ summary: `change ${input.pass}` }),
      reviewer: check(2, 'no header row'),
      tester: check(3, 'quoting fails'),
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
  ? await runtime.run(known.id, 'tight-loop')
  : await runtime.start('tight-loop', 'Add CSV export', { id: 'r' });
const { turns: _, ...result } = await run.result();
await runtime.close();
console.log(JSON.stringify({ result, events }));
