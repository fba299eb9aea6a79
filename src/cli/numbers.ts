import { RuntimeError } from '../errors.ts';

/** A number from 0 that somebody typed. @throws {RuntimeError} WRONG_USE */
export const numberOf = (option: string, text: string): number => {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new RuntimeError('WRONG_USE', {
    problem: `${option} is "${text}".`,
    instead: 'Give it a number from 0.',
  });
};
