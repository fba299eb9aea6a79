import fc from 'fast-check';
import { expect, test } from 'vitest';
import { compileProjection } from '../../src/projections/compiled-projection.ts';
import { foldDraft, foldInPlace } from '../../src/projections/fold-event.ts';
import { GuardedState } from '../../src/projections/guarded-state.ts';
import { MemorySource } from './memory-source.ts';

type Path = readonly string[];

/** What a fold may do with its state: everything that one can do with objects and lists. */
type Operation =
  | { readonly do: 'put'; readonly at: Path; readonly value: 'number' | 'object' | 'list' }
  | { readonly do: 'link' | 'wrap'; readonly at: Path; readonly from: Path }
  | { readonly do: 'remove' | 'count' | 'reverse' | 'shift' | 'push'; readonly at: Path }
  | { readonly do: 'keep'; readonly at: Path };

const anyPath = fc.array(fc.constantFrom('a', 'b', '0'), { minLength: 1, maxLength: 3 });

const anyOperation: fc.Arbitrary<Operation> = fc.oneof(
  fc.record({
    do: fc.constant('put' as const),
    at: anyPath,
    value: fc.constantFrom('number' as const, 'object' as const, 'list' as const),
  }),
  fc.record({ do: fc.constantFrom('link' as const, 'wrap' as const), at: anyPath, from: anyPath }),
  fc.record({
    do: fc.constantFrom(
      'remove' as const,
      'count' as const,
      'reverse' as const,
      'shift' as const,
      'push' as const,
    ),
    at: anyPath,
  }),
  fc.record({ do: fc.constant('keep' as const), at: anyPath }),
);

const valueAt = (state: unknown, path: Path): unknown =>
  path.reduce<unknown>(
    (at, key) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, key) ? Reflect.get(at, key) : undefined,
    state,
  );

function perform(state: object, operation: Operation, data: unknown): void {
  const { at } = operation;
  const parent = valueAt(state, at.slice(0, -1));
  const key = at.at(-1) ?? 'a';
  if (typeof parent !== 'object' || parent === null) return;
  if (Array.isArray(parent) && key !== '0') return;
  const target: unknown = valueAt(parent, [key]);
  const put = (value: unknown) => Reflect.set(parent, key, value);
  switch (operation.do) {
    case 'put':
      put({ number: 1, object: { a: { n: 0 }, b: 1 }, list: [{ n: 1 }, 2] }[operation.value]);
      break;
    case 'link': {
      const value = valueAt(state, operation.from);
      if (value !== undefined && !operation.from.every((step, index) => at[index] === step)) put(value);
      break;
    }
    case 'wrap': {
      const value = valueAt(state, operation.from);
      if (value !== undefined && !operation.from.every((step, index) => at[index] === step))
        put({ a: value, b: [value] });
      break;
    }
    case 'keep':
      put(data);
      break;
    case 'remove':
      if (!Array.isArray(parent)) Reflect.deleteProperty(parent, key);
      break;
    case 'count':
      if (typeof target === 'object' && target !== null && !Array.isArray(target)) {
        Reflect.set(target, 'b', Number(Reflect.get(target, 'b') === 1) + 1);
      }
      break;
    default:
      if (!Array.isArray(target)) return;
      if (operation.do === 'push') target.push(target.length);
      if (operation.do === 'shift') target.shift();
      if (operation.do === 'reverse') target.reverse();
  }
}

const program = (operations: readonly (readonly Operation[])[]) =>
  compileProjection({
    name: 'program',
    version: 1,
    partition: 'log',
    initial: { a: { a: { n: 1 }, b: 2 }, b: [{ n: 3 }] },
    on: {
      go: (state, { data, position }) => {
        for (const operation of operations[position - 1] ?? []) perform(Object(state), operation, data);
      },
    },
  });

const isFolded = <Result>(fold: () => Result): Result | undefined => {
  try {
    return fold();
  } catch {
    return undefined;
  }
};

// Method: random programs of everything that can be done with objects, run on guarded plain data and on drafts. The plain data
// may give up, which costs time and nothing else; as long as it does not, the two must be equal after every event.
test('G21: what folds do to guarded plain data is what they do to drafts', () => {
  let goneThrough = 0;
  let givenUp = 0;
  fc.assert(
    fc.property(fc.array(fc.array(anyOperation, { maxLength: 3 }), { maxLength: 12 }), (operations) => {
      const projection = program(operations);
      const guarded = new GuardedState(structuredClone(projection.initial));
      let drafted = projection.initial;
      for (const event of new MemorySource().append(
        ...operations.map(() => ({ type: 'go', data: { a: { n: 9 } } })),
      )) {
        const isGood = isFolded(() => {
          foldInPlace(projection, guarded.root, event);
          return guarded.settle();
        });
        if (isGood !== true) {
          givenUp += 1;
          return;
        }
        const next = isFolded(() => foldDraft(projection, drafted, event));
        // A cycle is refused by both, but plain data is only checked at the end.
        if (next === undefined) return;
        drafted = next;
        expect(JSON.parse(JSON.stringify(guarded.release()))).toEqual(JSON.parse(JSON.stringify(drafted)));
      }
      goneThrough += 1;
    }),
    { numRuns: 5_000 },
  );
  expect(goneThrough).toBeGreaterThan(500);
  expect(givenUp).toBeGreaterThan(500);
});

test('an object that is moved, and not doubled, may stay plain', () => {
  const guarded = new GuardedState({ list: [{ n: 1 }, { n: 2 }], kept: null });
  const state = guarded.root as { list: { n: number }[]; kept: unknown };
  state.list.push({ n: 3 });
  state.kept = state.list.shift();
  expect(guarded.settle()).toBe(true);
  state.list.reverse();
  expect(guarded.settle()).toBe(true);
  expect(guarded.release()).toEqual({ list: [{ n: 3 }, { n: 2 }], kept: { n: 1 } });
});

test('an object in two places is noticed, however it came there', () => {
  type State = { a: { n: number }; b?: unknown; c?: unknown };
  const cases: readonly ((state: State) => void)[] = [
    (state) => void (state.b = state.a),
    (state) => void (state.b = { deep: [state.a] }),
    (state) => {
      const made = { n: 1 };
      state.b = made;
      state.c = [made];
    },
    (state) => {
      state.b = {};
      Object.assign(Object(state.b), { late: state.a });
    },
    (state) => void (state.b = Object.values(state)),
  ];
  for (const change of cases) {
    const guarded = new GuardedState({ a: { n: 0 } });
    change(guarded.root as State);
    expect(guarded.settle()).toBe(false);
  }
});
