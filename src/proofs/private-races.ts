import type { ExploredSystem, Part } from './explored-system.ts';
import type { Place, PrivateSteps } from './private-steps.ts';
import type { Possible, Stepped, Stepper } from './stepper.ts';
import { greaterWeight, isWithin, lessWeight, sumOfWeights, WEIGHS_NOTHING, type Weight } from './weight.ts';

interface Race {
  readonly there: ExploredSystem;
  /** What happens, to another actor. */
  readonly possible: Possible;
  /** What comes of it if the actor has not moved. */
  readonly stepped: Stepped;
  /** Where the actor may have got to by itself before. */
  readonly places: readonly Place[];
}

/**
 * Something that happens elsewhere is also about an actor that may have moved by itself meanwhile. Gives what that may have
 * taken at most, if nobody else can tell the difference and the actor ends up where it can get by itself, or where it would
 * have been anyway (a request that is called off was called off, however often it was tried); undefined if that does not hold.
 */
export const isSettledBy = (
  { there, possible, stepped, places }: Race,
  { stepper, own, idOf }: { stepper: Stepper; own: PrivateSteps; idOf: (part: Part) => number },
): Weight | undefined => {
  const [first] = places;
  if (!first) return WEIGHS_NOTHING;
  const { address } = first.record;
  const known = rowsOfOthers(stepped, address);
  const result = stepped.system.partOf(address);
  const after = own.placesOf(stepped.system, address);
  let most = WEIGHS_NOTHING;
  for (const place of places.slice(1)) {
    const other = stepper.step(there.withPart(place), possible);
    const part = other.system.partOf(address);
    if (rowsOfOthers(other, address) !== known || !part || !result) return undefined;
    const taken = sumOfWeights(place.weight, other.weight);
    const isCovered = after.some(
      (reached) =>
        isAlike(reached, part, idOf) && isWithin(taken, sumOfWeights(reached.weight, stepped.weight)),
    );
    if (isCovered) continue;
    if (!isAlike(result, part, idOf)) return undefined;
    most = greaterWeight(most, lessWeight(taken, stepped.weight));
  }
  return most;
};

const isAlike = (one: Part, other: Part, idOf: (part: Part) => number): boolean =>
  one.record.status === 'active' && other.record.status === 'active'
    ? idOf(one) === idOf(other)
    : one.record.status === other.record.status;

const rowsOfOthers = ({ taken }: Stepped, address: string): string =>
  (taken?.turn.events ?? [])
    .filter(({ actor }) => actor !== address)
    .map(({ actor, kind, type, dataJson, stateJson }) => `${actor} ${kind} ${type} ${dataJson} ${stateJson}`)
    .join('\n');
