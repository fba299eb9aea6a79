import {
  type Branch,
  openLog,
  type RunRecord,
  readWorkflowFile,
  type Verdict,
  type WhatIfOptions,
  type Workflow,
  workflowOf,
} from '../../index.ts';
import { changesOf } from '../branch-changes.ts';
import type { AddCommand } from '../command-table.ts';
import { keepDefinition, readDefinitions } from '../definitions.ts';
import { escapeLine, excerpt } from '../escape.ts';
import { EXIT, type ExitCode, exitOf } from '../exit-codes.ts';
import { newFileAt } from '../new-file.ts';
import { numberOf } from '../numbers.ts';
import { findRun, openToLook, secretsIn } from '../open.ts';
import { startedAgain } from '../started-again.ts';
import type { Terminal } from '../terminal.ts';
import { line } from '../ways-on.ts';

const EXAMPLES = `
Examples:
  loopwright fork RUN --at 42 --set option=accept             had the person said so
  loopwright fork RUN --at 42 --set 'output={"passed":true}'  had the agent answered so
  loopwright fork RUN --set limits.passes=8 --into branch.db  with another limit, kept in a log of its own
  loopwright fork RUN --set limits.passes=8 --make-calls      and agents are called for what nobody knows

Positions are those of: loopwright events RUN. Calls that were never made are listed; none is made unless you say so.`;

interface Options {
  readonly at?: string;
  readonly set?: readonly string[];
  readonly of?: string;
  readonly with?: string;
  readonly into?: string;
  readonly makeCalls?: boolean;
}

const gathered = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

/** `fork`: what would have been. The log itself is not written. */
export const addFork: AddCommand = (command, { terminal, action }) =>
  void command
    .description(
      'Makes a branch of a run with another answer, limit or workflow. Recorded answers are used again.',
    )
    .argument('<run>', 'the run')
    .option('--at <position>', 'of the answer, or where limits change')
    .option(
      '--set <name=value>',
      'what is another: limits.NAME, output, failure, option, value, note, by, forget',
      gathered,
    )
    .option(
      '--of <address>',
      'whose limits: a loop or story in the run, RUN/phase:ID or RUN/node:ID; the run itself unless set',
    )
    .option('--with <file>', 'a workflow file in the place of the workflow')
    .option('--into <file>', 'keep the branch in a new log')
    .option('--make-calls', 'call agents for what no answer is known of')
    .addHelpText('after', EXAMPLES)
    .action(
      action<Options>(async ([given = ''], options) => {
        const { at, set = [], of, with: other, into, makeCalls = false, ...common } = options;
        const changes = changesOf(set, at === undefined ? undefined : numberOf('--at', at));
        const { runtime, file } = await openToLook(common);
        try {
          const run = await findRun(runtime, given);
          // What is set may be a secret, and so may what agents say.
          await secretsIn(file, [run.id]);
          const machine = other === undefined ? undefined : await otherWorkflow(other, run);
          const input = machine && (await startedAgain(runtime, file, { record: run, workflow: machine }));
          const whatIf: WhatIfOptions = {
            ...changes,
            ...(of !== undefined && { of }),
            ...(machine && { machines: [machine] }),
            ...(input !== undefined && { input }),
            ...(into !== undefined && { file: newFileAt(into) }),
            ...(makeCalls && { calls: 'make' as const }),
          };
          const branch = await runtime.whatIf(run.id, whatIf);
          try {
            const verdict = makeCalls ? await settled(branch) : branch.verdict;
            if (into !== undefined) await describe(branch, file);
            tell(terminal, branch, { verdict, into, isMade: makeCalls });
            return makeCalls ? exitOfBranch(verdict) : EXIT.ok;
          } finally {
            await branch.close();
          }
        } finally {
          await runtime.close();
        }
      }),
    );

/** It takes the place of the run's own, under the same name and version. */
const otherWorkflow = async (path: string, { workflow, workflowVersion }: RunRecord): Promise<Workflow> =>
  workflowOf({ ...(await readWorkflowFile(path)).definition, name: workflow }, workflowVersion);

const exitOfBranch = (verdict: Verdict | null): ExitCode =>
  verdict === null ? EXIT.waiting : exitOf(verdict);

const settled = async ({ run, runtime }: Branch): Promise<Verdict | null> => {
  await run.settled();
  const record = (await runtime.runs()).find(({ id }) => id === run.id);
  return record?.verdict ?? null;
};

/** A log of its own is to be read like any other: with the workflows that its run was made with. */
const describe = async ({ runtime }: Branch, file: string): Promise<void> => {
  const log = await openLog(file);
  try {
    for (const [index, described] of (await readDefinitions(log)).entries())
      await keepDefinition(runtime, described, index + 1);
  } finally {
    await log.close();
  }
};

const tell = (
  terminal: Terminal,
  branch: Branch,
  {
    verdict,
    into,
    isMade,
  }: { readonly verdict: Verdict | null; readonly into: string | undefined; readonly isMade: boolean },
): void => {
  const { id, run, difference, reused, calls, unsent } = branch;
  if (terminal.isJson) {
    const told = {
      id,
      run: run.id,
      verdict,
      difference,
      reused,
      calls,
      made: branch.made(),
      unsent,
      file: into ?? null,
    };
    terminal.json(told);
    return;
  }
  const ended =
    verdict === null
      ? calls.length > 0 && !isMade
        ? 'needs calls that were never made'
        : 'waits'
      : `ends ${verdict}`;
  terminal.say(`The branch of ${escapeLine(run.id)} ${ended}.`);
  terminal.say(
    difference ? `It parts from the log: ${escapeLine(difference.text)}` : 'It does not part from the log.',
  );
  terminal.say(`${reused} recorded answers were used again.`);
  const listed = isMade ? branch.made() : calls;
  if (listed.length > 0)
    terminal.say(isMade ? 'Calls that were made:' : 'Calls that it needs (--make-calls makes them):');
  for (const { agent, actor, attempt, input } of listed)
    terminal.say(
      `  ${escapeLine(`${agent}, attempt ${attempt}, for ${actor}: `)}${excerpt(JSON.stringify(input))}`,
    );
  for (const message of unsent) terminal.say(`Not sent again: ${escapeLine(message)}`);
  if (into !== undefined) terminal.say(`Look at it with: ${escapeLine(line('show', run.id, '--db', into))}`);
};
