import { type RunRecord, type Runtime, RuntimeError } from '../index.ts';
import { isOfPeople } from './open.ts';
import { contextOf, isObject } from './run-context.ts';

/** A story of a run: the key under which its board knows it. */
export interface FoundStory {
  readonly run: RunRecord;
  readonly key: string;
}

/** The stories that an id, a key or the beginning of one may mean, of the newest run first. */
export const storiesLike = async (runtime: Runtime, given: string): Promise<readonly FoundStory[]> => {
  const runs = (await runtime.runs({ reverse: true })).filter(isOfPeople);
  const found: (FoundStory & { readonly isExact: boolean })[] = [];
  for (const run of runs) {
    const { cards } = (await contextOf(runtime, run.id)).whole;
    for (const [key, card] of Object.entries(isObject(cards) ? cards : {})) {
      const names = [key, isObject(card) ? String(card['id']) : key];
      const isExact = names.includes(given);
      if (isExact || (given !== '' && names.some((name) => name.startsWith(given))))
        found.push({ run, key, isExact });
    }
  }
  const exact = found.filter(({ isExact }) => isExact);
  return exact.length > 0 ? exact : found;
};

/** The one story that is meant: of an open run rather than of one that has ended. */
export const findStory = async (runtime: Runtime, given: string): Promise<FoundStory> => {
  const found = await storiesLike(runtime, given);
  const open = found.filter(({ run }) => run.verdict === null);
  const keys = [...new Set((open.length > 0 ? open : found).map(({ key }) => key))];
  if (keys.length > 1) throw new RuntimeError('AMBIGUOUS_ID', { given, found: keys });
  const [story] = open.length > 0 ? open : found;
  if (story) return story;
  throw new RuntimeError('WRONG_USE', {
    problem: `No run of this log has a story "${given}".`,
    instead: 'See the stories of a run: loopwright show RUN.',
  });
};
