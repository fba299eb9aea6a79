import { type OpenQuestion, questionFingerprint } from '../index.ts';
import { escapeLine, isCut, quoted } from './escape.ts';
import { inLog, line, type NamedLog } from './ways-on.ts';

const DETAILS_LINES_MAX = 30;

/** A question as a person reads it: what agents and workflows say in a box, then what can be chosen. */
export const questionText = (question: OpenQuestion): string => {
  const { id, run, text, details, options, isFree, askedOf } = question;
  const whom = askedOf === null ? 'a person' : askedOf;
  return [
    `${escapeLine(run)} asks ${escapeLine(whom)} (question ${escapeLine(id)}):`,
    quoted(text, { label: 'question' }),
    ...(hasDetails(details)
      ? [
          quoted(asText(details), {
            label: 'details, from the run and its agents',
            linesMax: DETAILS_LINES_MAX,
          }),
        ]
      : []),
    ...optionLines(options),
    ...(isFree ? ['  or an answer in your own words'] : []),
    `  fingerprint of all this: ${questionFingerprint(question)}`,
    ...(isCut(text) || isCut(asText(details), DETAILS_LINES_MAX)
      ? [`  which is of more than is shown; see the rest: ${line('questions', run, '--json')}`]
      : []),
  ].join('\n');
};

/** What the workflow or the runtime offers; then, in a box, what agents have proposed. Each has its number among all. */
const optionLines = (options: OpenQuestion['options']): readonly string[] => {
  const lines = options.map(({ id, label, impact, isProposed = false }, index) => ({
    text: `${index + 1}) ${escapeLine(id)}: ${escapeLine(label)}${impact === undefined ? '' : ` (${escapeLine(impact)})`}`,
    isProposed,
  }));
  const proposed = lines.filter(({ isProposed }) => isProposed).map(({ text }) => text);
  return [
    ...lines.filter(({ isProposed }) => !isProposed).map(({ text }) => `  ${text}`),
    ...(proposed.length === 0
      ? []
      : [quoted(proposed.join('\n'), { label: PROPOSED, linesMax: proposed.length })]),
  ];
};

const PROPOSED = 'options that were proposed with the feedback, in the words of whoever reported it';

const hasDetails = (details: unknown): boolean =>
  details !== null &&
  details !== undefined &&
  !(typeof details === 'object' && Object.keys(details).length === 0);

const asText = (details: unknown): string =>
  typeof details === 'string' ? details : (JSON.stringify(details, null, 2) ?? '');

/** How to answer from elsewhere. Names of options may be an agent's: none stands in a line that is to be copied. */
export const howToAnswer = ({ id, options, isFree }: OpenQuestion, log: NamedLog): string =>
  [
    ...(options.length > 0 ? [line('answer', id, 'OPTION')] : []),
    ...(isFree ? [`${line('answer', id)} --value '…'`] : []),
  ]
    .map((text) => inLog(text, log))
    .join(', or: ');

/** The same for whoever has not seen the question, with the names of what the workflow or the runtime offers. */
export const howToAnswerUnseen = (question: OpenQuestion, log: NamedLog): string => {
  const names = question.options.filter(({ isProposed }) => !isProposed).map(({ id }) => id);
  const proposed = question.options.length - names.length;
  const known = [
    ...names,
    ...(proposed > 0 ? [`one of ${proposed} that were proposed: loopwright questions`] : []),
  ];
  return `${howToAnswer(question, log)}${known.length === 0 ? '' : ` (OPTION: ${known.join(', ')})`}`;
};
