import type { AddCommand } from '../command-table.ts';
import { withFingerprint } from '../endings.ts';
import { EXIT } from '../exit-codes.ts';
import { findRun, openToLook } from '../open.ts';
import { howToAnswer, questionText } from '../question-text.ts';

const EXAMPLES = `
Examples:
  loopwright questions          all that is open
  loopwright questions ship-3   those of one run`;

/** `questions [RUN]`: what persons are asked. */
export const addQuestions: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Lists open questions, oldest first, and how to answer each.')
    .argument('[run]', 'those of one run: its id, the beginning of it, or last')
    .addHelpText('after', EXAMPLES)
    .action(
      action(async ([given], options) => {
        const { runtime } = await openToLook(options);
        try {
          const run = given === undefined ? undefined : await findRun(runtime, given);
          const questions = await runtime.questions(run ? { run: run.id } : {});
          if (terminal.isJson) terminal.json(questions.map(withFingerprint));
          else if (questions.length === 0) terminal.say('No question is open.');
          for (const question of questions)
            terminal.say(`${questionText(question)}\nAnswer with: ${howToAnswer(question, options)}\n`);
          return EXIT.ok;
        } finally {
          await runtime.close();
        }
      }),
    );
