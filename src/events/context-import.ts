import { type ContextPath, problemOfPath } from './context-path.ts';
import { isJsonObject, type Json, type JsonObject } from './json.ts';

/** What members of contexts are called elsewhere. */
const NAMES: Readonly<Record<string, string>> = {
  agent_contexts: 'agents',
  feedback_received: 'feedback',
  feedback_loops: 'loops',
  workflow_state: 'run',
};

/** What of a document can be brought into a context, and what cannot, with the reason. */
export interface ContextImport {
  readonly accepted: readonly { readonly path: ContextPath; readonly value: Json }[];
  readonly refused: readonly { readonly path: string; readonly problem: string }[];
}

/**
 * Reads a context that another system has written: members by their own names or by ours. What follows from the run itself (its
 * pauses, the states of its agents) is not taken over: it would not be true.
 */
export const readContext = (document: Json): ContextImport => {
  if (!isJsonObject(document))
    return { accepted: [], refused: [{ path: '', problem: 'it is not an object' }] };
  const found = Object.entries(document).flatMap(([given, value]) =>
    entriesOf(nameOf(given), value, [given]),
  );
  return {
    accepted: found.flatMap(({ path, value, problem }) => (problem === undefined ? [{ path, value }] : [])),
    refused: found.flatMap(({ from, problem }) =>
      problem === undefined ? [] : [{ path: from.join('.'), problem }],
    ),
  };
};

interface Entry {
  readonly path: ContextPath;
  readonly value: Json;
  /** Where it was in the document. */
  readonly from: readonly string[];
  readonly problem: string | undefined;
}

const nameOf = (name: string): string => (Object.hasOwn(NAMES, name) ? (NAMES[name] ?? name) : name);

const entry = (path: ContextPath, value: Json, from: readonly string[]): Entry => ({
  path,
  value,
  from,
  problem: derived(path) ?? problemOfPath(path),
});

const derived = ([first, , third]: ContextPath): string | undefined =>
  first === 'run' || (first === 'agents' && third === 'status')
    ? 'it follows from the run itself'
    : undefined;

const entriesOf = (name: string, value: Json, from: readonly string[]): readonly Entry[] => {
  if (name === 'agents' && isJsonObject(value))
    return Object.entries(value).flatMap(([agent, context]) =>
      isJsonObject(context)
        ? Object.entries(context).map(([member, its]) =>
            entry([name, agent, nameOf(member)], its, [...from, agent, member]),
          )
        : [{ ...entry([name, agent], context, [...from, agent]), problem: 'it is not an object' }],
    );
  if (name === 'loops') return loopsIn(value).map(([id, loop]) => entry([name, id], loop, [...from, id]));
  return [entry([name], value, from)];
};

/** A list of loops, or an object of them by their ids. */
const loopsIn = (value: Json): readonly (readonly [string, JsonObject])[] => {
  const loops = Array.isArray(value)
    ? value.map((loop: Json) => [idOf(loop), loop] as const)
    : Object.entries(value ?? {});
  return loops.filter((each): each is readonly [string, JsonObject] => isJsonObject(each[1]));
};

const idOf = (loop: Json): string => {
  const id = isJsonObject(loop) ? loop['id'] : undefined;
  return typeof id === 'string' ? id : '';
};
