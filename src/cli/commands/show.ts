import { isRuntimeError, type Runtime, showStory, storyView } from '../../index.ts';
import type { AddCommand, CommonOptions } from '../command-table.ts';
import { escapeLine, excerpt, quoted } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { liveLine } from '../live-view.ts';
import { findRun, openToLook } from '../open.ts';
import { howToAnswer, questionText } from '../question-text.ts';
import { type ShownActor, type ShownRun, shownRun } from '../shown-run.ts';
import { findStory, storiesLike } from '../stories.ts';
import type { Terminal } from '../terminal.ts';
import { duration, money, table } from '../text.ts';
import { hint, inLog, resumeLine } from '../ways-on.ts';

const EXAMPLES = `
Examples:
  loopwright show last     the newest run: its steps, actors, cost, verdict and open questions
  loopwright show S-12     a story, and all that happened to it`;

/** `show ID`: a run, or a story. */
export const addShow: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Shows a run (steps, passes, actors, cost, verdict, open questions) or a story.')
    .argument('<id>', 'the id of a run or story, the beginning of it, or last')
    .addHelpText('after', EXAMPLES)
    .action(
      action(async ([given = ''], options) => {
        const { file, runtime } = await openToLook(options);
        try {
          const run = await findRun(runtime, given).catch(async (error: unknown) => {
            const isStory =
              isRuntimeError(error, 'WRONG_USE') && (await storiesLike(runtime, given)).length > 0;
            if (isStory) return undefined;
            throw error;
          });
          if (!run) return await tellStory(runtime, terminal, given);
          const shown = await shownRun(runtime, run);
          if (terminal.isJson) terminal.json(shown);
          else for (const line of inWords(shown, terminal, options)) terminal.say(line);
          const isLeft = shown.status === 'working' || shown.status === 'paused';
          const resume = isLeft ? resumeLine(file, run.id) : undefined;
          if (resume !== undefined)
            terminal.say(`Nobody works on it now. Go on with: ${escapeLine(inLog(resume, options))}`);
          return EXIT.ok;
        } finally {
          await runtime.close();
        }
      }),
    );

const tellStory = async (runtime: Runtime, terminal: Terminal, given: string) => {
  const { run, key } = await findStory(runtime, given);
  const { stories } = await runtime.read(storyView, run.id);
  const story = Object.hasOwn(stories, key) ? stories[key] : undefined;
  if (terminal.isJson) terminal.json({ run: run.id, key, story: story ?? null });
  else {
    terminal.say(`of the run ${escapeLine(run.id)}`);
    for (const line of story ? showStory(story) : [`${escapeLine(key)} has not begun.`])
      terminal.say(escapeLine(line));
  }
  return EXIT.ok;
};

const FAILURES_SHOWN = 5;

const inWords = (shown: ShownRun, { colors }: Terminal, log: CommonOptions): readonly string[] => {
  const { id, workflow, version, status, startedAt, tookMs, glance, atWork, calls, costUsd, turns } = shown;
  const limit = glance?.costMaxUsd == null ? '' : ` of ${money(glance.costMaxUsd)}`;
  return [
    `${colors.bold(escapeLine(id))}  ${escapeLine(workflow)} version ${version}  ${status}`,
    `started ${startedAt}, ${duration(tookMs)}, ${turns} turns, ${calls ?? 0} calls, ${money(costUsd ?? 0)}${limit}`,
    ...(glance && status === 'working' ? [liveLine({ id, glance, atWork, note: '' }, Date.now())] : []),
    ...section('Steps:', stepLines(shown)),
    ...section('Actors:', shown.actors.map(actorLine)),
    ...section(
      'Open issues:',
      shown.openIssues.map(({ severity, gate, description }) =>
        escapeLine(`  ${severity}, found by ${gate}: "${excerpt(description, 300)}"`),
      ),
    ),
    ...section(
      'Failures:',
      shown.failures
        .slice(-FAILURES_SHOWN)
        .map(({ actor, message }) => `  ${escapeLine(actor)}: "${excerpt(message, 300)}"`),
    ),
    ...shown.openQuestions.flatMap((question) => [
      '',
      questionText(question),
      `Answer with: ${howToAnswer(question, log)}`,
    ]),
    ...(shown.result === null
      ? []
      : ['', quoted(JSON.stringify(shown.result, null, 2), { label: 'result, as the run gave it' })]),
    '',
    `See: ${hint(log, 'why', id)}, ${hint(log, 'events', id)}`,
  ];
};

const section = (head: string, lines: readonly string[]): readonly string[] =>
  lines.length === 0 ? [] : ['', head, ...lines];

const stepLines = ({ steps }: ShownRun): readonly string[] => {
  if (steps.length === 0) return [];
  const rows = steps.map(({ id, status, runs }) => [id, status, runs === null ? '' : `${runs} runs`]);
  return table(
    ['  STEP', 'STATUS', 'RUNS'],
    rows.map(([id = '', ...rest]) => [`  ${id}`, ...rest]),
  ).split('\n');
};

/** Children stand below their parents. */
const actorLine = ({ address, state, status }: ShownActor): string => {
  const parts = address.split('/');
  const name = parts.at(-1) ?? address;
  const how = status === 'active' ? state : status === 'done' ? `${state} (done)` : `${state} (${status})`;
  return escapeLine(`${'  '.repeat(parts.length)}${name}  ${how}`);
};
