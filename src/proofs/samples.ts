/** The first so many states that are met again are expanded again and compared, and then one in some. */
export const COMPARED = { first: 50, oneIn: 20 };
/** In so many states every answer is tried after every number of tries, and then in one of some: agents are the same everywhere. */
export const TRIED_FULLY = { first: 20, oneIn: 40 };
/** Of the nth on, one in n by so many is a sample: about a hundred each time that their number doubles. */
const SAMPLES_AMONG_MANY = 140;

/** Samples get rarer: what a reduction loses shows in many states, and the first of each kind are met early. */
export const isSampled = (nth: number, { first, oneIn }: typeof COMPARED): boolean =>
  nth <= first || nth % Math.max(oneIn, Math.ceil(nth / SAMPLES_AMONG_MANY)) === 0;
