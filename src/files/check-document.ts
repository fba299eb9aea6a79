import { basename, dirname, extname, resolve } from 'node:path';
import type { FileProblem } from '../errors.ts';
import { canonicalJson } from '../events/encode.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import type { SecretOptions } from '../events/redact.ts';
import { isId } from '../machines/plan.ts';
import { withoutAliases } from './aliases.ts';
import { checkWhole } from './check-whole.ts';
import { FORMAT } from './compile.ts';
import type { AgentDescription } from './file-agents.ts';
import type { FileText } from './file-text.ts';
import { formProblems, shown } from './form-problems.ts';
import { nearest } from './form-words.ts';
import { LOOP_FORMS, type LoopName } from './loop-forms.ts';
import { problemAt } from './place.ts';

/** What a document says, or everything that is wrong with it. */
export type Checked =
  | {
      readonly name: string;
      readonly loop: LoopName;
      readonly definition: JsonObject;
      readonly agents: Readonly<Record<string, AgentDescription>>;
      readonly input: Json | undefined;
      readonly secrets: SecretOptions | undefined;
    }
  | { readonly problems: readonly FileProblem[] };

/** Compares a document with the form of its loop, and compiles it. */
export const checkDocument = (file: FileText, path: string): Checked => {
  const loop = loopOf(file);
  if (typeof loop !== 'string') return { problems: [loop] };
  const wrongForm = formProblems(LOOP_FORMS[loop], file);
  if (wrongForm.length > 0) return { problems: wrongForm };
  const { document, conflicts } = withoutAliases(loop, file.value as JsonObject); // The form is that of an object.
  if (conflicts.length > 0)
    return {
      problems: conflicts.map(({ path: place, name }) =>
        problemAt(file.keyAt(place), place, {
          problem: `it is another name of "${name}", which has another value`,
          allowed: 'one of the two, or the same value',
        }),
      ),
    };
  const name = nameOf(document, path);
  if (name === undefined)
    return {
      problems: [
        problemAt(file.valueAt([]), ['name'], {
          problem: '"name" is missing, and the name of the file cannot be one',
          allowed: 'letters, digits, "_", ".", ":" and "-"',
        }),
      ],
    };
  // The form has been checked.
  const agents = document['agents'] as Readonly<Record<string, AgentDescription>>;
  const definition = definitionOf({ ...document, name }, loop, agents);
  const { problems, input } = checkWhole({
    file,
    loop,
    definition,
    agents,
    input: document['input'],
    directory: dirname(resolve(path)),
  });
  if (problems.length > 0) return { problems };
  return { name, loop, definition, agents, input, secrets: document['secrets'] as SecretOptions | undefined };
};

const loopOf = (file: FileText): LoopName | FileProblem => {
  const { value } = file;
  const names = Object.keys(LOOP_FORMS);
  if (!isJsonObject(value))
    return problemAt(file.valueAt([]), [], {
      problem: value === null ? 'it is empty' : `found ${shown(value)}`,
      allowed: 'a mapping with `loop` and `agents`',
    });
  const { loop } = value;
  if (typeof loop === 'string' && Object.hasOwn(LOOP_FORMS, loop)) return loop as LoopName; // It is one of them.
  const meant = typeof loop === 'string' ? nearest(loop, names) : undefined;
  const found = loop === undefined ? '"loop" is missing' : `found ${shown(loop)}`;
  return problemAt(file.valueAt(loop === undefined ? [] : ['loop']), ['loop'], {
    problem: meant === undefined ? found : `${found}: did you mean "${meant}"?`,
    allowed: names.join(', '),
  });
};

const nameOf = ({ name }: JsonObject, path: string): string | undefined => {
  if (typeof name === 'string') return name;
  const base = basename(path, extname(path));
  return isId(base) ? base : undefined;
};

/** Loops in which a person can take a role. */
const WITH_PERSONS: readonly LoopName[] = ['plan', 'phases', 'tree'];

const definitionOf = (
  document: JsonObject,
  loop: LoopName,
  agents: Readonly<Record<string, AgentDescription>>,
): JsonObject => {
  const {
    $schema: _schema,
    description: _about,
    agents: _agents,
    input: _input,
    secrets: _secrets,
    ...rest
  } = document;
  const persons = Object.entries(agents).flatMap(([name, { person }]) =>
    person === undefined ? [] : [[name, person]],
  );
  const definition = {
    format: FORMAT,
    ...rest,
    ...(persons.length > 0 && WITH_PERSONS.includes(loop) && { persons: Object.fromEntries(persons) }),
    // Those that no node names may be named by planners.
    ...(loop === 'tree' && { agents: Object.keys(agents).toSorted() }),
  };
  return JSON.parse(canonicalJson(definition)) as JsonObject;
};
