import { createHash } from 'node:crypto';
import {
  type AgentDescription,
  blobRefsIn,
  createRedactor,
  DEFINITION,
  type EventLog,
  type JsonObject,
  type Runtime,
  RuntimeError,
  resolveBlobs,
  type SecretOptions,
  type WorkflowFile,
} from '../index.ts';
import { type DeclaredValues, declaredOf, isSameDeclared } from './declared-values.ts';

/** What a log keeps of a workflow that was described in a file. */
export interface StoredDefinition {
  readonly name: string;
  readonly loop: string;
  readonly path: string;
  readonly directory: string;
  readonly definition: JsonObject;
  readonly agents: Readonly<Record<string, AgentDescription>>;
  /** Names of secrets, never secrets: what else is to be taken out of all that comes in. */
  readonly secretNames: readonly string[];
  /** How to tell the values that the file declares; undefined for none. */
  readonly secretValues?: DeclaredValues;
}

/** All descriptions in a log, oldest first. */
export const readDefinitions = async (log: EventLog): Promise<readonly StoredDefinition[]> => {
  const runs = await log.runs({ workflow: DEFINITION });
  return Promise.all(
    runs.map(async ({ id }) => {
      const [started] = await log.events({ run: id, limit: 1 });
      const input = started?.data['input'] ?? null;
      return resolveBlobs(input, await log.blobs(blobRefsIn(input))) as unknown as StoredDefinition; // `keepDefinition` wrote it.
    }),
  );
};

/**
 * The description of a file, as a log may keep it.
 *
 * @throws {RuntimeError} SECRET_IN_FILE
 */
export const descriptionOf = (file: WorkflowFile, directory: string): StoredDefinition => {
  const { name, loop, path, definition, agents, secrets } = file;
  const described = { name, loop, path, directory, definition, agents, secretNames: secrets?.names ?? [] };
  refuseSecrets(described, path, secrets);
  const secretValues = declaredOf(secrets?.values);
  return { ...described, ...(secretValues && { secretValues }) };
};

const refuseSecrets = (
  described: StoredDefinition,
  file: string,
  { values = [] }: SecretOptions = {},
): void => {
  const { text } = createRedactor({ values });
  const look = (value: unknown, place: string): void => {
    if (typeof value === 'string' && text(value) !== value)
      throw new RuntimeError('SECRET_IN_FILE', { file, path: place });
    if (typeof value !== 'object' || value === null) return;
    for (const [key, child] of Object.entries(value)) look(child, place === '' ? key : `${place}.${key}`);
  };
  look(described, '');
};

/** Whether a description has to be stored: unless it is the newest of its name. */
export const isNew = async (
  stored: readonly StoredDefinition[],
  described: StoredDefinition,
): Promise<boolean> => {
  const newest = stored.findLast(({ name }) => name === described.name);
  if (newest === undefined) return true;
  const [{ secretValues: was, ...old }, { secretValues: is, ...own }] = [newest, described];
  return textOf(old) !== textOf(own) || !(await isSameDeclared(described.path, was, is));
};

/** Stores a description: a run that ends at once, and whose id is the hash of it. */
export const keepDefinition = async (
  runtime: Runtime,
  described: StoredDefinition,
  ordinal: number,
): Promise<void> => {
  const id = `definition-${ordinal}-${hashOf(described)}`;
  await runtime.start(DEFINITION, described, { id });
};

/** The different definitions of each name, in order: their ordinals are their versions. */
export const versionsOf = (definitions: readonly StoredDefinition[]) => {
  const versions: { readonly name: string; readonly definition: JsonObject; readonly version: number }[] = [];
  for (const { name, definition } of definitions) {
    const last = versions.findLast((each) => each.name === name);
    if (last && textOf(last.definition) === textOf(definition)) continue;
    versions.push({ name, definition, version: (last?.version ?? 0) + 1 });
  }
  return versions;
};

/** Equal for what is equal, whatever the order of its members. */
const textOf = (value: unknown): string =>
  JSON.stringify(value, (_key, member: unknown) =>
    typeof member === 'object' && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).sort(([one], [other]) => (one < other ? -1 : 1)))
      : member,
  );

const hashOf = (value: unknown): string =>
  createHash('sha256').update(textOf(value)).digest('hex').slice(0, 16);
