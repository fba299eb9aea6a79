import type * as FastCheck from 'fast-check';
import { type AgentFunction, answer, type Json, type JsonObject, type Severity } from '../index.ts';

type Arbitrary<Value> = FastCheck.Arbitrary<Value>;

const SEVERITIES: readonly Severity[] = ['blocking', 'critical', 'high', 'medium', 'low'];

/** What agents may answer, as arbitraries. */
export interface AnyAnswers {
  /** Any JSON at all. */
  readonly json: Arbitrary<Json>;
  /** A finding, of which few are the same. */
  readonly issue: Arbitrary<JsonObject>;
  /** A review: it passes or not, and has issues or not, whatever fits or does not. */
  readonly review: Arbitrary<JsonObject>;
  /** An artifact, of which there are few: so that some are made again. */
  readonly artifact: Arbitrary<JsonObject>;
  /** Agents by their roles, each of which answers anything, fails, or says what it costs. */
  agents<Role extends string>(
    ...roles: readonly Role[]
  ): Arbitrary<Record<Role, AgentFunction<unknown, unknown>>>;
}

/** Arbitraries for loops whose agents answer anything: `anyAnswers(fc).agents('developer', 'reviewer')`. */
export const anyAnswers = (fc: Omit<typeof FastCheck, 'default'>): AnyAnswers => {
  const json = fc.jsonValue({ maxDepth: 3 }).map((value) => JSON.parse(JSON.stringify(value)) as Json);
  const issue = fc.record({
    severity: fc.constantFrom(...SEVERITIES),
    category: fc.constantFrom('style', 'logic', ''),
    description: fc.constantFrom('first fault', 'second fault', 'third fault'),
  });
  const issues = fc.array(issue, { maxLength: 3 });
  const review = fc.record({ passed: fc.boolean(), issues });
  const artifact = fc.record({ summary: fc.constantFrom('one', 'two', 'three'), done: fc.boolean() });
  const usage = fc.record({ costUsd: fc.constantFrom(0, 0.01, 1), inputTokens: fc.nat(100) });
  const deed = fc.oneof(
    { weight: 4, arbitrary: review.map((output) => () => output) },
    { weight: 4, arbitrary: artifact.map((output) => () => output) },
    { weight: 1, arbitrary: json.map((output) => () => output) },
    {
      weight: 2,
      arbitrary: fc.tuple(review, issues, usage).map(
        ([output, beside, used]) =>
          () =>
            answer(output, { issues: beside, usage: used }),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.constant((): unknown => {
        throw new Error('out of order');
      }),
    },
  );
  return {
    json,
    issue,
    review,
    artifact,
    agents: (...roles) =>
      fc
        .tuple(...roles.map(() => fc.array(deed, { minLength: 1, maxLength: 12 })))
        .map((deeds) => Object.fromEntries(roles.map((role, at) => [role, taken(deeds[at] ?? [])]))) as never, // By their roles.
  };
};

/** One deed after the other, and then from the beginning; the same call made again gets the same answer. */
const taken = (deeds: readonly (() => unknown)[]): AgentFunction<unknown, unknown> => {
  const given = new Map<string, number>();
  return ({ idempotencyKey }) => {
    const index = given.get(idempotencyKey) ?? given.size;
    given.set(idempotencyKey, index);
    return deeds[index % deeds.length]?.();
  };
};
