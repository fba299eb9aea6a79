import { randomBytes, scryptSync, timingSafeEqual } from 'node:crypto';
import { isRuntimeError, readWorkflowFile } from '../index.ts';

/**
 * What a log keeps of the secrets that a file declares: enough to tell whether a file still has them. They are hashed together and slowly,
 * so that whoever is handed a log cannot try them one by one.
 */
export interface DeclaredValues {
  readonly count: number;
  readonly salt: string;
  readonly hash: string;
}

const BYTES = 16;
/** Some 20 ms: nobody notices it in a command, but whoever guesses does. */
const COST = 4_096;

const hashOf = (values: readonly string[], salt: string): Buffer =>
  scryptSync(JSON.stringify(values), Buffer.from(salt, 'hex'), BYTES * 2, { N: COST });

/** Undefined for none. */
export const declaredOf = (values: readonly string[] = []): DeclaredValues | undefined => {
  if (values.length === 0) return undefined;
  const salt = randomBytes(BYTES).toString('hex');
  return { count: values.length, salt, hash: hashOf(values, salt).toString('hex') };
};

/** Whether these begin with the values that were declared: more may follow. */
const isMet = ({ count, salt, hash }: DeclaredValues, values: readonly string[]): boolean =>
  values.length >= count && timingSafeEqual(hashOf(values.slice(0, count), salt), Buffer.from(hash, 'hex'));

/** The secrets that a file declares now; a text says why they cannot be read. */
const valuesIn = async (path: string): Promise<readonly string[] | string> => {
  try {
    return (await readWorkflowFile(path)).secrets?.values ?? [];
  } catch (error) {
    if (!isRuntimeError(error, 'BAD_WORKFLOW_FILE')) throw error;
    const [first] = error.fields.problems;
    // What is wrong in it may say what stands there.
    return first?.line === null ? first.problem : `it is no valid workflow file (line ${first?.line ?? 1})`;
  }
};

/** The secrets that a file declares now, and why they are not those that were declared; null if they are. */
export const readDeclared = async (
  path: string,
  declared: DeclaredValues | undefined,
): Promise<{ readonly values: readonly string[]; readonly problem: string | null }> => {
  const values = await valuesIn(path);
  if (typeof values === 'string') return { values: [], problem: declared ? values : null };
  if (!declared || isMet(declared, values)) return { values, problem: null };
  const problem =
    values.length < declared.count
      ? `it declares ${values.length} values now`
      : 'it declares other values now';
  return { values, problem };
};

/** Whether two descriptions of the file at a path declare the same. */
export const isSameDeclared = async (
  path: string,
  one: DeclaredValues | undefined,
  other: DeclaredValues | undefined,
): Promise<boolean> => one?.count === other?.count && (await readDeclared(path, one)).problem === null;
