import { freeze } from 'immer';
import { RuntimeError } from '../errors.ts';
import type { Fold, Projection } from './projection.ts';
import { checkData, isContainer, type StateData } from './state-data.ts';

/** A projection as the engine uses it: checked once, and out of reach of whoever declared it. */
export interface CompiledProjection {
  readonly name: string;
  readonly version: number;
  readonly partition: 'run' | 'log';
  /** Frozen. */
  readonly initial: StateData;
  /** The event types that it reads; undefined if it reads all of them. */
  readonly types: readonly string[] | undefined;
  /** Undefined if events of that type leave it as it is. */
  foldOf(type: string): Fold<unknown> | undefined;
}

const EVERY_OTHER_TYPE = '*';
const NAME_LENGTH_MAX = 200;

/** @throws {RuntimeError} BAD_OPTION if it is not a projection, PAYLOAD_UNSUPPORTED if its initial state is not JSON */
export const compileProjection = (declared: Projection): CompiledProjection => {
  const { name, version, partition, initial, on } = declared;
  const expect = (isSo: boolean, what: string, [found, expected]: readonly [unknown, string]): void => {
    if (!isSo)
      throw new RuntimeError('BAD_OPTION', {
        option: `projections.${name}.${what}`,
        found: String(found),
        expected,
      });
  };
  const hasName =
    typeof name === 'string' && name !== '' && name.length <= NAME_LENGTH_MAX && !name.includes('\0');
  expect(hasName, 'name', [name, `a name of at most ${NAME_LENGTH_MAX} characters`]);
  expect(Number.isSafeInteger(version) && version > 0, 'version', [version, 'a whole number from 1 on']);
  expect(partition === 'run' || partition === 'log', 'partition', [partition, '"run" or "log"']);
  expect(isContainer(initial), 'initial', [initial, 'an object or an array']);
  checkData(initial);

  // A map and no object: an event's type may be any text, also one that every object has as a member.
  const folds = new Map<string, Fold<unknown>>(Object.entries(on));
  const otherwise = folds.get(EVERY_OTHER_TYPE);
  const areFolds = folds.size > 0 && [...folds.values()].every((fold) => typeof fold === 'function');
  expect(areFolds, 'on', ['without a fold', 'a fold for each type of event that it reads']);
  return {
    name,
    version,
    partition,
    // The check above holds: `initial` is an object or an array.
    initial: freeze(structuredClone(initial) as StateData, true),
    types: otherwise ? undefined : [...folds.keys()],
    foldOf: (type) => folds.get(type) ?? otherwise,
  };
};
