import type { Json } from '../events/json.ts';
import type { ReviewIssue, StoryText } from '../machines/story-review.ts';
import type { StoryNote } from '../machines/story-state.ts';

/** The section of notes, line by line. What agents wrote is quoted: it must not look like the lines around it. */
export const renderNotes = (notes: readonly StoryNote[]): readonly string[] =>
  notes.flatMap((note) => ['', ...(note.kind === 'review' ? ofReview(note) : ofRefinement(note))]);

const ofReview = ({ at, summary, issues, feedback }: StoryNote & { kind: 'review' }): readonly string[] => [
  `### Review of ${at}`,
  '',
  summary,
  ...(issues.length === 0 ? [] : ['', ...issues.flatMap(issueLines)]),
  ...(feedback === '' ? [] : ['', ...quoted(feedback)]),
];

const ofRefinement = (note: StoryNote & { kind: 'refinement' }): readonly string[] => {
  const { at, iteration, max, target, reset } = note;
  return [
    `### Refinement ${iteration}${max === null ? '' : ` of ${max}`}, ${at}`,
    '',
    `- Sent back to: ${target}`,
    `- Set back: ${reset.length === 0 ? 'nothing' : reset.join(', ')}`,
  ];
};

const issueLines = (issue: ReviewIssue): readonly string[] => {
  const { severity, category, description, file, line, suggestedFix, reviewer } = issue;
  const place = file === undefined ? '' : ` in ${inOneLine(file)}${line === undefined ? '' : `:${line}`}`;
  const by = reviewer === undefined ? '' : `, ${inOneLine(reviewer)}`;
  return [
    `- **${severity}**${category === '' ? '' : ` (${inOneLine(category)})`}${place}${by}`,
    ...quoted(description).map((text) => `  ${text}`),
    ...(suggestedFix === undefined ? [] : ['', ...quoted(suggestedFix).map((text) => `  ${text}`)]),
  ];
};

/** Whatever some reader takes for the end of a line. */
const LINE_END = /\r\n|[\n\r\v\f\u0085\u2028\u2029]/;

/** Texts that were large are whole again here: the call that brought them has resolved them. */
const textOf = (text: StoryText): string =>
  typeof text === 'string' ? text : JSON.stringify(text satisfies Json);

const quoted = (text: StoryText): readonly string[] =>
  textOf(text)
    .split(LINE_END)
    .map((line) => `> ${line}`.trimEnd());

const inOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
