import { type Json, type OpenQuestion, type RunRecord, type Runtime, RuntimeError } from '../../index.ts';
import { whoIsHere } from '../by.ts';
import type { AddCommand, CommonOptions } from '../command-table.ts';
import { escapeLine } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { findRun, lookUp } from '../open.ts';
import { howToAnswerUnseen } from '../question-text.ts';
import { redacted } from '../redacted.ts';
import { sendToOwner } from '../send-to-owner.ts';
import { hint } from '../ways-on.ts';

const EXAMPLES = `
Examples:
  loopwright answer ship-3 approve --note "reads well"
  loopwright answer ship-3 approve --expect 1f0c9b2a77de     only what was looked at
  loopwright answer ship-3/question continue --value 2
  loopwright answer last --value "call it CSV"`;

interface AnswerOptions extends CommonOptions {
  readonly note?: string;
  readonly by?: string;
  readonly value?: string;
  readonly expect?: string;
}

/** `answer ID OPTION`: says to a question what a person has decided. */
export const addAnswer: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Answers a question, also while a run is on in another terminal.')
    .argument('<id>', 'the question, or a run that has one open: its id, or the beginning of it')
    .argument('[option]', 'one of its options')
    .option('--note <text>', 'why')
    .option('--by <name>', 'who decides')
    .option('--expect <fingerprint>', 'refuse unless the question still is what "questions" showed')
    .option('--value <json>', 'an answer of your own, or what belongs to the option; JSON, or else a text')
    .addHelpText('after', EXAMPLES)
    .action(
      action<AnswerOptions>(async ([given = '', option], options) => {
        const { file, found: question } = await lookUp(options, (runtime) => findQuestion(runtime, given));
        const said = checkedAnswer(question, option, options);
        const { note, expect } = options;
        const more = { ...(note !== undefined && { note }), ...(expect !== undefined && { expect }) };
        const { hasOwner, redactor } = await sendToOwner(
          file,
          { kind: 'answer', question: question.id, ...said, ...more },
          { by: whoIsHere(options) },
        );
        const { verdict } = await runNow(question.run, options);
        const answered = { question: question.id, run: question.run, ...said, hasOwner, verdict };
        if (terminal.isJson) terminal.json(redacted(answered, redactor));
        else {
          terminal.say(`${escapeLine(question.id)}: answered ${escapeLine(option ?? 'in own words')}.`);
          if (verdict !== null) terminal.say(`${escapeLine(question.run)} has ended ${verdict}.`);
          else if (!hasOwner) terminal.say(`Go on with: ${hint(options, 'resume', question.run)}`);
        }
        return EXIT.ok;
      }),
    );

/** The run as it is after the answer. */
const runNow = async (run: string, options: CommonOptions): Promise<RunRecord> => {
  const { found } = await lookUp(options, (runtime) => findRun(runtime, run));
  return found;
};

/** @throws {RuntimeError} WRONG_USE if none or several are meant */
const findQuestion = async (runtime: Runtime, given: string): Promise<OpenQuestion> => {
  const open = await runtime.questions();
  const exact = open.find(({ id }) => id === given);
  if (exact) return exact;
  const fitting = open.filter(({ id }) => given !== '' && id.startsWith(given));
  const found = fitting.length > 0 ? fitting : await questionsOfRun(runtime, given);
  const [only, ...others] = found;
  if (only && others.length === 0) return only;
  if (only) throw new RuntimeError('AMBIGUOUS_ID', { given, found: found.map(({ id }) => id) });
  throw new RuntimeError('WRONG_USE', {
    problem: `No question is open at "${given}".`,
    instead: 'List them: loopwright questions.',
  });
};

const questionsOfRun = async (runtime: Runtime, given: string): Promise<readonly OpenQuestion[]> => {
  const run = await findRun(runtime, given);
  return runtime.questions({ run: run.id });
};

const checkedAnswer = (
  question: OpenQuestion,
  option: string | undefined,
  { value, db }: AnswerOptions,
): { readonly option: string | null; readonly value?: Json } => {
  const said = { option: option ?? null, ...(value !== undefined && { value: toJson(value) }) };
  const isKnown = option !== undefined && question.options.some(({ id }) => id === option);
  const isFree = option === undefined && value !== undefined && question.isFree;
  if (isKnown || isFree) return said;
  throw new RuntimeError('WRONG_USE', {
    problem:
      option === undefined
        ? `The question "${question.id}" needs an answer.`
        : `"${option}" is none of the options of "${question.id}".`,
    instead: `Write: ${howToAnswerUnseen(question, { db })}`,
  });
};

const toJson = (text: string): Json => {
  try {
    return JSON.parse(text) as Json; // What JSON.parse gives is JSON.
  } catch {
    return text;
  }
};
