import type { Failure } from './json.ts';

const MESSAGE_LENGTH_MAX = 4_000;
/** How much of it is looked at: secrets are taken out before it is cut. */
const LOOKED_AT_MAX = 256 * 1024;

const asItIs = (text: string): string => text;

/** What the log keeps of something that was thrown, whatever it was. `redact` takes secrets out of its message. */
export const failureOf = (thrown: unknown, redact: (text: string) => string = asItIs): Failure => {
  if (thrown instanceof Error) {
    const code = 'code' in thrown && typeof thrown.code === 'string' ? thrown.code : undefined;
    return {
      name: thrown.name,
      message: clean(thrown.message, redact),
      ...(code === undefined ? {} : { code }),
      ...retriesOf(thrown),
    };
  }
  if (isFailure(thrown)) return { ...thrown, message: redact(thrown.message) };
  return { name: 'Thrown', message: clean(describe(thrown), redact) };
};

/** What an error says of trying again, if it says so in our words. */
const retriesOf = (thrown: Error): Pick<Failure, 'final' | 'retryAfterMs'> => ({
  ...('final' in thrown && thrown.final === true && { final: true }),
  ...('retryAfterMs' in thrown && isWait(thrown.retryAfterMs) && { retryAfterMs: thrown.retryAfterMs }),
});

const isWait = (value: unknown): value is number =>
  typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER;

const MEMBERS = ['name', 'message', 'code', 'final', 'retryAfterMs'];

const isFailure = (value: unknown): value is Failure =>
  typeof value === 'object' &&
  value !== null &&
  Object.keys(value).every((key) => MEMBERS.includes(key)) &&
  'name' in value &&
  typeof value.name === 'string' &&
  'message' in value &&
  typeof value.message === 'string' &&
  (!('code' in value) || typeof value.code === 'string') &&
  (!('final' in value) || value.final === true) &&
  (!('retryAfterMs' in value) || isWait(value.retryAfterMs));

/** A value that throws when it is looked at must not take its reporter along. */
const describe = (thrown: unknown): string => {
  try {
    return typeof thrown === 'object' && thrown !== null
      ? (JSON.stringify(thrown) ?? 'an object')
      : String(thrown);
  } catch {
    return 'a value that cannot be shown';
  }
};

const clean = (message: unknown, redact: (text: string) => string): string => {
  const whole = typeof message === 'string' ? message : describe(message);
  const text = redact(whole.slice(0, LOOKED_AT_MAX));
  return (text.length > MESSAGE_LENGTH_MAX ? `${text.slice(0, MESSAGE_LENGTH_MAX)}…` : text).toWellFormed();
};
