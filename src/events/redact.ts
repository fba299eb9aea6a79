import { RuntimeError } from '../errors.ts';

export interface SecretOptions {
  /** Secrets themselves, of 4 characters at least: replaced wherever they stand in a text. */
  readonly values?: readonly string[];
  /** Names of members whose whole value is a secret, in any case: "password", "apiKey". */
  readonly names?: readonly string[];
  /** Whether tokens of a known shape are replaced too, such as GitHub's or a private key: true unless set. */
  readonly shapes?: boolean;
}

export interface Redactor {
  /** The text without its secrets. Redacting it again changes nothing. */
  text(text: string): string;
  isSecretName(key: string): boolean;
}

export const REDACTED = '[redacted]';

const VALUE_LENGTH_MIN = 4;

/**
 * Takes secrets out of what will be kept for ever. It guesses nothing from how random a text looks, since that
 * would eat hashes: a secret of no known shape must be declared.
 */
export const createRedactor = ({ values = [], names = [], shapes = true }: SecretOptions): Redactor => {
  const declared = anyOf(values);
  const secretNames = new Set(names.map(toName));
  return {
    text(text) {
      const clean = declared === undefined ? text : text.replace(declared, REDACTED);
      return shapes && HINT.test(clean) ? withoutTokens(clean) : clean;
    },
    isSecretName: (key) => secretNames.size > 0 && secretNames.has(key.toLowerCase()),
  };
};

/** Finds each of the values, as it is and as it stands inside JSON; the longest first, if one begins another. */
const anyOf = (values: readonly string[]): RegExp | undefined => {
  if (values.length === 0) return undefined;
  const forms = values.flatMap((value) => {
    const found =
      typeof value === 'string' ? `a text of ${String(value.length)} characters` : `a ${typeof value}`;
    if (typeof value !== 'string' || value.length < VALUE_LENGTH_MIN) {
      throw badOption('secrets.values', `with ${found}`, `strings of ${VALUE_LENGTH_MIN} characters or more`);
    }
    return [value, JSON.stringify(value).slice(1, -1)];
  });
  const longestFirst = [...new Set(forms)].sort((a, b) => b.length - a.length);
  return new RegExp(
    longestFirst.map((form) => form.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)).join('|'),
    'g',
  );
};

const toName = (name: string): string => {
  if (typeof name === 'string' && name !== '') return name.toLowerCase();
  throw badOption(
    'secrets.names',
    `with ${name === '' ? 'an empty text' : `a ${typeof name}`}`,
    'names of members',
  );
};

const badOption = (option: string, found: string, expected: string): Error =>
  new RuntimeError('BAD_OPTION', { option, found, expected });

/** A token begins where no letter or digit stands before it, or after an escape (of JSON inside a text). */
const START = String.raw`(?:(?<![A-Za-z0-9])|(?<=\\[nrt]))`;

const PEM_LABEL = '[A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?';

/**
 * Known tokens by kind; what the first group holds is kept. All of them take time in proportion to the text: every
 * repetition has a bound, and none can be entered again inside what it has gone through.
 */
const SHAPES: Readonly<Record<string, RegExp>> = {
  'private-key': new RegExp(
    `-----BEGIN ${PEM_LABEL}-----(?=(?:\\s|\\\\[nr]){0,9}(?:[A-Za-z0-9+/=]{32}|Proc-Type|Version|Comment))` +
      `[^-]{0,100000}(?:-(?!----)[^-]{0,100000}){0,20}(?:-----END ${PEM_LABEL}-----)?`,
    'g',
  ),
  'anthropic-key': new RegExp(`${START}sk-ant-[\\w-]{20,300}`, 'g'),
  'openai-key': new RegExp(
    `${START}sk-(?:(?:proj|svcacct|admin|None|or-v1)-[\\w-]{20,300}|[A-Za-z0-9]{32,100})`,
    'g',
  ),
  'github-token': /gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255}/g,
  'gitlab-token': /glpat-[\w-]{20,255}/g,
  'aws-key-id': new RegExp(`${START}A(?:KIA|SIA)[A-Z2-7]{16}(?![A-Za-z0-9])`, 'g'),
  'slack-token': /xox[a-z]-[A-Za-z0-9-]{10,255}/g,
  'google-key': new RegExp(`${START}AIza[\\w-]{35}(?![\\w-])`, 'g'),
  'stripe-key': /[sr]k_live_[A-Za-z0-9]{16,255}/g,
  'npm-token': /npm_[A-Za-z0-9]{36}/g,
  jwt: new RegExp(
    String.raw`(?:(?<![\w-])|(?<=\\[nrt]))eyJ[\w-]{5,8000}\.eyJ[\w-]{5,8000}\.[\w-]{10,8000}`,
    'g',
  ),
  authorization:
    /(authorization[\\"']{0,4}\s{0,5}[:=]\s{0,5}[\\"']{0,4}(?:bearer|basic|token)\s{1,5}|^(?:bearer|basic) (?=\S{16,8000}$))[\w.~+/=-]{1,8000}/gi,
  'url-password': /(:\/\/[^\s:@/?#"'<>\\]{0,200}:)[^\s/?#"'<>\\]{1,500}(?=@)/g,
};

/** What every token of these shapes has in it: a text without any of this is left alone. */
const HINT =
  /(?:(?<![A-Za-z0-9])|\\[nrt])sk-|gh[a-z]_|_pat_|glpat-|A[KS]IA|xox|AIza|k_live_|npm_|-----B|eyJ|[Uu][Tt][Hh][Oo][Rr][Ii][Zz]|:\/\/|^[Bb](?:earer|EARER|asic|ASIC) /;

const withoutTokens = (text: string): string =>
  Object.entries(SHAPES).reduce(
    (clean, [kind, shape]) =>
      clean.replace(
        shape,
        (_token, kept: unknown) => `${typeof kept === 'string' ? kept : ''}[redacted:${kind}]`,
      ),
    text,
  );
