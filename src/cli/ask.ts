import { createInterface } from 'node:readline/promises';

/** What a person typed; `gone` if the input has ended, `withdrawn` if nobody needs the answer any more. */
export type Typed = { readonly text: string } | 'gone' | 'withdrawn';

/** Asks for a line on the terminal. */
export const askLine = async (prompt: string, signal: AbortSignal): Promise<Typed> => {
  if (signal.aborted) return 'withdrawn';
  const lines = createInterface({ input: process.stdin, output: process.stdout });
  // Otherwise the terminal's Ctrl-C would end in here.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return await new Promise<Typed>((resolve, reject) => {
      lines.once('close', () => resolve(signal.aborted ? 'withdrawn' : 'gone'));
      lines.question(prompt, { signal }).then((text) => resolve({ text: text.trim() }), reject);
    });
  } catch (error) {
    if (signal.aborted) return 'withdrawn';
    throw error;
  } finally {
    lines.close();
  }
};
