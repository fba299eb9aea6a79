import type { Redactor } from '../index.ts';

const REDACTED = '[redacted]';

/** A value as it may be printed: without secrets, which come from the command line itself or from files that were refused. */
export const redacted = (value: unknown, redactor: Redactor): unknown => {
  if (typeof value === 'string') return redactor.text(value);
  if (typeof value !== 'object' || value === null || 'toJSON' in value) return value;
  if (Array.isArray(value)) return value.map((each) => redacted(each, redactor));
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      redactor.text(key),
      redactor.isSecretName(key) ? REDACTED : redacted(member, redactor),
    ]),
  );
};
