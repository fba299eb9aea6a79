import { createRedactor, RuntimeError } from '../index.ts';

export interface Called {
  /** How people know the model. */
  readonly model: string;
  readonly provider: string;
  readonly apiKeyEnv: string | undefined;
  /** For waits that a provider states as a date. */
  readonly nowMs: number;
}

const PROBLEM_LENGTH_MAX = 500;
const LOOKED_AT_MAX = 256 * 1024;

/** What is thrown in place of what the SDK threw: whether to try again, and when, is in it. */
export const failureOfCall = (thrown: unknown, called: Called): unknown => {
  const error = rootOf(thrown);
  const status = numberIn(error, 'statusCode');
  const problem = withoutSecrets(problemOf(error), called).slice(0, PROBLEM_LENGTH_MAX).toWellFormed();
  const { model } = called;
  const options = { cause: thrown };
  if (nameOf(error) === 'AI_LoadAPIKeyError' || status === 401 || status === 403) {
    const variable = called.apiKeyEnv ?? null;
    const fields = { model, provider: called.provider, status: status ?? null, variable, problem };
    return Object.assign(new RuntimeError('MODEL_KEY_REFUSED', fields, options), { final: true });
  }
  if (status === 429) {
    const retryAfterMs = retryAfter(headersOf(error), called.nowMs);
    const limited = new RuntimeError(
      'MODEL_RATE_LIMITED',
      { model, retryAfterMs: retryAfterMs ?? null, problem },
      options,
    );
    return retryAfterMs === undefined ? limited : Object.assign(limited, { retryAfterMs });
  }
  if (isFinal(error, status))
    return Object.assign(
      new RuntimeError('MODEL_REQUEST_REFUSED', { model, status: status ?? null, problem }, options),
      { final: true },
    );
  return Object.assign(
    new RuntimeError('MODEL_CALL_FAILED', { model, status: status ?? null, problem }, options),
    retryOf(error, called),
  );
};

/** A provider that is overloaded may say when it will not be. */
const retryOf = (error: unknown, { nowMs }: Called): { readonly retryAfterMs?: number } => {
  const retryAfterMs = retryAfter(headersOf(error), nowMs);
  return retryAfterMs === undefined ? {} : { retryAfterMs };
};

/** What is wrong with the request stays wrong. 408, 409 and 425 are about the moment. */
const isFinal = (error: unknown, status: number | undefined): boolean =>
  (status !== undefined && status >= 400 && status < 500 && ![408, 409, 425].includes(status)) ||
  ['AI_NoSuchModelError', 'AI_InvalidPromptError', 'AI_UnsupportedFunctionalityError'].includes(
    nameOf(error),
  );

/** The SDK wraps what it did not retry, and the platform what broke a connection. */
const rootOf = (thrown: unknown): unknown => {
  const last: unknown = member(thrown, 'lastError');
  return last === undefined ? thrown : last;
};

const member = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && name in value
    ? (value as Readonly<Record<string, unknown>>)[name] // It is there: its type is looked at by whoever reads it.
    : undefined;

const textIn = (value: unknown, name: string): string => {
  const found = member(value, name);
  return typeof found === 'string' ? found : '';
};

const nameOf = (error: unknown): string => textIn(error, 'name');

const numberIn = (error: unknown, name: string): number | undefined => {
  const value = member(error, name);
  return typeof value === 'number' ? value : undefined;
};

const headersOf = (error: unknown): unknown => member(error, 'responseHeaders');

/** What was thrown, and what caused that if it says more: "fetch failed" alone helps nobody. */
const problemOf = (error: unknown): string => {
  const said = textIn(error, 'message') || nameOf(error) || `a ${typeof error} was thrown`;
  const cause = textIn(member(error, 'cause'), 'message');
  return cause !== '' && !said.includes(cause) ? `${said} (${cause})` : said;
};

/** Some servers repeat the key that they refuse. Before it is cut: half of a secret is not known as one. */
const withoutSecrets = (whole: string, { apiKeyEnv }: Called): string => {
  const text = createRedactor({}).text(whole.slice(0, LOOKED_AT_MAX));
  const key = apiKeyEnv === undefined ? undefined : process.env[apiKeyEnv];
  return key === undefined || key === '' ? text : text.replaceAll(key, '[redacted]');
};

/** In milliseconds, in seconds, or as a date. */
const retryAfter = (headers: unknown, nowMs: number): number | undefined => {
  const ms = Number.parseFloat(textIn(headers, 'retry-after-ms'));
  if (ms >= 0) return Math.ceil(ms);
  const given = textIn(headers, 'retry-after').trim();
  if (/^\d{1,9}(?:\.\d+)?$/.test(given)) return Math.ceil(Number(given) * 1_000);
  const atMs = given === '' ? Number.NaN : Date.parse(given);
  return Number.isNaN(atMs) ? undefined : Math.max(0, atMs - nowMs);
};
