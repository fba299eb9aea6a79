import { RuntimeError } from '../errors.ts';
import type { Address } from './event.ts';

const ID_LENGTH_MAX = 200;
const ADDRESS_LENGTH_MAX = 2_000;

/** What may stand in an id: no slash, which parts addresses, and nothing that a terminal or a file system would mind. */
const ID = /^[A-Za-z0-9_(][A-Za-z0-9_.:~@()-]*$/;

/** Views keep actors and runs by their ids: these would reach the prototype of an object. */
const UNSAFE: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Checks an id that someone outside or a machine made up. */
export const checkId = (id: string): string => {
  if (id.length > ID_LENGTH_MAX)
    throw new RuntimeError('BAD_ADDRESS', { address: id.slice(0, 80), problem: 'it is too long' });
  if (UNSAFE.has(id))
    throw new RuntimeError('BAD_ADDRESS', { address: id, problem: 'objects have members of that name' });
  if (!ID.test(id))
    throw new RuntimeError('BAD_ADDRESS', { address: id, problem: 'it has a character that is not allowed' });
  return id;
};

/** The run that an address belongs to. */
export const runOf = (address: Address): string => {
  const slash = address.indexOf('/');
  return slash === -1 ? address : address.slice(0, slash);
};

/** The address of the nth child with this id: a child that is started anew is another actor, with a stream of its own. */
export const childAddress = (parent: Address, id: string, nth: number): Address => {
  const address = nth === 1 ? `${parent}/${id}` : `${parent}/${id}~${nth}`;
  if (address.length > ADDRESS_LENGTH_MAX) {
    throw new RuntimeError('BAD_ADDRESS', {
      address: `${address.slice(0, 80)}…`,
      problem: 'it is nested too deep',
    });
  }
  return address;
};
