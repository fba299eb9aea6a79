import { isRuntimeError, type RunRecord, type Runtime, RuntimeError } from '../../index.ts';
import { whoIsHere } from '../by.ts';
import type { AddCommand, CommonOptions } from '../command-table.ts';
import { EXIT, type ExitCode } from '../exit-codes.ts';
import { workOn } from '../live-run.ts';
import { existingLog } from '../log-file.ts';
import { findRun, isOfPeople, lookUp, openRuntime } from '../open.ts';
import { heldFor } from '../pauses.ts';
import { contextOf } from '../run-context.ts';
import { sendToOwner } from '../send-to-owner.ts';
import { AUTOMATIC, createStepper, isBoard, STEP_REASON } from '../stepper.ts';
import type { Terminal } from '../terminal.ts';
import { createWarnings } from '../warnings.ts';

const EXAMPLES = `
Examples:
  loopwright resume          goes on with every open run, also if it was paused
  loopwright resume ship-3   goes on with one`;

interface ResumeOptions extends CommonOptions {
  readonly ask?: boolean;
  readonly wait?: boolean;
  readonly by?: string;
  readonly auto?: boolean;
}

/** `resume [RUN]`: goes on with what was left. */
export const addResume: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Goes on with open runs, after Ctrl-C, a crash, an answer or a pause.')
    .argument('[run]', 'its id, the beginning of it, or last; every open run unless given')
    .option('--no-ask', 'never ask: print the question, and exit with 3')
    .option('--wait', 'stay while a person is waited for, who answers from elsewhere')
    .option('--auto', 'let stories that are worked on step by step go on by themselves')
    .option('--by <name>', 'who answers on this terminal')
    .addHelpText('after', EXAMPLES)
    .action(
      action<ResumeOptions>(async ([given], options) => {
        const { file, found: chosen } = await lookUp(options, (runtime) => chooseRuns(runtime, given));
        if (chosen.length === 0) {
          terminal.say('No run is open: there is nothing to go on with.');
          if (terminal.isJson) terminal.json({ type: 'nothing', runs: [] });
          return EXIT.ok;
        }
        return goOn(terminal, { file, chosen, isNamed: given !== undefined, options });
      }),
    );

const chooseRuns = async (runtime: Runtime, given: string | undefined): Promise<readonly RunRecord[]> => {
  if (given === undefined) return (await runtime.runs({ status: 'open' })).filter(isOfPeople);
  const run = await findRun(runtime, given);
  if (run.verdict !== null) throw new RuntimeError('RUN_ENDED', { run: run.id, verdict: run.verdict });
  return [run];
};

interface GoingOn {
  readonly file: string;
  readonly chosen: readonly RunRecord[];
  readonly isNamed: boolean;
  readonly options: ResumeOptions;
}

const goOn = async (terminal: Terminal, given: GoingOn): Promise<ExitCode> => {
  const { file, chosen, isNamed, options } = given;
  const ids = chosen.map(({ id }) => id);
  const warnings = createWarnings(terminal);
  const by = whoIsHere(options);
  let runtime: Runtime;
  try {
    runtime = await openRuntime(file, {
      mode: 'work',
      runs: ids,
      takesUp: (run) => ids.includes(run),
      onWarning: warnings.warn,
    });
  } catch (error) {
    if (isNamed && isRuntimeError(error, 'LOG_LOCKED')) return tellOwner(terminal, given);
    throw error;
  }
  try {
    const asks = terminal.canAsk && options.ask !== false;
    // A run that is done step by step stays so where somebody can be asked, unless it was named to go on.
    const kept = asks && !isNamed ? [STEP_REASON] : [];
    for (const id of ids) await unpause(runtime, id, { by, kept });
    if (options.auto) for (const id of ids) await goOnByItself(runtime, id);
    return await workOn(runtime, ids, {
      terminal,
      asks,
      stays: asks || options.wait === true,
      by,
      log: options,
      warnings,
      ...(asks && { stepper: createStepper() }),
    });
  } finally {
    await runtime.close();
  }
};

const goOnByItself = async (runtime: Runtime, id: string): Promise<void> => {
  const run = await runtime.run(id);
  if (await isBoard(run)) await run.send(AUTOMATIC);
};

const unpause = async (
  runtime: Runtime,
  id: string,
  { by, kept }: { readonly by: string; readonly kept: readonly string[] },
): Promise<void> => {
  const { pauseReasons } = await contextOf(runtime, id);
  const run = await runtime.run(id);
  for (const reason of heldFor(pauseReasons).filter((each) => !kept.includes(each)))
    await run.resume(reason, { by });
};

/** Another process works on the log: it is told to let the run go on. */
const tellOwner = async (terminal: Terminal, { chosen, options }: GoingOn): Promise<ExitCode> => {
  const { found: messages } = await lookUp(options, async (runtime) =>
    Promise.all(
      chosen.map(async ({ id }) =>
        heldFor((await contextOf(runtime, id)).pauseReasons).map((reason) => ({
          to: id,
          message: { type: 'run.resume', reason },
        })),
      ),
    ),
  );
  for (const { to, message } of messages.flat())
    await sendToOwner(
      existingLog(options),
      { kind: 'send', to, message },
      { ...(options.by && { by: options.by }) },
    );
  const ids = chosen.map(({ id }) => id);
  if (terminal.isJson) terminal.json({ type: 'told', runs: ids });
  else terminal.say(`Another process works on this log, and goes on with ${ids.join(', ')}.`);
  return EXIT.ok;
};
