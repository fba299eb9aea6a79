import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { assign, setup } from 'xstate';
import { ActorCache } from '../../src/actors/actor-cache.ts';
import { type ActorRecord, WAITS_FOR_NOTHING } from '../../src/actors/actor-record.ts';
import { createPacking } from '../../src/actors/packing.ts';
import { createRegistry } from '../../src/actors/registry.ts';
import { workflow } from '../../src/machines/workflow.ts';

const noting = setup({
  types: { context: {} as { notes: readonly string[] }, events: {} as { type: 'NOTE'; text: string } },
  actions: {
    note: assign(({ context, event }) => ({ notes: [...context.notes, event.text] })),
  },
}).createMachine({ context: { notes: [] }, on: { NOTE: { actions: 'note' } } });

const registry = createRegistry();
registry.register([workflow('noting', noting)]);
const definition = registry.newest('noting');

const born = (address: string): ActorRecord => ({
  address,
  run: address.split('/')[0] ?? '',
  machine: 'noting',
  machineVersion: 1,
  parent: null,
  childId: null,
  version: 1,
  status: 'active',
  snapshot: definition?.behavior.initial(null).next ?? null,
  waits: WAITS_FOR_NOTHING,
});

const note = (text: string) => ({ type: 'NOTE', text });

const noted = (record: ActorRecord, text: string): ActorRecord => ({
  ...record,
  version: record.version + 1,
  snapshot: (record.snapshot && definition?.behavior.step(record.snapshot, note(text)).next) ?? null,
});

const notesOf = (record: ActorRecord | null | undefined): unknown =>
  record && [record.address, record.version, record.snapshot?.context];

const ADDRESSES = ['a', 'a/x', 'a/y', 'b', 'b/x', 'none'];

/** What may be in a text, and what the packing itself makes use of. */
const anyText = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(',', '\n', '\t', '\t1\t2', '"', '\\', '\ud800', ',"version":1,', '{"a":1,"b":[]}'),
);

describe('the cache of actors', () => {
  // Method: anything that may be done with a cache, in any order, on one that packs all the time and one that never does. Whoever
  // looks must see the same in both.
  test('looks the same whether actors are packed or not', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            what: fc.constantFrom('note', 'note', 'note', 'drop', 'pack', 'pack', 'read', 'store'),
            address: fc.constantFrom(...ADDRESSES),
            text: anyText,
          }),
          { maxLength: 60, size: 'max' },
        ),
        (moves) => {
          const [plain, packed] = [true, false].map(() => new ActorCache(createPacking(registry)));
          if (!plain || !packed) throw new Error('There are two.');
          for (const [index, { what, address, text }] of moves.entries()) {
            for (const cache of [plain, packed]) {
              const before = cache.actor(address);
              if (what === 'note' && address === 'none') cache.put(address, null, { touchedAtMs: index });
              else if (what === 'note') {
                cache.put(address, before ? noted(before, text) : born(address), { touchedAtMs: index });
                cache.putRun(address.split('/')[0] ?? '', null);
              } else if (what === 'drop') cache.drop(address);
              else if (what === 'store' && before)
                cache.put(address, before, { touchedAtMs: index, storedVersion: before.version });
            }
            if (what === 'pack') packed.pack(index % 3);
            for (const each of ADDRESSES) {
              expect(notesOf(packed.look(each))).toEqual(notesOf(plain.look(each)));
              expect(packed.run(each)).toBe(plain.run(each));
            }
            expect(packed.size).toBe(plain.size);
            expect(packed.changed()).toEqual(plain.changed());
            expect(packed.leaving(index / 2, 3)).toEqual(plain.leaving(index / 2, 3));
          }
        },
      ),
    );
  });

  test('packs an actor into what it does not share with others of its machine', () => {
    const packing = createPacking(registry);
    const packed = ['one', 'other'].map((name) =>
      packing.pack(noted(born(name), `${'the same in all of them, '.repeat(20)}and ${name}`)),
    );
    expect(packed[1]?.text).toContain('other');
    expect(packed[1]?.text.length).toBeLessThan(100);
  });
});
