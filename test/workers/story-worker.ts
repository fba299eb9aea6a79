/**
 * Works on story files with scripted agents on a log, or takes up the run that is there, and writes how it ended to standard
 * output. With --kill-at it kills itself once so many events were published.
 */
import { parseArgs } from 'node:util';
import { type AgentRequest, createRuntime, type StoryWork, storyLoop } from 'loopwright';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { file: { type: 'string', default: '' }, 'kill-at': { type: 'string', default: '0' } },
});
const killAt = Number(values['kill-at']);

type Request = AgentRequest<StoryWork>;

const work = ({ input }: Request) => `${input.phase} of ${input.story.id} in ${input.iteration}`;
const CATEGORIES = ['design', 'code', 'requirements'];

const runtime = await createRuntime({
  file: values.file,
  workflows: [storyLoop('stories', { mode: 'auto' })],
  agents: {
    research: work,
    plan: work,
    implement: work,
    'create-pr': work,
    review: ({ input: { iteration } }: Request) => {
      const category = CATEGORIES[iteration];
      if (category === undefined) return { decision: 'approved', passed: true, issues: [], feedback: 'good' };
      const issues = [{ severity: 'critical', category, description: `fault ${iteration}` }];
      return { decision: 'rejected', passed: false, issues, feedback: 'again' };
    },
  },
});
let events = 0;
runtime.events$.subscribe(() => {
  events += 1;
  if (events === killAt) process.kill(process.pid, 'SIGKILL');
});
const [known] = await runtime.runs();
const run = known
  ? await runtime.run(known.id, 'stories')
  : await runtime.start('stories', { stories: positionals }, { id: 'r' });
const { turns: _, ...result } = await run.result();
await runtime.close();
console.log(JSON.stringify({ result, events }));
