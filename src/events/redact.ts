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
  /** The text without its secrets, each of which leaves a mark. */
  readonly text: (text: string) => string;
  readonly isSecretName: (key: string) => boolean;
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
    text: (text) => {
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
      throw badOption(
        'secrets.values',
        `a list with ${found}`,
        `strings of ${VALUE_LENGTH_MIN} characters or more`,
      );
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
    `a list with ${name === '' ? 'an empty text' : `a ${typeof name}`}`,
    'names of members',
  );
};

const badOption = (option: string, found: string, expected: string): Error =>
  new RuntimeError('BAD_OPTION', { option, found, expected });

/** The words in any case. `RegExp` can ignore the case of all of a pattern only. */
const anyCase = (words: string): string =>
  words.replaceAll(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`);

/** That a token begins here: no letter or digit stands before it, unless it ends an escape (of JSON inside a text). */
const begins = (token: string, part = 'A-Za-z0-9'): string =>
  String.raw`${token}(?<=(?:^|[^${part}]|\\[nrt])${token})`;

const PEM_LABEL = '[A-Z ]{0,30}PRIVATE KEY(?: BLOCK)?';
const PEM_BODY = String.raw`(?=(?:\s|\\{1,8}[nr]){0,9}(?:[A-Za-z0-9+/=]{32}|Proc-Type|Version|Comment))[^-]{0,100000}(?:-(?!----)[^-]{0,100000}){0,20}`;

/**
 * Known tokens by kind. What a group called `kept…` holds is no secret. They take time in proportion to the text: each
 * begins with fixed letters, every repetition has a bound, and none can begin again inside what it has gone through.
 */
const SHAPES: Readonly<Record<string, string>> = {
  private_key: `-----BEGIN ${PEM_LABEL}-----${PEM_BODY}(?:-----END ${PEM_LABEL}-----)?`,
  anthropic_key: String.raw`${begins('sk-')}ant-[\w-]{20,300}`,
  openai_key: String.raw`${begins('sk-')}(?:(?:proj|svcacct|admin|None|or-v1)-[\w-]{20,300}|[A-Za-z0-9]{32,100})`,
  github_token: String.raw`gh[pousr]_[A-Za-z0-9]{36,255}|github_pat_\w{22,255}`,
  gitlab_token: String.raw`glpat-[\w-]{20,255}`,
  aws_key_id: `${begins('A[KS]IA')}[A-Z2-7]{16}(?![A-Za-z0-9])`,
  slack_token: 'xox[a-z]-[A-Za-z0-9-]{10,255}',
  google_key: String.raw`${begins('AIza')}[\w-]{35}(?![\w-])`,
  stripe_key: '[sr]k_live_[A-Za-z0-9]{16,255}',
  npm_token: 'npm_[A-Za-z0-9]{36}',
  jwt: String.raw`${begins('eyJ', String.raw`\w-`)}[\w-]{5,8000}\.eyJ[\w-]{5,8000}\.[\w-]{10,8000}`,
  authorization:
    String.raw`(?<keptHeader>${anyCase('authorization')}[\\"']{0,4}\s{0,5}[:=]\s{0,5}[\\"']{0,4}` +
    String.raw`${anyCase('(?:bearer|basic|token)')}\s{1,5})[\w.~+/=-]{1,8000}`,
  bearer: String.raw`(?<keptScheme>^${anyCase('(?:bearer|basic)')} )(?=\S{16,8000}$)[\w.~+/=-]{1,8000}`,
  url_password: String.raw`(?<keptUser>:\/\/[^\s:@/?#"'<>\\]{0,200}:)[^\s/?#"'<>\\]{1,500}(?=@)`,
};

const TOKEN = new RegExp(
  Object.entries(SHAPES)
    .map(([kind, shape]) => `(?<${kind}>${shape})`)
    .join('|'),
  'g',
);

/** What every token has in it. Almost no text has, and to look for this takes less than half the time. */
const HINT =
  /(?:(?<![A-Za-z0-9])|\\[nrt])sk-|gh[a-z]_|_pat_|glpat-|A[KS]IA|xox|AIza|k_live_|npm_|-----B|eyJ|[Uu][Tt][Hh][Oo][Rr][Ii][Zz]|:\/\/|^[Bb](?:[Ee][Aa][Rr]|[Aa][Ss][Ii])/;

const withoutTokens = (text: string): string =>
  text.replace(TOKEN, (...match: unknown[]) => marked(match.at(-1)));

/** The groups of a match are the kind that it is of, and what is kept of it. */
const marked = (groups: unknown): string => {
  const found = Object.entries(Object(groups)).filter(([, part]) => part !== undefined);
  const [, kept = ''] = found.find(([name]) => name.startsWith('kept')) ?? [];
  const [kind] = found.find(([name]) => name in SHAPES) ?? [];
  return `${String(kept)}[redacted:${String(kind).replaceAll('_', '-')}]`;
};
