import type { Place } from './private-steps.ts';
import type { Possible } from './stepper.ts';
import { greaterWeight, type Weight } from './weight.ts';

/** Something that can happen to an actor, where it has got to by itself. */
export interface Choice {
  readonly place: Place;
  readonly possible: Possible | null;
  /** What happens, for this actor. */
  readonly label: string;
  /** The most that it takes to get to where it can happen. */
  readonly weight: Weight;
}

/** What happens, for its actor. */
export const labelOf = ({ step }: Possible): string =>
  'call' in step ? `${step.call} ${step.label}` : step.label;

export const isFailure = (possible: Possible | null): boolean =>
  possible?.step.kind === 'answers' && possible.step.outcome.fails === true;

/** What others may notice of an actor, from wherever it can get to by itself. */
export const allOf = (places: readonly Place[]): readonly Choice[] =>
  places.flatMap((place, nth): readonly Choice[] => {
    const { weight } = place;
    const ends = place.isEnd ? [{ place, possible: null, label: `ends ${nth}`, weight }] : [];
    const happens = place.public.map((possible) => ({ place, possible, label: labelOf(possible), weight }));
    return [...happens, ...ends];
  });

/** The same answer only once, on the shortest way, as if it took the most to get there. */
export const longestOf = (places: readonly Place[]): readonly Choice[] => {
  const longest = new Map<string, Choice>();
  for (const choice of allOf(places)) {
    const other = longest.get(choice.label);
    longest.set(
      choice.label,
      other ? { ...other, weight: greaterWeight(other.weight, choice.weight) } : choice,
    );
  }
  return [...longest.values()];
};
