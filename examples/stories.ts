/**
 * Three stories on one board, each a Markdown file. The reviewer runs what was made: one story lacks a bit of code, one was
 * not understood, and one cannot be done as it is asked for, so that a person is asked.
 *
 *   npm run examples && node build/examples/stories.js [folder]
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type AgentRequest,
  createRuntime,
  refinementRanking,
  type StoryWork,
  showStory,
  storyAnalytics,
  storyLines,
  storyLoop,
  storyView,
} from 'loopwright';

const folder = process.argv[2] ?? mkdtempSync(join(tmpdir(), 'loopwright-'));
mkdirSync(folder, { recursive: true });

const STORIES: Readonly<Record<string, string>> = {
  'slug.md': '---\ntitle: Slugs for titles\nowner: ada # ask her\n---\n`slug("A  b!")` is `a-b`.\n',
  'roman.md': '---\ntitle: Roman numerals\n---\n`roman(4)` is `IV`.\n',
  'oracle.md':
    '---\ntitle: Lottery numbers\nmax_refinement_attempts: 1\n---\n`oracle()` is what will be drawn.\n',
};
for (const [name, text] of Object.entries(STORIES)) writeFileSync(join(folder, name), text);

type Request = AgentRequest<StoryWork>;

/** What a developer might write: better from one attempt to the next, as long as it is told what is wrong. */
const CODE: Readonly<Record<string, readonly string[]>> = {
  slug: [
    "export default (text) => text.toLowerCase().replaceAll(' ', '-');",
    "export default (text) => text.toLowerCase().replaceAll(/[^a-z]+/g, '-').replace(/-$/, '');",
  ],
  roman: ["export default () => 'IIII';", "export default (n) => ['', 'I', 'II', 'III', 'IV'][n];"],
  oracle: ['export default () => [1, 2, 3, 4, 5, 6];', 'export default () => [2, 3, 5, 7, 11, 13];'],
};

const CHECKS: Readonly<Record<string, { readonly code: string; readonly category: string }>> = {
  slug: { code: "made('A  b!') === 'a-b'", category: 'code' },
  roman: { code: "made(4) === 'IV'", category: 'requirements' },
  oracle: { code: 'false', category: 'code' },
};

const fileOf = (id: string): string => join(folder, `${id}.mjs`);

const implement = ({ input: { story }, history }: Request) => {
  const versions = CODE[story.id] ?? [];
  writeFileSync(fileOf(story.id), `${versions[Math.min(history.length, versions.length - 1)] ?? ''}\n`);
  return { file: fileOf(story.id), attempt: history.length + 1 };
};

const review = ({ input: { story } }: Request) => {
  const { code = 'true', category = '' } = CHECKS[story.id] ?? {};
  const program = `import made from ${JSON.stringify(fileOf(story.id))}; console.log(${code})`;
  const shown = execFileSync(process.execPath, ['--input-type=module', '--eval', program], {
    encoding: 'utf8',
  });
  if (shown.trim() === 'true')
    return { decision: 'approved', passed: true, issues: [], feedback: 'It works.' };
  const issue = {
    severity: 'critical',
    category,
    description: `${code} does not hold`,
    file: `${story.id}.mjs`,
  };
  return {
    decision: 'rejected',
    passed: false,
    issues: [issue],
    feedback: 'It does not do what the story says.',
  };
};

const runtime = await createRuntime({
  file: join(folder, 'work.db'),
  workflows: [storyLoop('stories', { mode: 'auto', concurrency: 1 })],
  agents: {
    research: ({ input }: Request) => ({ known: input.story.body, again: input.iteration }),
    plan: ({ input }: Request) => ({ steps: [`write ${input.story.id}.mjs`] }),
    implement,
    review,
    'create-pr': ({ input }: Request) => ({ url: `https://example.org/${input.story.id}` }),
  },
});

const stories = Object.keys(STORIES).map((name) => join(folder, name));
console.log((await runtime.worstCase('stories', { stories })).text);
runtime.events$.subscribe((event) => {
  for (const line of storyLines(event)) console.log(line);
});
const run = await runtime.start('stories', { stories }, { id: 'board' });
await run.settled();
for (const question of await runtime.questions()) {
  console.log(`? ${question.text} ${question.options.map(({ id }) => id).join(', ')}`);
  await runtime.answer(question.id, 'cancel', { by: 'ada', note: 'nobody can' });
}
const { verdict, output } = await run.result();
const ends = Object.entries(output?.stories ?? {}).map(([key, story]) => `${key} ${story.verdict}`);
console.log(`${verdict}: ${ends.join(', ')}; ${output?.spent.calls} calls`);
const { stories: views } = await runtime.read(storyView, run.id);
for (const line of views['roman'] ? showStory(views['roman']) : []) console.log(line);
const { stories: most, phases } = refinementRanking(await runtime.read(storyAnalytics, run.id));
console.log(`most refined: ${most.map(({ name, count }) => `${name} ${count}`).join(', ')}`);
console.log(`at fault: ${phases.map(({ name, count }) => `${name} ${count}`).join(', ')}`);
await runtime.close();
