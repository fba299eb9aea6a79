import { readFileSync } from 'node:fs';

export interface Block {
  readonly file: string;
  /** The heading that it stands under. */
  readonly heading: string;
  readonly language: string;
  readonly code: string;
  /** A comment in the line before it: `<!-- tour -->`. */
  readonly mark: string | null;
}

/** The code in a page of the documentation, with the headings that it stands under. */
export function blocksIn(file: string): readonly Block[] {
  const blocks: Block[] = [];
  let heading = '';
  let mark: string | null = null;
  let open: { readonly language: string; readonly lines: string[] } | undefined;
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (open && line === '```') {
      blocks.push({ file, heading, language: open.language, code: open.lines.join('\n'), mark });
      open = undefined;
      mark = null;
    } else if (open) open.lines.push(line);
    else if (line.startsWith('```')) open = { language: line.slice(3), lines: [] };
    else if (line.startsWith('#')) heading = line.replace(/^#+ /, '');
    else if (line.startsWith('<!-- ')) mark = line.slice(5, -4);
  }
  return blocks;
}
