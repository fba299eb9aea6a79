/** What schema libraries have agreed on (standardschema.dev, version 1), as far as it is used here. */
export interface StandardSchema<Output = unknown> {
  readonly '~standard': {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
  };
}

type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

export const isStandardSchema = (value: unknown): value is StandardSchema => {
  // A schema of arktype is a function.
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false;
  const standard: unknown = '~standard' in value ? value['~standard'] : undefined;
  return typeof standard === 'object' && standard !== null && 'validate' in standard;
};

const ISSUES_SHOWN = 10;

/** The value as the schema gives it, or what is wrong with it in words that an agent can act on. */
export const checkAgainst = async (
  schema: StandardSchema,
  value: unknown,
): Promise<{ readonly value: unknown } | { readonly problem: string }> => {
  const result = await schema['~standard'].validate(value);
  return result.issues ? { problem: shownOf(result.issues).join('; ') } : { value: result.value };
};

/**
 * What is wrong with a value, each in words; nothing if it fits. For use inside of turns, where nobody can wait.
 *
 * @throws {TypeError} if the schema does not answer at once
 */
export const problemsNow = (schema: StandardSchema, value: unknown): readonly string[] => {
  const result = schema['~standard'].validate(value);
  if (result instanceof Promise || 'then' in result)
    throw new TypeError('the schema is asynchronous, and inside of a turn nobody can wait for it');
  return result.issues ? shownOf(result.issues) : [];
};

const shownOf = (issues: readonly SchemaIssue[]): readonly string[] => {
  const shown = issues.slice(0, ISSUES_SHOWN).map(describe);
  const more = issues.length - shown.length;
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])];
};

const describe = ({ message, path = [] }: SchemaIssue): string => {
  const keys = path.map((part) => String(typeof part === 'object' ? part.key : part));
  return keys.length === 0 ? message : `${keys.join('.')}: ${message}`;
};
