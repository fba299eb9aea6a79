import { spawnSync } from 'node:child_process';

/** Runs a command of the system to its end. @throws if it is not there or fails, with what it said */
export function runCommand(command: string, ...given: readonly string[]): void {
  const { error, status, stderr } = spawnSync(command, given, { encoding: 'utf8' });
  if (error || status !== 0) throw new Error(`${command} ${given.join(' ')}: ${error?.message ?? stderr}`);
}
