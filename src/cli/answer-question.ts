import { isRuntimeError, type Json, type OpenQuestion, questionFingerprint, type Runtime } from '../index.ts';
import { askLine } from './ask.ts';
import { escapeLine } from './escape.ts';
import { questionText } from './question-text.ts';
import type { Terminal } from './terminal.ts';

/** What a person said to a question. */
export interface Said {
  readonly option: string | null;
  readonly value?: Json;
}

/** What was typed, as an answer: the number or the id of an option, or a value if the question takes one. */
const readAnswer = (typed: string, { options, isFree }: OpenQuestion): Said | undefined => {
  // The number first: an option that an agent has called "2" must not stand for the second one.
  const chosen = options[Number(typed) - 1] ?? options.find(({ id }) => id === typed);
  if (chosen) return { option: chosen.id };
  return isFree && typed !== '' ? { option: null, value: typed } : undefined;
};

export interface Asking {
  readonly terminal: Terminal;
  readonly by: string;
  /** Aborted when somebody else has answered, or the process is to end. */
  readonly signal: AbortSignal;
}

/** Asks a question on the terminal until it has an answer. `gone`: there is nobody at the terminal any more. */
export const answerOnTerminal = async (
  runtime: Runtime,
  question: OpenQuestion,
  { terminal, by, signal }: Asking,
): Promise<'answered' | 'withdrawn' | 'gone'> => {
  terminal.say(questionText(question));
  const range = question.options.length === 0 ? '' : ` (1-${question.options.length})`;
  for (;;) {
    const typed = await askLine(`Your answer${range}: `, signal);
    if (typed === 'withdrawn') terminal.say('\nThis was answered elsewhere, or is no longer asked.');
    if (typed === 'withdrawn' || typed === 'gone') return typed;
    const said = readAnswer(typed.text, question);
    if (!said) {
      terminal.say(`That is none of its options: type a number${range}, or the name of an option.`);
      continue;
    }
    try {
      await runtime.answer(question.id, said.option, {
        by,
        expect: questionFingerprint(question),
        ...(said.value !== undefined && { value: said.value }),
      });
      return 'answered';
    } catch (error) {
      if (isRuntimeError(error, 'QUESTION_CHANGED', 'QUESTION_CLOSED', 'UNKNOWN_QUESTION'))
        return 'withdrawn';
      if (!isRuntimeError(error, 'BAD_ANSWER', 'BAD_OPTION')) throw error;
      terminal.say(escapeLine(error.message));
    }
  }
};
