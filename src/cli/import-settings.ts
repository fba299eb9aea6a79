import { loopsIn, type SettingsImport, type SettingsLoop, workflowText } from '../index.ts';
import type { ImportOptions } from './commands/import.ts';
import { EXIT, type ExitCode } from './exit-codes.ts';
import { tellRows } from './import-rows.ts';
import { createNewFile } from './new-file.ts';
import type { Terminal } from './terminal.ts';
import { wrong } from './wrong-use.ts';

/** Makes a workflow file of settings: on the standard output, or in a new file. */
export const importSettings = (
  read: SettingsImport,
  { terminal, options }: { readonly terminal: Terminal; readonly options: ImportOptions },
): ExitCode => {
  const { out, force = false, check = false, strict = false } = options;
  const loops = chosen(loopsIn(read), options.loop);
  const isStopped = check || (strict && read.refused.length > 0);
  const files = isStopped ? [] : loops.map((loop) => ({ loop, text: workflowText(read, loop) }));
  if (out !== undefined && files.length > 1)
    throw wrong('These are settings of two loops.', 'Name one of them with --loop: stories or tight.');
  const [first] = files;
  if (out !== undefined && first) {
    const file = createNewFile(out, { force });
    file.write(first.text.trimEnd());
    file.finish();
  }
  const { accepted, refused, notes } = read;
  if (terminal.isJson)
    terminal.json({
      format: 'settings',
      accepted,
      refused,
      notes,
      workflows: files,
      out: first ? (out ?? null) : null,
    });
  else {
    if (out === undefined) for (const { text } of files) terminal.say(text);
    tellRows({ ...terminal, say: (line = '') => terminal.note(line) }, read);
    if (out !== undefined && first) terminal.note(`Written to ${out}.`);
  }
  return refused.length === 0 ? EXIT.ok : EXIT.failed;
};

const chosen = (loops: readonly SettingsLoop[], wanted: string | undefined): readonly SettingsLoop[] => {
  if (wanted === undefined) return loops;
  const found = loops.filter((loop) => loop === wanted);
  if (found.length > 0) return found;
  throw wrong(
    `There are no settings of the loop "${wanted}".`,
    `There are some of: ${loops.join(', ') || 'none'}.`,
  );
};
