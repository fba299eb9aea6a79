import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/** A secret that was planted, and where. */
export interface Planted {
  readonly where: string;
  /** What must be found nowhere: the secret, and each half of it. */
  readonly needles: readonly string[];
}

type Kind = 'shape' | 'value' | 'name';

/** Gives out secrets, each once, and keeps who got which. */
export interface Planter {
  /** Every value that has to be declared, given out or not. */
  readonly values: readonly string[];
  /** The name of members that has to be declared. */
  readonly name: string;
  /** A text with so many secrets in it: of known shapes, and declared ones. */
  text(where: string, count?: number): string;
  /** One secret alone, of the kind that is declared as a value. */
  value(where: string): string;
  /** An object with three secrets: of a known shape, of a declared value, and in a member of a declared name. */
  object(where: string): Readonly<Record<string, string>>;
  readonly planted: () => readonly Planted[];
}

const NAME = 'apiSecret';
const VALUES = 120;

/** Random letters and digits, the same in every run, no two alike. */
const noise = (seed: string, length: number): string => {
  let text = '';
  for (let round = 0; text.length < length; round += 1)
    text += createHash('sha256').update(`${seed} ${round}`).digest('base64').replaceAll(/[+/=]/g, '');
  return text.slice(0, length);
};

/** What is written, and the secret in it. They are put together here, so that no scanner takes this file for a leak. */
const SHAPES: readonly ((seed: string) => readonly [text: string, secret: string])[] = [
  (seed) => same(`ghp_${noise(seed, 36)}`),
  (seed) => same(`sk-ant-api03-${noise(seed, 60)}`),
  (seed) => same(`sk-proj-${noise(seed, 60)}`),
  (seed) => same(`glpat-${noise(seed, 24)}`),
  (seed) =>
    same(
      `AKIA${noise(seed, 60)
        .toUpperCase()
        .replaceAll(/[^A-Z2-7]/g, 'Q')
        .slice(0, 16)}`,
    ),
  (seed) => same(`xoxb-${noise(seed, 40)}`),
  (seed) => same(`AIza${noise(seed, 35)}`),
  (seed) => same(`sk_live_${noise(seed, 28)}`),
  (seed) => same(`npm_${noise(seed, 36)}`),
  (seed) => same(`eyJ${noise(seed, 30)}.eyJ${noise(`${seed} body`, 60)}.${noise(`${seed} sign`, 43)}`),
  (seed) => [`Authorization: Bearer ${noise(seed, 40)}`, noise(seed, 40)],
  (seed) => [`https://ada:${noise(seed, 30)}@example.com/x`, noise(seed, 30)],
  (seed) => [
    `-----BEGIN PRIVATE KEY-----\n${noise(seed, 64)}\n${noise(`${seed} 2`, 64)}\n-----END PRIVATE KEY-----`,
    noise(seed, 64),
  ],
];

const same = (secret: string): readonly [string, string] => [secret, secret];

/** A secret that was cut in two is a leak as well. */
const needlesOf = (secret: string): readonly string[] => {
  const half = Math.ceil(secret.length / 2);
  return [secret, secret.slice(0, half), secret.slice(-half)];
};

export const createPlanter = (): Planter => {
  const planted: Planted[] = [];
  const given: Record<Kind, number> = { shape: 0, value: 0, name: 0 };
  const values = Array.from({ length: VALUES }, (_, index) => `plain ${noise(`value ${index}`, 24)}`);
  const note = (where: string, secret: string): void =>
    void planted.push({ where: `${planted.length + 1}: ${where}`, needles: needlesOf(secret) });

  const shape = (where: string): string => {
    const make = SHAPES[given.shape % SHAPES.length];
    if (!make) throw new Error('There are no shapes.');
    const [text, secret] = make(`shape ${(given.shape += 1)}`);
    note(where, secret);
    return text;
  };
  const value = (where: string): string => {
    const found = values[given.value];
    if (found === undefined) throw new Error('There are no more declared values.');
    given.value += 1;
    note(where, found);
    return found;
  };
  const named = (where: string): string => {
    const secret = noise(`name ${(given.name += 1)}`, 30);
    note(where, secret);
    return secret;
  };
  return {
    values,
    name: NAME,
    text: (where, count = 2) =>
      Array.from({ length: count }, (_, index) => (index % 2 === 0 ? shape : value)(where)).join(' and '),
    value,
    object: (where) => ({ plain: shape(where), words: `so ${value(where)} it is`, [NAME]: named(where) }),
    planted: () => planted,
  };
};

/** What was written somewhere, by its name. */
export type Written = ReadonlyMap<string, string>;

/** Where which secret is found: empty if none is. */
export const leaksIn = (written: Written, planted: readonly Planted[]): readonly string[] =>
  [...written].flatMap(([name, text]) =>
    planted
      .filter(({ needles }) => needles.some((needle) => text.includes(needle)))
      .map(({ where }) => `${where} is in ${name}`),
  );

/** Every file of a folder, byte by byte. */
export const filesIn = (folder: string): Written =>
  new Map(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => statSync(join(folder, name)).isFile())
      .map((name) => [name, readFileSync(join(folder, name), 'latin1')]),
  );
