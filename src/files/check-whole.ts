import type { FileProblem } from '../errors.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { Workflow } from '../machines/workflow.ts';
import { workflowOf } from './compile.ts';
import { pathOfText, problemsOfError } from './compile-problems.ts';
import { type AgentDescription, agentsOf } from './file-agents.ts';
import type { FileText } from './file-text.ts';
import { valueAt } from './form-problems.ts';
import type { LoopName } from './loop-forms.ts';
import { inputIn, type StoryPaths } from './own-paths.ts';
import { type Path, problemAt } from './place.ts';
import { problemOfLine } from './script-agent.ts';

/** What is left to check when each part of a document has its form. */
export interface Whole {
  readonly file: FileText;
  readonly loop: LoopName;
  readonly definition: JsonObject;
  readonly agents: Readonly<Record<string, AgentDescription>>;
  readonly input: Json | undefined;
  readonly directory: string;
}

export const checkWhole = (whole: Whole): StoryPaths => {
  const { file, loop, input: given, directory } = whole;
  const compiled = attempt(file, () => workflowOf(whole.definition, 1));
  const paths = inputIn(loop, given, { file, directory });
  const roles = compiled.value ? rolesOf(loop, compiled.value) : [];
  const started = attempt(file, () => {
    const { prepare } = compiled.value?.options ?? {};
    if (paths.input !== undefined && paths.problems.length === 0)
      prepare?.(paths.input, { run: 'run', folder: null, cwd: directory });
  }, ['input']);
  const problems = [
    ...compiled.problems,
    ...(compiled.value ? problemsOfRoles(whole, roles) : []),
    ...problemsOfAgents(whole),
    ...paths.problems,
    ...started.problems,
  ];
  return { input: paths.input, problems };
};

const attempt = <Value>(
  file: FileText,
  make: () => Value,
  above: Path = [],
): { readonly value?: Value; readonly problems: readonly FileProblem[] } => {
  try {
    return { value: make(), problems: [] };
  } catch (error) {
    return { problems: problemsOfError(error, file, above) };
  }
};

/** The least that a run of each loop can be started with. */
const LEAST: Partial<Record<LoopName, Json>> = {
  stories: { stories: [{ id: 'one' }] },
  tree: { task: null },
};

/** The roles that a workflow calls: what it gives its machine says how each is called. */
const rolesOf = (loop: LoopName, { options }: Workflow): readonly string[] => {
  const start = options.prepare?.(LEAST[loop] ?? null) as JsonObject | undefined;
  const { roles, role, settings } = start ?? {};
  const named = isJsonObject(settings) ? settings['roles'] : roles;
  if (isJsonObject(named)) return Object.keys(named);
  return isJsonObject(role) && typeof role['role'] === 'string' ? [role['role']] : [];
};

const problemsOfRoles = (
  { file, loop, agents, definition }: Whole,
  roles: readonly string[],
): readonly FileProblem[] => {
  const { agents: _, input: _input, ...rest } = file.value as JsonObject; // The form is that of an object.
  const missing = roles
    .filter((name) => !Object.hasOwn(agents, name))
    .map((name) => {
      const named = pathOfText(rest, name);
      const place = named ?? ['agents'];
      return problemAt(named ? file.valueAt(place) : file.keyAt(place), place, {
        problem: `there is no agent "${name}"`,
        allowed: `${Object.keys(agents).join(', ') || 'none yet'}: describe it under \`agents\``,
      });
    });
  const unused = Object.keys(agents)
    .filter((name) => !roles.includes(name))
    .map((name) =>
      problemAt(file.keyAt(['agents', name]), ['agents', name], {
        problem: 'nothing in this workflow names this agent',
        allowed: roles.join(', '),
      }),
    );
  const persons = Object.keys(agents)
    .filter((name) => 'person' in (agents[name] ?? {}) && !('persons' in definition))
    .map((name) =>
      problemAt(file.keyAt(['agents', name, 'person']), ['agents', name, 'person'], {
        problem: `no role of a ${loop} loop can be a person's`,
        allowed: 'command, model, script',
      }),
    );
  return [...missing, ...unused, ...persons];
};

/** Each is made once, to see whether it can be. Nothing is started. */
const problemsOfAgents = ({ file, agents, directory }: Whole): readonly FileProblem[] =>
  Object.entries(agents).flatMap(([name, description]) => {
    const above = ['agents', name];
    const lines = Array.isArray(description['script']) ? (description['script'] as readonly Json[]) : [];
    const wrongLines = lines.flatMap((line, index) => {
      const problem = problemOfLine(line);
      const place = [...above, 'script', index];
      return problem === undefined ? [] : [problemAt(file.valueAt(place), place, { problem })];
    });
    if ('model' in description) return problemsOfUrl(file, [...above, 'baseUrl']);
    try {
      agentsOf({ [name]: description }, { directory });
      return wrongLines;
    } catch (error) {
      return problemsOfError(error, file, above);
    }
  });

const problemsOfUrl = (file: FileText, place: Path): readonly FileProblem[] => {
  const url = valueAt(file.value, place);
  if (typeof url === 'string' && URL.canParse(url)) return [];
  return [problemAt(file.valueAt(place), place, { problem: 'it is no URL', allowed: 'https://…' })];
};
