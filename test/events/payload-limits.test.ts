import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { isRuntimeError } from '../../src/errors.ts';
import { DEFAULT_LIMITS, decode, encode } from '../../src/events/encode.ts';
import { isDeep, rounds } from '../support/sample-sizes.ts';

const TIMEOUT_MS = isDeep ? 2 * 60 * 60 * 1000 : 10 * 60 * 1000;
const BUDGET_MS = 100;
const BUDGET_BYTES = 64 * 1024 * 1024;

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

interface Input {
  /** Takes it in as the outside would: a text through `decode`, a value of the process as it is. */
  readonly enter: () => unknown;
  /** What V8 itself takes to list its keys: there is no other way to count them. Absent if that is not needed. */
  readonly list?: () => unknown;
}

interface Family {
  readonly name: string;
  readonly sizes: readonly [smallest: number, largest: number];
  readonly make: (size: number) => Input;
}

const value = (made: unknown): Input => ({ enter: () => encode(made) });
const text = (made: string): Input => ({ enter: () => encode(decode(made, DEFAULT_LIMITS)) });
const wide = (made: object): Input => ({ enter: () => encode(made), list: () => Object.keys(made) });

const nested = (depth: number, around: (inner: unknown) => unknown, innermost: unknown = 0): unknown => {
  let made = innermost;
  for (let level = 0; level < depth; level += 1) made = around(made);
  return made;
};

const members = (count: number, name: (index: number) => string): Record<string, number> => {
  const object: Record<string, number> = {};
  for (let index = 0; index < count; index += 1) object[name(index)] = index;
  return object;
};

const zeros = (count: number): readonly number[] => Array.from({ length: count }, () => 0);

const FAMILIES: readonly Family[] = [
  { name: 'a string', sizes: [0, 1e8], make: (size) => value('x'.repeat(size)) },
  { name: 'a string of escapes', sizes: [0, 1e8], make: (size) => value('\u0001'.repeat(size)) },
  { name: 'a string of emoji', sizes: [0, 5e7], make: (size) => value('😀'.repeat(size / 2)) },
  { name: 'many strings', sizes: [1, 1e8], make: (size) => value(Array(1000).fill('y'.repeat(size / 1000))) },
  { name: 'a key', sizes: [1, 1e8], make: (size) => value({ a: { ['k'.repeat(size)]: 1 } }) },
  { name: 'an array', sizes: [1, 1e6], make: (size) => value({ items: zeros(size) }) },
  {
    name: 'an array of holes',
    sizes: [6e5, 4e9],
    make: (size) => value(Object.assign([], { length: size })),
  },
  {
    name: 'a full array and a string',
    sizes: [4e5, 5e5],
    make: (size) => value([zeros(size), 'x'.repeat(3e5)]),
  },
  {
    name: 'a full array within arrays',
    sizes: [1e3, 2e5],
    make: (size) => value([nested(60, (inner) => [inner, ...zeros(20)], zeros(size)), 'x'.repeat(1e6)]),
  },
  { name: 'empty arrays', sizes: [1e4, 1e6], make: (size) => value(Array.from({ length: size }, () => [])) },
  { name: 'nested arrays', sizes: [1, 1e6], make: (size) => value(nested(size, (inner) => [inner])) },
  { name: 'nested objects', sizes: [1, 1e6], make: (size) => value(nested(size, (inner) => ({ inner }))) },
  { name: 'doubling', sizes: [5, 63], make: (size) => value(nested(size, (inner) => [inner, inner])) },
  { name: 'named keys', sizes: [1, 1e6], make: (size) => wide(members(size, (index) => `k${index}`)) },
  { name: 'integer keys', sizes: [1, 1e6], make: (size) => wide(members(size, String)) },
  { name: 'keys in parts', sizes: [1, 1e4], make: (size) => value(zeros(size).map(() => ({ a: 1, b: 2 }))) },
  { name: 'text of a string', sizes: [0, 1e8], make: (size) => text(`"${'x'.repeat(size)}"`) },
  {
    name: 'text of a number',
    sizes: [1, 1e8],
    make: (size) => text('1'.repeat(Math.min(size, 300)).padEnd(size)),
  },
  { name: 'text of depth', sizes: [1, 1e6], make: (size) => text('['.repeat(size) + ']'.repeat(size)) },
  { name: 'text of open depth', sizes: [1e3, 1e8], make: (size) => text('{"a":'.repeat(size / 5)) },
  {
    name: 'text of keys',
    sizes: [1, 1e6],
    make: (size) => text(JSON.stringify(members(size, (index) => `k${index}`))),
  },
];

const INPUTS = rounds(FAMILIES.length * 5, 5_000, FAMILIES.length * 2);

/** Sizes of all magnitudes, the smallest and the largest of each family among them. */
const inputAt = (index: number): { readonly name: string; readonly make: () => Input } => {
  const family = FAMILIES[index % FAMILIES.length];
  if (family === undefined) throw new Error('no family');
  const each = Math.ceil(INPUTS / FAMILIES.length);
  const part = Math.floor(index / FAMILIES.length) / (each - 1);
  const [smallest, largest] = family.sizes;
  const size = Math.round((smallest + 1) * ((largest + 1) / (smallest + 1)) ** part) - 1;
  return { name: `${family.name} of ${size}`, make: () => family.make(size) };
};

/** What came of it, and at what cost. If it was too much, it is tried again, twice: the least cost counts. */
const measure = (input: Input): Cost => {
  let best = measureOnce(input);
  for (let again = 0; again < 2 && isTooMuch(best); again += 1) {
    const { ms, bytes } = measureOnce(input);
    best = { ...best, ms: Math.min(best.ms, ms), bytes: Math.min(best.bytes, bytes) };
  }
  return best;
};

interface Cost {
  readonly outcome: string;
  readonly ms: number;
  readonly bytes: number;
}

const isTooMuch = ({ outcome, ms, bytes }: Cost): boolean =>
  outcome !== 'taken' && (ms > BUDGET_MS || bytes > BUDGET_BYTES);

const measureOnce = ({ enter, list }: Input): Cost => {
  // So that no collection of what earlier inputs left behind falls into this measurement.
  if (process.memoryUsage().heapUsed > 2 * BUDGET_BYTES) collectGarbage();
  const listMs = list === undefined ? 0 : timed(list).ms;
  const before = process.memoryUsage();
  const { ms, outcome } = timed(enter);
  const after = process.memoryUsage();
  const bytes = after.heapUsed + after.external - before.heapUsed - before.external;
  return { outcome, ms: ms - listMs, bytes };
};

/** Takes processor time: what else runs on the machine must not decide over the result. */
const timed = (action: () => unknown): { readonly ms: number; readonly outcome: string } => {
  const start = process.cpuUsage();
  let outcome = 'taken';
  try {
    action();
  } catch (error) {
    if (isRuntimeError(error, 'PAYLOAD_TOO_LARGE')) outcome = error.fields.what;
    else if (isRuntimeError(error, 'PAYLOAD_UNSUPPORTED')) outcome = error.fields.found;
    else throw error;
  }
  const { user, system } = process.cpuUsage(start);
  return { ms: (user + system) / 1_000, outcome };
};

describe('an input of any size', () => {
  // Method: inputs of many kinds, each from nothing to far beyond what is allowed. What is refused must have cost
  // little by then. The time that V8 takes to list the keys of an object that exists already is not counted: nothing
  // can be known of it before; a text of so many keys is refused before it becomes an object.
  it(
    `G20: ${INPUTS} inputs of up to 100 MB, a million levels, a million keys: none costs more than 100 ms or 64 MB to refuse`,
    () => {
      const outcomes = new Set<string>();
      const late: string[] = [];
      for (let index = 0; index < INPUTS; index += 1) {
        const { name, make } = inputAt(index);
        const cost = measure(make());
        outcomes.add(cost.outcome);
        if (isTooMuch(cost)) late.push(`${name}: ${cost.outcome} after ${cost.ms} ms, ${cost.bytes} bytes`);
      }
      expect(late).toEqual([]);
      expect([...outcomes].sort()).toEqual(['a text that is not JSON', 'bytes', 'depth', 'keys', 'taken']);
    },
    TIMEOUT_MS,
  );

  it('G20: control: without limits, the same measurement finds inputs that cost too much', () => {
    const unlimited = { bytes: 1e9, depth: 1e4, keys: 1e9 };
    const made = [zeros(2e6), undefined];
    const cost = measure({ enter: () => encode(made, { limits: unlimited }) });
    expect(cost.outcome).toBe('undefined');
    expect(isTooMuch(cost)).toBe(true);
  });
});
