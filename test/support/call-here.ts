import { vi } from 'vitest';
import { runProgram } from '../../src/cli/program.ts';
import type { CommandRan } from './cli.ts';

/** Runs a command in this process, in that folder: for the many that are over before they have begun. */
export const callHere = async (folder: string, args: readonly string[]): Promise<CommandRan> => {
  const before = process.cwd();
  let [stdout, stderr] = ['', ''];
  const writes = [
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      stdout += String(text);
      return true;
    }),
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      stderr += String(text);
      return true;
    }),
  ];
  process.chdir(folder);
  try {
    const code = await runProgram(args);
    return { code, stdout, stderr };
  } finally {
    process.chdir(before);
    for (const write of writes) write.mockRestore();
  }
};
