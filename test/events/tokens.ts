/** Text that looks random, and is the same in every run. */
export const letters = (count: number): string =>
  'aB3dE5gH7jK9'.repeat(Math.ceil(count / 12)).slice(0, count);
const capitals = (count: number): string => 'ABCD2345EFGH67'.repeat(2).slice(0, count);
const digits = '1234567890';
export const pem = (label: string, newline: string): string =>
  [`-----BEGIN ${label}-----`, letters(64), letters(64), `${letters(20)}==`, `-----END ${label}-----`].join(
    newline,
  );

/** One of each shape. They are put together here, so that no scanner takes this file for a leak. */
export const TOKENS: readonly (readonly [kind: string, token: string])[] = [
  ['openai-key', `sk-${letters(48)}`],
  ['openai-key', `sk-proj-${letters(20)}_${letters(80)}-${letters(20)}`],
  ['openai-key', `sk-svcacct-${letters(60)}`],
  ['anthropic-key', `sk-ant-api03-${letters(40)}-${letters(40)}_AA`],
  ['github-token', `ghp_${letters(36)}`],
  ['github-token', `gho_${letters(36)}`],
  ['github-token', `ghs_${letters(36)}`],
  ['github-token', `github_pat_${letters(22)}_${letters(59)}`],
  ['gitlab-token', `glpat-${letters(20)}`],
  ['aws-key-id', `AKIA${capitals(16)}`],
  ['aws-key-id', `ASIA${capitals(16)}`],
  ['slack-token', `xoxb-${digits}-${digits}-${letters(24)}`],
  ['slack-token', `xoxp-${digits}-${letters(24)}`],
  ['google-key', `AIza${letters(20)}-${letters(14)}`],
  ['stripe-key', `sk_live_${letters(24)}`],
  ['stripe-key', `rk_live_${letters(24)}`],
  ['npm-token', `npm_${letters(36)}`],
  ['private-key', pem('PRIVATE KEY', '\n')],
  ['private-key', pem('RSA PRIVATE KEY', '\r\n')],
  ['private-key', pem('OPENSSH PRIVATE KEY', '\\n')],
  ['jwt', `eyJ${letters(30)}.eyJ${letters(80)}.${letters(43)}`],
];
