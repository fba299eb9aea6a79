/**
 * What a terminal would act on or hide: controls of C0 and C1 (ESC and CR among them), marks that turn the direction of text, characters
 * without width, separators of lines that are none of ours, and halves of surrogate pairs.
 */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

const shown = (character: string): string =>
  NAMED[character] ?? `\\u{${(character.codePointAt(0) ?? 0).toString(16)}}`;

/** A text of an agent, a file or the log on one line: nothing in it moves the cursor, hides, or turns text round. */
export const escapeLine = (text: string): string => text.replaceAll(UNSAFE, shown);

/** The same over several lines: its line feeds stay. */
export const escapeText = (text: string): string => text.split('\n').map(escapeLine).join('\n');

/** The beginning of a line; half of a surrogate pair is left out as well. */
export const cutTo = (line: string, lengthMax: number): string =>
  line.slice(0, lengthMax).replace(/\p{Cs}$/u, '');

/** Cut to a number of characters, escaped, on one line. */
export const excerpt = (text: string, lengthMax = 120): string => {
  const line = escapeLine(text.trim());
  return line.length <= lengthMax ? line : `${cutTo(line, lengthMax - 1)}…`;
};

export interface QuoteOptions {
  /** Who said it. */
  readonly label: string;
  readonly linesMax?: number;
}

const LINES_MAX = 40;
const LINE_LENGTH_MAX = 2_000;

/** Whether a box does not show all of a text. */
export const isCut = (text: string, linesMax = LINES_MAX): boolean => {
  const lines = text.trimEnd().split('\n');
  return lines.length > linesMax || lines.some((line) => line.length > LINE_LENGTH_MAX);
};

/**
 * What an agent says, in a box of its own: with a label above, and a mark before every line, so that nothing in it can pass for the
 * words of the program or of a person's options.
 */
export const quoted = (text: string, { label, linesMax = LINES_MAX }: QuoteOptions): string => {
  const lines = text.trimEnd().split('\n');
  const shownLines = lines.slice(0, linesMax).map((line) => {
    const cut = line.length > LINE_LENGTH_MAX ? `${line.slice(0, LINE_LENGTH_MAX)}…` : line;
    return `  │ ${escapeLine(cut)}`;
  });
  const left = lines.length - linesMax;
  return [
    `  ┌ ${escapeLine(label)}`,
    ...shownLines,
    ...(left > 0 ? [`  │ … ${left} more lines`] : []),
    '  └',
  ].join('\n');
};
