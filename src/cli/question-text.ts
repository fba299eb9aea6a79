import { type OpenQuestion, questionFingerprint } from '../index.ts';
import { escapeLine, quoted } from './escape.ts';

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
    ...options.map(
      ({ id: option, label, impact }, index) =>
        `  ${index + 1}) ${escapeLine(option)}: ${escapeLine(label)}${impact === undefined ? '' : ` (${escapeLine(impact)})`}`,
    ),
    ...(isFree ? ['  or an answer in your own words'] : []),
    `  fingerprint of all this: ${questionFingerprint(question)}`,
  ].join('\n');
};

const hasDetails = (details: unknown): boolean =>
  details !== null &&
  details !== undefined &&
  !(typeof details === 'object' && Object.keys(details).length === 0);

const asText = (details: unknown): string =>
  typeof details === 'string' ? details : JSON.stringify(details, null, 2);

/** How to answer from elsewhere. */
export const howToAnswer = ({ id, options, isFree }: OpenQuestion): string => {
  const choice = options.length > 0 ? options.map((option) => option.id).join('|') : '';
  const value = isFree ? " --value '…'" : '';
  return `loopwright answer ${escapeLine(id)} ${escapeLine(choice)}${value}`.trimEnd();
};
