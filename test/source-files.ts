import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** A source file, and the same text with comments and the contents of strings blanked out. */
export interface SourceFile {
  /** From the root of the project: `src/events/json.ts`. */
  readonly path: string;
  readonly text: string;
  /** As long as `text`, with the same line breaks: an offset in one is an offset in the other. */
  readonly code: string;
}

export interface Import {
  readonly specifier: string;
  /** `import type` and `export type`: nothing of it is left when the program runs. */
  readonly isTypeOnly: boolean;
  readonly line: number;
}

const root = fileURLToPath(new URL('..', import.meta.url));

/** Every TypeScript file under a folder of the project. */
export const sourceFilesIn = (folder: string): readonly SourceFile[] =>
  readdirSync(`${root}${folder}`, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts'))
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`)
    .toSorted()
    .map((path) => sourceFile(path, readFileSync(`${root}${path}`, 'utf8')));

export const sourceFile = (path: string, text: string): SourceFile => ({ path, text, code: codeOnly(text) });

export const lineAt = (text: string, offset: number): number => text.slice(0, offset).split('\n').length;

// In `code` a string is a pair of quotes with blanks between them; what it says is read from `text`.
const IMPORT_FORMS = [
  /^[ \t]*(?:import|export)\b(?<type>\s+type\b(?!\s*(?:,|from\b)))?[^;'"`()=]*?\bfrom\s*(?<quoted>(['"]) *\3)/dgm,
  /^[ \t]*import\s*(?<quoted>(['"]) *\2)/dgm,
  /\b(?:import|require)\s*\(\s*(?<quoted>(['"`]) *\2)/dg,
];

/** What a file imports or exports from elsewhere, in every form that the language has. */
export function importsOf({ text, code }: SourceFile): readonly Import[] {
  return IMPORT_FORMS.flatMap((form) =>
    [...code.matchAll(form)].map((match) => {
      const [start, end] = match.indices?.groups?.['quoted'] ?? [0, 0];
      return {
        specifier: text.slice(start + 1, end - 1),
        isTypeOnly: match.groups?.['type'] !== undefined,
        line: lineAt(text, start),
      };
    }),
  );
}

const WORD_BEFORE_REGEX = /(?:^|[^\w$.])(?:return|typeof|case|in|of|do|else|void|await|yield)$/;

/** Blanks comments, and what is between the quotes of strings, templates and regular expressions. */
function codeOnly(text: string): string {
  const code: string[] = [];
  /** Depth of braces at which each open `${` of a template ends. */
  const templates: number[] = [];
  let depth = 0;
  let at = 0;

  const blankTo = (end: number): void => {
    code.push(text.slice(at, end).replace(/[^\n]/g, ' '));
    at = end;
  };
  const keep = (): void => {
    code.push(text.charAt(at));
    at += 1;
  };
  const blankQuoted = (quote: string): void => {
    keep();
    const end = endOfQuoted(text, at, quote);
    blankTo(end);
    if (text.startsWith('${', at)) {
      keep();
      keep();
      templates.push(depth);
    } else if (at < text.length) keep();
  };

  while (at < text.length) {
    const char = text.charAt(at);
    if (text.startsWith('//', at)) blankTo(indexOrEnd(text, '\n', at));
    else if (text.startsWith('/*', at)) blankTo(Math.min(indexOrEnd(text, '*/', at) + 2, text.length));
    else if (char === "'" || char === '"' || char === '`') blankQuoted(char);
    else if (char === '/' && startsRegex(code.join('').trimEnd())) blankQuoted('/');
    else if (char === '}' && templates.at(-1) === depth) {
      templates.pop();
      blankQuoted('`');
    } else {
      if (char === '{') depth += 1;
      if (char === '}') depth -= 1;
      keep();
    }
  }
  return code.join('');
}

/** Where the closing quote is, or the `${` that interrupts a template. */
function endOfQuoted(text: string, start: number, quote: string): number {
  let isInClass = false;
  for (let at = start; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '\\') at += 1;
    else if (quote === '/' && char === '[') isInClass = true;
    else if (quote === '/' && char === ']') isInClass = false;
    else if (char === quote && !isInClass) return at;
    else if (quote === '`' && text.startsWith('${', at)) return at;
  }
  return text.length;
}

/** A slash divides after a value, and begins a regular expression after anything else. */
const startsRegex = (before: string): boolean =>
  before === '' || /[^\w$)\]}'"`]$/.test(before) || WORD_BEFORE_REGEX.test(before);

function indexOrEnd(text: string, search: string, from: number): number {
  const index = text.indexOf(search, from);
  return index === -1 ? text.length : index;
}
