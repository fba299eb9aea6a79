import { RuntimeError } from '../errors.ts';

/** How many rows a query may give. Infinity means all of them. */
export function queryLimit(limit: number | undefined, otherwise: number): number {
  if (limit === undefined) return otherwise;
  if (limit === Number.POSITIVE_INFINITY || (Number.isSafeInteger(limit) && limit >= 0)) return limit;
  throw new RuntimeError('BAD_OPTION', {
    option: 'limit',
    found: String(limit),
    expected: 'a whole number of 0 or more, or Infinity',
  });
}
