import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  derivedDigest,
  EMPTY_CHAIN,
  type RowHead,
  type RowTexts,
  rowDigest,
  type TurnHeader,
  turnChain,
} from '../../src/store/chain.ts';

const name = fc.string({ unit: fc.constantFrom('a', 'b', '\n', ' ', '-', '1') });
const number = fc.nat(20);
const anyRow: fc.Arbitrary<RowHead & RowTexts> = fc.record({
  position: number,
  id: name,
  turn: number,
  atMs: number,
  run: name,
  actor: name,
  version: number,
  kind: fc.constantFrom('message', 'fact'),
  type: name,
  typeVersion: number,
  from: fc.option(name),
  cause: fc.option(number),
  machine: name,
  machineVersion: number,
  stateJson: name,
  dataJson: name,
});
const anyHeader: fc.Arbitrary<TurnHeader> = fc.record({
  turn: number,
  id: name,
  atMs: number,
  origin: fc.constantFrom('host', 'agent'),
  by: fc.option(name),
  cause: fc.option(number),
});

const PARAMETERS = { numRuns: 2_000 };

describe('digests and chain', () => {
  test('two rows have one digest only if they are equal in every column, whatever newlines are in them', () => {
    fc.assert(
      fc.property(anyRow, anyRow, fc.constantFrom(...Object.keys(SAMPLE)), (row, other, column) => {
        const changed = { ...row, [column]: Reflect.get(other, column) as unknown } as RowHead & RowTexts;
        const isSame = JSON.stringify(changed) === JSON.stringify(row);
        expect(rowDigest(changed, changed) === rowDigest(row, row)).toBe(isSame);
      }),
      PARAMETERS,
    );
  });

  test('text cannot move from one column to the next', () => {
    fc.assert(
      fc.property(anyRow, anyRow, (row, other) => {
        const isSame = JSON.stringify(row) === JSON.stringify(other);
        expect(rowDigest(row, row) === rowDigest(other, other)).toBe(isSame);
      }),
      PARAMETERS,
    );
    const row = { ...SAMPLE, type: 'a\nb', machine: 'c' };
    const moved = { ...SAMPLE, type: 'a', machine: 'b\nc' };
    expect(rowDigest(row, row)).not.toBe(rowDigest(moved, moved));
    expect(rowDigest({ ...SAMPLE, from: null }, SAMPLE)).not.toBe(rowDigest({ ...SAMPLE, from: '' }, SAMPLE));
  });

  test('the chain depends on every part of a turn, on its rows and on all before', () => {
    fc.assert(
      fc.property(anyHeader, anyHeader, fc.array(name), fc.array(name), (header, other, digests, others) => {
        const isSame =
          JSON.stringify([header, digests.join('\n')]) === JSON.stringify([other, others.join('\n')]);
        expect(turnChain(EMPTY_CHAIN, header, digests) === turnChain(EMPTY_CHAIN, other, others)).toBe(
          isSame,
        );
        expect(turnChain('1', header, digests)).not.toBe(turnChain(EMPTY_CHAIN, header, digests));
      }),
      PARAMETERS,
    );
  });

  // These never change: every log out there is chained with them.
  test('digests are what they were', () => {
    expect(rowDigest(SAMPLE, SAMPLE)).toMatchInlineSnapshot(`"P9aTCTKjSSBhMZ2EubvFhp-7vJmtvr-ozwwJ4WgmoCg"`);
    expect(
      turnChain(EMPTY_CHAIN, { turn: 1, id: 't', atMs: 1, origin: 'host', by: null, cause: null }, ['x']),
    ).toMatchInlineSnapshot(`"332b7f6ee97686302aab32421e6ebd0ee860a3cbed20501d5e7120d7aceb2552"`);
    expect(derivedDigest('call', ['a', 1, null])).toMatchInlineSnapshot(
      `"Pynd3zopKWZ3UKUTqZqQ0wcpx8kSLANfTAjUtBCdUus"`,
    );
  });
});

const SAMPLE: RowHead & RowTexts = {
  position: 1,
  id: 't/0',
  turn: 1,
  atMs: 1_000,
  run: 'run-1',
  actor: 'run-1',
  version: 1,
  kind: 'message',
  type: 'WORK',
  typeVersion: 1,
  from: null,
  cause: null,
  machine: 'sample',
  machineVersion: 1,
  stateJson: '"working"',
  dataJson: '{}',
};
