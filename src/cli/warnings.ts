import { escapeLine } from './escape.ts';
import type { Terminal } from './terminal.ts';

/** What goes wrong without anyone waiting for it, told where it does not disturb. */
export interface Warnings {
  readonly warn: (warning: string) => void;
  /** From now on they are told like this. */
  tellBy(say: (line: string) => void): void;
}

export const createWarnings = (terminal: Terminal): Warnings => {
  let say = (line: string): void => terminal.note(line);
  return {
    warn: (warning) => {
      if (terminal.isJson) terminal.json({ type: 'warning', warning });
      else say(`warning: ${escapeLine(warning)}`);
    },
    tellBy: (next) => {
      say = next;
    },
  };
};
