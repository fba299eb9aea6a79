import { type ChangedAnswer, type Json, LIMITS, type LimitName, type WhatIfOptions } from '../index.ts';
import { wrong } from './wrong-use.ts';

/** Those of loops, and the cap of the run. */
const BOUNDS: readonly string[] = [...Object.keys(LIMITS), 'turns'];

const ANSWERS = ['output', 'failure', 'option', 'value', 'note', 'by', 'forget'];

/** What is to be another in a branch, from `--set name=value` and the position that `--at` gives. */
export const changesOf = (
  sets: readonly string[],
  at: number | undefined,
): Pick<WhatIfOptions, 'at' | 'answers' | 'limits'> => {
  const limits: Partial<Record<LimitName, number | null>> = {};
  const answer: Record<string, Json> = {};
  for (const set of sets) {
    const [, name = '', text = ''] = /^([^=]+)=(.*)$/s.exec(set) ?? [];
    const limit = name.startsWith('limits.') ? name.slice('limits.'.length) : undefined;
    if (limit !== undefined && BOUNDS.includes(limit)) limits[limit as LimitName] = boundOf(set, text);
    else if (ANSWERS.includes(name)) answer[name] = valueOf(name, text);
    else
      throw wrong(
        `--set ${set} says nothing that a branch has.`,
        `Write limits.NAME=NUMBER (${BOUNDS.join(', ')}), or of an answer: ${ANSWERS.join(', ')}.`,
      );
  }
  const hasAnswer = Object.keys(answer).length > 0;
  if (hasAnswer && at === undefined)
    throw wrong(
      'An answer stands at a position.',
      'Give it with --at: of the answer, or of what asked for it.',
    );
  return {
    ...(at !== undefined && !hasAnswer && { at }),
    ...(hasAnswer && at !== undefined && { answers: [answerOf(answer, at)] }),
    ...(Object.keys(limits).length > 0 && { limits }),
  };
};

const boundOf = (set: string, text: string): number | null => {
  const value = text === 'null' || text === 'none' ? null : Number(text);
  if (text.trim() !== '' && (value === null || value >= 0)) return value;
  throw wrong(`--set ${set} is no bound.`, 'Give a number from 0, or none.');
};

/** JSON if it is some, for what may be any value; else a text. */
const valueOf = (name: string, text: string): Json => {
  if (name === 'forget') return text !== 'false';
  if (name !== 'output' && name !== 'value') return text;
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
};

const answerOf = (answer: Readonly<Record<string, Json>>, at: number): ChangedAnswer => {
  const kinds = ['output', 'failure', 'forget'].filter((kind) => answer[kind] !== undefined);
  const isOfPerson = ['option', 'value', 'note', 'by'].some((name) => answer[name] !== undefined);
  if (kinds.length + (isOfPerson ? 1 : 0) !== 1)
    throw wrong(
      'One answer has one form.',
      'Set output or failure for an agent, option or value (with note, by) for a person, or forget=true.',
    );
  const whole = isOfPerson && answer['option'] === undefined ? { ...answer, option: null } : answer;
  return { at, ...whole } as ChangedAnswer; // It has one of the forms.
};
