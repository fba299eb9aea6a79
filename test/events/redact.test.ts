import { describe, expect, it, test } from 'vitest';
import { createRedactor } from '../../src/events/redact.ts';
import { letters, pem, TOKENS } from './tokens.ts';

/** What may stand around a token. */
const PLACES: readonly (readonly [before: string, after: string])[] = [
  ['', ''],
  ['the key is ', ' as of today'],
  ['"', '"'],
  ["'", "',"],
  ['KEY=', '\n'],
  ['key: ', ';'],
  ['?token=', '&page=2'],
  ['(', ')'],
  ['line one\n', '\nline three'],
  ['line one\\n', '\\nline three'],
  ['{\\"key\\":\\"', '\\"}'],
  ['/', '/'],
  ['>', '<'],
  ['`', '`'],
  ['MY_', ' '],
];

const redactor = createRedactor({});

describe('a redactor', () => {
  test.each(TOKENS)('S12: finds a token of the shape %s in every place', (kind, token) => {
    for (const [before, after] of PLACES) {
      if (kind === 'jwt' && before === 'MY_') continue; // A name may go on with such letters.
      const clean = redactor.text(before + token + after);
      expect(clean).not.toContain(token.slice(10, 40));
      expect(clean).toBe(`${before}[redacted:${kind}]${after}`);
    }
  });

  it('S12: finds many tokens in one text, and leaves the rest', () => {
    const text = TOKENS.map(([kind, token], index) => `${index} ${kind} ${token}`).join(' | ');
    const clean = redactor.text(text);
    expect(clean).toBe(TOKENS.map(([kind], index) => `${index} ${kind} [redacted:${kind}]`).join(' | '));
    expect(redactor.text(clean)).toBe(clean);
  });

  it.each([
    ['Authorization: Bearer abc.def-123', 'Authorization: Bearer [redacted:authorization]'],
    ['authorization:bearer   x', 'authorization:bearer   [redacted:authorization]'],
    [
      'curl -H "Authorization: Basic YTpi" http://x',
      'curl -H "Authorization: Basic [redacted:authorization]" http://x',
    ],
    [
      '{\\"AUTHORIZATION\\": \\"Bearer abc\\"}',
      '{\\"AUTHORIZATION\\": \\"Bearer [redacted:authorization]\\"}',
    ],
    [`Bearer ${letters(30)}`, 'Bearer [redacted:bearer]'],
    ['https://ann:pass@host/path', 'https://ann:[redacted:url-password]@host/path'],
    ['postgres://u:p@ss:word@db:5432/x', 'postgres://u:[redacted:url-password]@db:5432/x'],
    ['redis://:secret@host', 'redis://:[redacted:url-password]@host'],
    [
      'a https://u:p1@h and b https://u:p2@h',
      'a https://u:[redacted:url-password]@h and b https://u:[redacted:url-password]@h',
    ],
  ])('S12: takes the secret out of %s', (text, clean) => {
    expect(redactor.text(text)).toBe(clean);
    expect(redactor.text(clean)).toBe(clean);
  });

  it('S12: takes all that follows, if a private key has no end', () => {
    const [key = ''] = pem('EC PRIVATE KEY', '\n').split('-----END');
    expect(redactor.text(`key: ${key}and so on`)).toBe('key: [redacted:private-key]');
  });

  it('S12: replaces declared values wherever they stand, plain or inside JSON', () => {
    const { text } = createRedactor({
      values: ['hunter2!', 'hunter2!more', 'say "hi"\n', '$&.*', 'redacted'],
    });
    expect(text('a hunter2! b hunter2!hunter2!')).toBe('a [redacted] b [redacted][redacted]');
    expect(text('hunter2!more')).toBe('[redacted]');
    expect(text('he will say "hi"\n now')).toBe('he will [redacted] now');
    expect(text(JSON.stringify('he will say "hi"\n now'))).toBe('"he will [redacted] now"');
    expect(text('cost: $&.*')).toBe('cost: [redacted]');
    expect(text('hunter2')).toBe('hunter2');
  });

  it('knows secret names in any case, and only those', () => {
    const { isSecretName } = createRedactor({ names: ['apiKey', 'Password'] });
    expect(['apikey', 'APIKEY', 'password'].every(isSecretName)).toBe(true);
    expect(['api_key', 'passwords', '', 'toString'].some(isSecretName)).toBe(false);
    expect(redactor.isSecretName('password')).toBe(false);
  });

  it.each([
    [{ values: ['abc'] }, 'secrets.values'],
    [{ values: ['long enough', ''] }, 'secrets.values'],
    [{ names: [''] }, 'secrets.names'],
  ])('refuses options that would redact everything: %j', (options, option) => {
    expect(() => createRedactor(options)).toThrow(
      expect.objectContaining({ code: 'BAD_OPTION', fields: expect.objectContaining({ option }) }),
    );
  });

  it('does not show a declared value in the error about it', () => {
    expect(() => createRedactor({ values: ['xyz'] })).toThrow(expect.not.stringContaining('xyz'));
  });

  it('looks for no shapes if told so', () => {
    const text = `ghp_${letters(36)}`;
    expect(createRedactor({ shapes: false }).text(text)).toBe(text);
  });
});

/** What a guess by randomness would eat. */
const INNOCENT: readonly string[] = [
  'da39a3ee5e6b4b0d3255bfef95601890afd80709',
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  'd41d8cd98f00b204e9800998ecf8427e',
  '01890a5d-ac96-774b-bcce-b302099a8057',
  'task-da39a3ee5e6b4b0d3255bfef95601890afd80709',
  'disk-d41d8cd98f00b204e9800998ecf8427ed41d8cd98f00b204e9800998ecf8427e',
  'run-1/loop:work:3',
  `sha512-${Buffer.from(letters(64)).toString('base64')}==`,
  `data:image/png;base64,${Buffer.from(letters(999)).toString('base64')}`,
  Buffer.from(JSON.stringify({ a: letters(300) })).toString('base64'),
  'eyJhIjoxfQ==',
  'The task-based risk-free disk-bound mask-like desk-top is the best ask-me-anything of all.',
  'sk-folding-cube-with-a-long-name-in-lower-case',
  'Slovak is sk-SK; npm_config_registry, npm_lifecycle_event and npm_package_name are set by npm.',
  'Authorization is needed; the bearer of this letter may enter. Bearer tokens are explained below.',
  'Basic arithmetic is enough.',
  'http://localhost:3000/@vite/client, https://example.com/a:b@c, ssh://git@github.com:22/x, mailto:a@b.c',
  'https://host:8080/path?user=a@b.c and http://[::1]:8080/',
  'git@github.com:org/repo.git',
  '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----',
  '-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----',
  'A file that begins with -----BEGIN PRIVATE KEY----- holds a key; this text does not.',
  'AKIA and ASIA are prefixes, AIza is one too, xox is a game, ghp_ is short.',
  'XAKIAABCDEFGHIJKLMNOP',
  'The quick brown fox jumps over the lazy dog. 你好，世界 😀 “quoted” — dashed.',
  'const sk = ask(); // sk-1',
  '[redacted] and [redacted:jwt]',
  '',
];

describe('ordinary text', () => {
  it.each(INNOCENT.map((text) => [text]))('S12: is left as it is: %s', (text) => {
    expect(redactor.text(text)).toBe(text);
    expect(redactor.text(`${text} ${text}`)).toBe(`${text} ${text}`);
  });

  it('S12: random base64 and hex of a megabyte are left as they are', () => {
    let state = 1;
    const bytes = Buffer.from(
      Array.from({ length: 750_000 }, () => {
        state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
        return state >> 16;
      }),
    );
    for (const encoding of ['base64', 'hex', 'base64url'] as const) {
      const text = bytes.toString(encoding);
      expect(redactor.text(text) === text).toBe(true);
    }
  });
});

describe('the time to redact', () => {
  const size = 1_000_000;
  const BUDGET_MS = 1_000;

  // Method: a megabyte of each beginning that a shape has, again and again. A pattern that goes back over what it has
  // seen would take minutes; one that does not takes milliseconds.
  it.each([
    'sk-',
    'sk-ant-',
    'sk-proj-',
    'ghp_',
    'github_pat_',
    'glpat-',
    'AKIA',
    'xoxb-',
    'AIza',
    'sk_live_',
    'npm_',
    'eyJ',
    'eyJ-',
    'eyJaaaaaa.',
    'eyJaaaaaa.eyJaaaaaa.',
    '\\neyJ',
    '-----BEGIN PRIVATE KEY-----',
    '-----BEGIN ',
    `-----BEGIN PRIVATE KEY-----\n${letters(32)}`,
    'authorization: bearer ',
    'authorization',
    'Authorization:     "',
    '://',
    '://a:',
    '://a:b',
    '://:::',
    'Bearer ',
  ])('S14: grows with the text, for a text of %j', (part) => {
    const text = part.repeat(Math.ceil(size / part.length));
    const best = Math.min(
      ...[1, 2, 3].map(() => {
        const start = process.cpuUsage();
        redactor.text(text);
        return process.cpuUsage(start).user / 1_000;
      }),
    );
    expect(best).toBeLessThan(BUDGET_MS);
  });

  it('S14: a token of 16 MB is no problem', () => {
    for (const begin of [
      'glpat-',
      'Bearer ',
      'eyJ',
      'https://a:',
      'sk-ant-',
      '-----BEGIN PRIVATE KEY-----\n',
    ]) {
      expect(() => redactor.text(begin + 'a'.repeat(16 * 1024 * 1024))).not.toThrow();
    }
  });
});
