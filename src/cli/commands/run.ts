import { dirname, resolve } from 'node:path';
import { type Runtime, RuntimeError, readWorkflowFile, type WorkflowFile } from '../../index.ts';
import { whoIsHere } from '../by.ts';
import type { AddCommand, CommonOptions } from '../command-table.ts';
import { descriptionOf } from '../definitions.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { workOn } from '../live-run.ts';
import { newOrExistingLog } from '../log-file.ts';
import { openRuntime } from '../open.ts';
import { createStepper } from '../stepper.ts';
import type { Terminal } from '../terminal.ts';
import { createWarnings } from '../warnings.ts';
import { checkTask, inputOf } from '../workflow-input.ts';
import { tellWorstCase, worstCaseOf } from '../worst-case.ts';

const EXAMPLES = `
Examples:
  loopwright run workflow.yaml "Add CSV export"
  loopwright run workflow.yaml --input @task.json --no-ask
  loopwright run stories.yaml --step
  loopwright run workflow.yaml --dry-run     what it would take at most

Ctrl-C leaves the run where it is; loopwright resume goes on with it. A second Ctrl-C ends the process at once.`;

interface RunOptions extends CommonOptions {
  readonly input?: string;
  readonly auto?: boolean;
  readonly step?: boolean;
  readonly dryRun?: boolean;
  readonly ask?: boolean;
  readonly wait?: boolean;
  readonly id?: string;
  readonly by?: string;
}

/** `run FILE [INPUT]`: starts a run of a workflow file, and works on it to its end. */
export const addRun: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Starts a run of a workflow file, and works on it until it has ended or waits for a person.')
    .argument('<file>', 'the workflow, in YAML or JSON')
    .argument('[input]', 'the task, as a text; what the file says unless given')
    .option('--input <json>', 'the task as JSON, or @ and the path of a file with JSON')
    .option('--auto', 'go on without asking to continue')
    .option('--step', 'do one step at a time, each when you say so')
    .option('--dry-run', 'say what it would take at most, and start nothing')
    .option('--no-ask', 'never ask: print the question, and exit with 3')
    .option('--wait', 'stay while a person is waited for, who answers from elsewhere')
    .option('--id <id>', 'the id of the run')
    .option('--by <name>', 'who starts it, and answers on this terminal')
    .addHelpText('after', EXAMPLES)
    .action(
      action<RunOptions>(async ([path = '', text], options) => {
        checkOptions(options, terminal);
        const file = await readWorkflowFile(path);
        if (options.step && file.loop === 'repeat') throw noSteps();
        const { auto, step, input: given } = options;
        const mode = step ? 'manual' : auto ? 'auto' : undefined;
        const input = inputOf(file, text, {
          ...(given !== undefined && { input: given }),
          ...(mode && { mode }),
        });
        if (options.dryRun) {
          const worst = await worstCaseOf(file, input, { terminal });
          if (terminal.isJson) terminal.json(worst);
          else tellWorstCase(terminal, file.name, worst);
          return EXIT.ok;
        }
        checkTask(file, input);
        return startAndWork(terminal, { file, path, input, options });
      }),
    );

const checkOptions = ({ auto, step, ask, wait }: RunOptions, terminal: Terminal): void => {
  const wrong = (problem: string, instead: string) => new RuntimeError('WRONG_USE', { problem, instead });
  if (auto && step) throw wrong('--auto and --step are opposites.', 'Give one of them.');
  if (ask === false && step)
    throw wrong('--step asks before each step, and --no-ask never asks.', 'Give one of them.');
  if (ask === false && wait)
    throw wrong('--wait stays for an answer, and --no-ask does not.', 'Give one of them.');
  if (step && !terminal.canAsk)
    throw wrong(
      '--step needs a terminal to ask on.',
      'Call it from one, without --json, or leave --step out.',
    );
};

const noSteps = (): RuntimeError =>
  new RuntimeError('WRONG_USE', {
    problem: 'A repeat loop has no steps to stop at.',
    instead: 'Loops with steps are tight, plan, phases, tree and stories. Leave --step out.',
  });

interface Starting {
  readonly file: WorkflowFile;
  readonly path: string;
  readonly input: unknown;
  readonly options: RunOptions;
}

const startAndWork = async (
  terminal: Terminal,
  { file, path, input, options }: Starting,
): Promise<ExitCode> => {
  const described = descriptionOf({ ...file, path: resolve(path) }, dirname(resolve(path)));
  const mine = new Set<string>();
  const warnings = createWarnings(terminal);
  const runtime = await openRuntime(newOrExistingLog(options), {
    mode: 'work',
    described,
    takesUp: (run) => mine.has(run),
    onWarning: warnings.warn,
  });
  const by = whoIsHere(options);
  try {
    const id = options.id ?? (await nextId(runtime, file.name));
    mine.add(id);
    const run = await runtime.start(file.name, input, { id, by });
    if (terminal.isJson) terminal.json({ type: 'started', run: id, workflow: file.name });
    const asks = terminal.canAsk && options.ask !== false;
    const stepper = createStepper();
    if (options.step) await stepper.hold(run);
    return await workOn(runtime, [id], {
      terminal,
      asks,
      stays: asks || options.wait === true,
      by,
      log: options,
      warnings,
      ...(asks && { stepper }),
    });
  } finally {
    await runtime.close();
  }
};

/** `ship-3` is the third run of `ship`, or the next one that is free. */
const nextId = async (runtime: Runtime, workflow: string): Promise<string> => {
  const runs = await runtime.runs();
  const known = new Set(runs.map(({ id }) => id));
  let number = runs.filter((run) => run.workflow === workflow).length + 1;
  while (known.has(`${workflow}-${number}`)) number += 1;
  return `${workflow}-${number}`;
};
