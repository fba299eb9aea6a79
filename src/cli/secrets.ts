import { readWorkflowFile, type SecretOptions } from '../index.ts';
import type { StoredDefinition } from './definitions.ts';

/** Variables whose values are secrets by their names. A value that is shorter than this may be any word. */
const SECRET_NAME = /KEY|TOKEN|SECRET|PASSW|CREDENTIAL|AUTH/i;
const VALUE_LENGTH_MIN = 8;

/**
 * What must never be in the log: what the files say, and the values of secret variables that agents are passed. Descriptions in the
 * log have only the names; values are read from the file, if it is still there.
 */
export const secretsOf = async (definitions: readonly StoredDefinition[]): Promise<SecretOptions> => {
  const newest = [...new Map(definitions.map((each) => [each.name, each])).values()];
  const declared = await Promise.all(newest.map(valuesInFile));
  const values = [...newest.flatMap(passedValues), ...declared.flat()];
  const names = newest.flatMap(({ secretNames }) => secretNames);
  return {
    ...(values.length > 0 && { values: [...new Set(values)] }),
    ...(names.length > 0 && { names: [...new Set(names)] }),
  };
};

const valuesInFile = async ({ path, name }: StoredDefinition): Promise<readonly string[]> => {
  try {
    const file = await readWorkflowFile(path);
    return file.name === name ? (file.secrets?.values ?? []) : [];
  } catch {
    // It was moved or is being edited: what it declared is no longer known.
    return [];
  }
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
