import { isRuntimeError, type Runtime, type Why } from '../../index.ts';
import type { AddCommand, CommonOptions } from '../command-table.ts';
import { escapeLine, quoted } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { findRun, openToLook } from '../open.ts';
import { forkLine, goOnLine, inLog, resumeLine } from '../ways-on.ts';

const EXAMPLES = `
Examples:
  loopwright why last          why the newest run waits, works or has ended
  loopwright why 42            why the event at position 42 came
  loopwright why RUN/question  what became of a question, a loop or an agent`;

/** `why`: the chain of causes, the limit that decided, and what would let a run go on. */
export const addWhy: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Says why a run stands where it does, or why an event came, and how to go on.')
    .argument('<id>', 'a run, the position or id of an event, or the address of an actor or question')
    .addHelpText('after', EXAMPLES)
    .action(
      action(async ([id = ''], common) => {
        const { file, runtime } = await openToLook(common);
        try {
          const why = await whyOf(runtime, id);
          if (terminal.isJson) terminal.json(why);
          else terminal.say(inWords(why, { ...common, file }));
          return EXIT.ok;
        } finally {
          await runtime.close();
        }
      }),
    );

const whyOf = async (runtime: Runtime, given: string): Promise<Why> => {
  if (/^\d{1,15}$/.test(given)) return runtime.why(Number(given));
  try {
    return await runtime.why(given);
  } catch (error) {
    // Perhaps it is the beginning of a run's id, or of the address of something in that run.
    if (!isRuntimeError(error, 'UNKNOWN_RUN')) throw error;
    const [run = '', ...rest] = given.split('/');
    const { id } = await findRun(runtime, run);
    return runtime.why([id, ...rest].join('/'));
  }
};

const LABEL = 'from the log, where agents and persons are quoted';

/**
 * What the log says stands in a box, since agents and persons are quoted in it. The commands are those of the command line, in place of
 * calls of the API, which are the last lines of the text, one each.
 */
const inWords = (
  { text, run, standing, commands, branch }: Why,
  log: CommonOptions & { readonly file: string },
): string => {
  const resume = standing === 'working' ? resumeLine(log.file, run) : undefined;
  const lines = text.split('\n');
  const said = lines.slice(0, lines.length - commands.length - (branch ? 1 : 0));
  const own = [
    ...commands.map((command) => `To go on: ${inLog(goOnLine(command), log)}`),
    ...(resume === undefined ? [] : [`Nobody works on it now. To go on: ${inLog(resume, log)}`]),
    ...(branch ? [`To go on in a branch: ${inLog(forkLine(run, branch), log)}`] : []),
  ];
  return [quoted(said.join('\n'), { label: LABEL, linesMax: said.length }), ...own.map(escapeLine)].join(
    '\n',
  );
};
