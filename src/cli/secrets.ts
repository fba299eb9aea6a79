import { RuntimeError, type SecretOptions } from '../index.ts';
import { readDeclared } from './declared-values.ts';
import type { StoredDefinition } from './definitions.ts';

/** Variables whose values are secrets by their names. A value that is shorter than this may be any word. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH/i;
const VALUE_LENGTH_MIN = 8;

/**
 * What must never be in the log: what the files say, and the values of secret variables that agents are passed. Descriptions in the
 * log have only the names; values are read from the file. Nothing may be written for the workflows that are `needed` without them.
 *
 * @throws {RuntimeError} SECRETS_UNREADABLE
 */
export const secretsOf = async (
  definitions: readonly StoredDefinition[],
  needed: readonly string[] = [],
): Promise<SecretOptions> => {
  const newest = [...new Map(definitions.map((each) => [each.name, each])).values()];
  const declared = await Promise.all(
    newest.map((described) => valuesInFile(described, needed.includes(described.name))),
  );
  const values = [...newest.flatMap(passedValues), ...declared.flat()];
  const names = newest.flatMap(({ secretNames }) => secretNames);
  return {
    ...(values.length > 0 && { values: [...new Set(values)] }),
    ...(names.length > 0 && { names: [...new Set(names)] }),
  };
};

const valuesInFile = async (
  { path, name, secretValues }: StoredDefinition,
  isNeeded: boolean,
): Promise<readonly string[]> => {
  const { values, problem } = await readDeclared(path, isNeeded ? secretValues : undefined);
  if (problem === null || !secretValues) return values;
  throw new RuntimeError('SECRETS_UNREADABLE', {
    file: path,
    workflow: name,
    count: secretValues.count,
    problem,
  });
};

const passedValues = ({ agents }: StoredDefinition): readonly string[] =>
  Object.values(agents).flatMap(({ passEnv, apiKeyEnv }) => {
    const names = Array.isArray(passEnv) ? passEnv.map(String) : [];
    const keys = typeof apiKeyEnv === 'string' ? [apiKeyEnv] : [];
    return [...names.filter((name) => SECRET_NAME.test(name)), ...keys].flatMap((name) =>
      longEnough(process.env[name]),
    );
  });

const longEnough = (value: string | undefined): readonly string[] =>
  value !== undefined && value.length >= VALUE_LENGTH_MIN ? [value] : [];
