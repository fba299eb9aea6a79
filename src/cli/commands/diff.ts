import { statSync } from 'node:fs';
import {
  type Json,
  openLog,
  type RecordedEvent,
  type Runtime,
  RuntimeError,
  readWorkflowFile,
  type Workflow,
  workflowOf,
} from '../../index.ts';
import type { AddCommand } from '../command-table.ts';
import { readDefinitions, versionsOf } from '../definitions.ts';
import { escapeLine, excerpt } from '../escape.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { findRun, openToLook } from '../open.ts';
import { differenceOf } from '../run-difference.ts';
import { startedAgain } from '../started-again.ts';
import type { Terminal } from '../terminal.ts';

const EXAMPLES = `
Examples:
  loopwright diff RUN OTHER           where two runs part first
  loopwright diff last workflow.yaml  what becomes of the newest run under the workflow in a file
  loopwright diff last v1             the same under the first version that the log has of its workflow

Exit code 0 if they are the same, 1 if they part.`;

/** `diff`: where two runs part, or a run under another workflow from itself. */
export const addDiff: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Says where two runs part first, or where a run parts from itself under another workflow.')
    .argument('<run>', 'a run')
    .argument('<other>', 'another run, a workflow file, or a version as v1')
    .addHelpText('after', EXAMPLES)
    .action(
      action(async ([given = '', other = ''], common) => {
        const { runtime, file } = await openToLook(common);
        try {
          const run = await findRun(runtime, given);
          const workflow = await workflowFor(other, run.workflow, file);
          if (workflow) {
            const input = await startedAgain(runtime, file, { record: run, workflow });
            return await underOther(runtime, terminal, { run: run.id, workflow, input });
          }
          const second = await findRun(runtime, other);
          return await twoRuns(runtime, terminal, [run.id, second.id]);
        } finally {
          await runtime.close();
        }
      }),
    );

/** The workflow that is meant, if it is one: under the name of the run's own, so that it takes its place. */
const workflowFor = async (given: string, name: string, log: string): Promise<Workflow | undefined> => {
  if (statSync(given, { throwIfNoEntry: false })?.isFile())
    return workflowOf({ ...(await readWorkflowFile(given)).definition, name }, 1);
  const number = /^v(\d{1,9})$/.exec(given)?.[1];
  if (number === undefined) return undefined;
  const reader = await openLog(log);
  try {
    const versions = versionsOf(await readDefinitions(reader)).filter((each) => each.name === name);
    const found = versions.find(({ version }) => version === Number(number));
    if (found) return workflowOf(found.definition, found.version);
    throw new RuntimeError('WRONG_USE', {
      problem: `The log has no version ${number} of "${name}".`,
      instead: `It has ${versions.map(({ version }) => `v${version}`).join(', ') || 'none'}.`,
    });
  } finally {
    await reader.close();
  }
};

const underOther = async (
  runtime: Runtime,
  terminal: Terminal,
  {
    run,
    workflow,
    input,
  }: { readonly run: string; readonly workflow: Workflow; readonly input: Json | undefined },
): Promise<ExitCode> => {
  const [compared] = await runtime.compareMachines({
    machines: [workflow],
    runs: [run],
    ...(input !== undefined && { inputs: { [run]: input } }),
  });
  if (!compared) throw new RuntimeError('UNKNOWN_RUN', { run });
  const { kind, recorded, computed, difference, limit, calls } = compared;
  if (terminal.isJson) terminal.json(compared);
  else {
    terminal.say(`${escapeLine(run)}: ${kind}`);
    if (difference) terminal.say(escapeLine(difference.text));
    if (recorded !== computed)
      terminal.say(`It ended ${recorded ?? 'not yet'}; now ${computed ?? 'that is not known'}.`);
    if (limit) terminal.say(`The limit ${limit.limit} of ${limit.bound} is met, which it was not.`);
    if (calls > 0) terminal.say(`It needs ${calls} calls of agents that were never made.`);
  }
  return kind === 'identical' ? EXIT.ok : EXIT.failed;
};

const twoRuns = async (
  runtime: Runtime,
  terminal: Terminal,
  [one, other]: readonly [string, string],
): Promise<ExitCode> => {
  const eventsOf = (run: string) => runtime.audit({ run, limit: Number.POSITIVE_INFINITY });
  const difference = differenceOf(await eventsOf(one), await eventsOf(other));
  const { data, row } = difference;
  if (terminal.isJson) terminal.json({ runs: [one, other], ...difference });
  else if (!data && !row) terminal.say('They are the same, but for ids and times.');
  else {
    if (data) {
      const [left, right] = [data.one, data.other].map((value) =>
        excerpt(JSON.stringify(value) ?? 'nothing', 60),
      );
      terminal.say(
        `Data differ first at ${data.positions.join(' and ')}, in ${escapeLine(data.path)}: ${left} and ${right}.`,
      );
    }
    terminal.say(row ? `They go the same way for ${row.same} events. Then` : 'They go the same way.');
    for (const [run, event] of row
      ? ([
          [one, row.one],
          [other, row.other],
        ] as const)
      : [])
      terminal.say(`  ${escapeLine(run)}: ${event ? inWords(event) : 'nothing more'}`);
  }
  return data || row ? EXIT.failed : EXIT.ok;
};

const inWords = ({ position, actor, type, state, data }: RecordedEvent): string =>
  escapeLine(`${position} ${actor} ${type}, then in ${JSON.stringify(state)} `) +
  excerpt(JSON.stringify(data));
