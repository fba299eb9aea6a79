import { resolve } from 'node:path';
import { type Agent, agent } from '../actors/agent.ts';
import type { CommandOptions } from '../actors/command-options.ts';
import { RuntimeError } from '../errors.ts';
import type { Json, JsonObject } from '../events/json.ts';
import { scriptAgent, type UsedLines } from './script-agent.ts';

/** An agent as a workflow file describes it: `command`, `model`, `person` or `script`, with the options of its kind. */
export type AgentDescription = JsonObject;

export interface FileAgentsOptions {
  /** The folder of the file: where commands run, and what their `cwd` is relative to. */
  readonly directory: string;
  /** Makes the agents that are models. */
  readonly makeModelAgent?: (name: string, description: AgentDescription) => Agent;
  /** How many lines of a script a run has used up: for runs that go on in another process. */
  readonly usedLines?: UsedLines;
}

/**
 * The agents that a file describes, by their names. Persons are none: they are part of the definition.
 *
 * @throws {RuntimeError} BAD_OPTION
 */
export const agentsOf = (
  agents: Readonly<Record<string, AgentDescription>>,
  options: FileAgentsOptions,
): Record<string, Agent> =>
  Object.fromEntries(
    Object.entries(agents).flatMap(([name, description]) => {
      const made = agentOf(name, description, options);
      return made ? [[name, made]] : [];
    }),
  );

const agentOf = (
  name: string,
  description: AgentDescription,
  { directory, makeModelAgent, usedLines }: FileAgentsOptions,
): Agent | undefined => {
  if ('person' in description) return undefined;
  if ('model' in description) {
    if (makeModelAgent) return makeModelAgent(name, description);
    throw new RuntimeError('BAD_OPTION', {
      option: `agents.${name}.model`,
      found: 'a model, and there is nothing that calls models',
      expected: 'a command in its place, or give `makeModelAgent`',
    });
  }
  const { script, command, ...rest } = description;
  // The form of the file has been checked.
  if (isList(script)) return agent(scriptAgent(name, script, usedLines), rest as never);
  if (isList(command)) return commandOf(command as readonly string[], rest, directory);
  throw new RuntimeError('BAD_OPTION', {
    option: `agents.${name}`,
    found: 'of no kind that is known',
    expected: 'a `command`, `model`, `person` or `script`',
  });
};

const isList = (value: Json | undefined): value is readonly Json[] => Array.isArray(value);

const commandOf = (command: readonly string[], given: AgentDescription, directory: string): Agent => {
  const [file = '', ...args] = command;
  const { cwd = '.', ...options } = given as CommandOptions;
  return agent.command(programOf(file, directory), args, { ...options, cwd: resolve(directory, cwd) });
};

/** A program with a path is one of the folder; a name alone is looked for in PATH. */
const programOf = (file: string, directory: string): string =>
  file.includes('/') ? resolve(directory, file) : file;
