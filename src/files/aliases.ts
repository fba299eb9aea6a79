import { z } from 'zod';
import { canonicalJson } from '../events/encode.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { ROLE_OPTIONS } from './form-parts.ts';
import type { Path } from './place.ts';

/** Names under which other tools know settings, by loop, and what they are called here. */
const ALIASES = {
  tight: {
    max_feedback_iterations: ['maxIterations'],
    max_iterations: ['maxIterations'],
    max_consecutive_review_failures: ['limits', 'sameIssue'],
    max_consecutive_test_failures: ['limits', 'sameFailure'],
  },
  stories: { max_refinement_attempts: ['refinement', 'maxIterations'] },
  tree: { max_rounds: ['limits', 'pairRounds'], max_depth: ['limits', 'hops'] },
} as const satisfies Readonly<Record<string, Readonly<Record<string, readonly string[]>>>>;
type Aliases = typeof ALIASES;

export const aliasesOf = (loop: string): Readonly<Record<string, readonly string[]>> =>
  Object.hasOwn(ALIASES, loop) ? ALIASES[loop as keyof Aliases] : {};

export const aliasShape = <Loop extends keyof Aliases>(
  loop: Loop,
): { readonly [Alias in keyof Aliases[Loop]]: z.ZodOptional<z.ZodInt> } => {
  const shape = Object.entries(aliasesOf(loop)).map(([alias, name]) => [
    alias,
    z
      .int()
      .min(0)
      .optional()
      .describe(`Another name of \`${name.join('.')}\`.`),
  ]);
  return Object.fromEntries(shape) as never; // One for each of them.
};

/** A value that has another place than the one where it stands. */
interface Move {
  readonly from: Path;
  readonly to: readonly string[];
  readonly value: Json;
}

export interface Moved {
  readonly document: JsonObject;
  /** Places that say the same in two ways, differently. */
  readonly conflicts: readonly { readonly path: Path; readonly name: string }[];
}

/** The document with every value under the name that it has in the TypeScript API. */
export const withoutAliases = (loop: string, document: JsonObject): Moved => {
  const conflicts: { path: Path; name: string }[] = [];
  let result: JsonObject = withoutMoved(loop, document);
  for (const { from, to, value } of movesOf(loop, document)) {
    const known = to.reduce<Json | undefined>(memberOf, result);
    if (known === undefined) result = withMember(result, to, value);
    else if (canonicalJson(known) !== canonicalJson(value))
      conflicts.push({ path: from, name: to.join('.') });
  }
  return { document: result, conflicts };
};

const memberOf = (value: Json | undefined, key: string): Json | undefined =>
  isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;

const withMember = (object: JsonObject, [key = '', ...rest]: readonly string[], value: Json): JsonObject => {
  const known = memberOf(object, key);
  const inner = rest.length === 0 ? value : withMember(isJsonObject(known) ? known : {}, rest, value);
  return { ...object, [key]: inner };
};

const movesOf = (loop: string, document: JsonObject): readonly Move[] => {
  const settings = objectAt(document, 'settings');
  const aliases = Object.entries(aliasesOf(loop));
  const named = (place: Path, object: JsonObject): readonly Move[] =>
    aliases.flatMap(([alias, to]) => {
      const value = memberOf(object, alias);
      return value === undefined ? [] : [{ from: [...place, alias], to, value }];
    });
  const leaves = Object.entries(settings).flatMap(([name, value]): readonly Move[] => {
    if (aliases.some(([alias]) => alias === name)) return [];
    if (!isJsonObject(value)) return [{ from: ['settings', name], to: [name], value }];
    return Object.entries(value).map(([key, each]) => ({
      from: ['settings', name, key],
      to: [name, key],
      value: each,
    }));
  });
  return [
    ...named([], document),
    ...named(['settings'], settings),
    ...leaves,
    ...movesOfAgents(loop, document),
  ];
};

/** How an agent is called is behaviour of the workflow, wherever it is said. */
const movesOfAgents = (loop: string, document: JsonObject): readonly Move[] =>
  Object.entries(objectAt(document, 'agents')).flatMap(([agent, described]) =>
    ROLE_OPTIONS.flatMap((name) => {
      const value = memberOf(described, name);
      const to = loop === 'repeat' ? ['role', name] : ['roles', agent, name];
      return value === undefined ? [] : [{ from: ['agents', agent, name], to, value }];
    }),
  );

const objectAt = (document: JsonObject, key: string): JsonObject => {
  const value = memberOf(document, key);
  return isJsonObject(value) ? value : {};
};

const withoutMoved = (loop: string, document: JsonObject): JsonObject => {
  const aliases = ['settings', ...Object.keys(aliasesOf(loop))];
  const agents = Object.entries(objectAt(document, 'agents')).map(([name, described]) => [
    name,
    isJsonObject(described) ? without(described, ROLE_OPTIONS) : described,
  ]);
  return { ...without(document, aliases), agents: Object.fromEntries(agents) };
};

const without = (object: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(object).filter(([name]) => !names.includes(name)));
