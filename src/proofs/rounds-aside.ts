import type { ActorRecord } from '../actors/actor-record.ts';
import { COORDINATOR } from '../machines/coordinator-machine.ts';
import { type CoordinatorState, countOf, type Rounds } from '../machines/coordinator-state.ts';
import type { Renaming } from './alike-nodes.ts';
import type { ExploredSystem } from './explored-system.ts';

/**
 * Rounds that the nodes of a tree have had with each other are kept beside the states: whether two of them may have another round is
 * all that anybody sees of it. So a state is explored as if no round had been used, and, for each pair that then uses one, as if it had none left;
 * how often each can happen on one way is counted in the graph.
 */
export interface Settled {
  readonly system: ExploredSystem;
  /** The pairs that have begun a round. */
  readonly used: readonly string[];
}

const SEPARATOR = ' > ';

/** That of the tree which is the run. Of trees that are steps of a plan there may be several, and each begins with all rounds. */
const coordinatorIn = ({ actors }: ExploredSystem): ActorRecord | undefined => {
  for (const record of actors.values()) {
    const isOfRun = record.parent === record.run;
    if (record.machine === COORDINATOR && isOfRun && record.status === 'active') return record;
  }
  return undefined;
};

const stateOf = ({ snapshot }: ActorRecord): CoordinatorState | undefined =>
  snapshot?.context as CoordinatorState | undefined; // Kept under the name of its machine only.

/** How many rounds each pair may have; null if they are not counted. */
export const roundsMaxIn = (system: ExploredSystem): number | null => {
  const record = coordinatorIn(system);
  return (record && stateOf(record)?.limits.pairRounds) ?? null;
};

const withRounds = (
  system: ExploredSystem,
  record: ActorRecord,
  changed: Pick<CoordinatorState, 'rounds' | 'granted'>,
): ExploredSystem => {
  const { snapshot } = record;
  // A snapshot is a plain object, of which only the context is another.
  const other = { ...snapshot, context: { ...snapshot?.context, ...changed } } as ActorRecord['snapshot'];
  return system.withRecord({ ...record, snapshot: other });
};

/** The same, but these pairs have used so many rounds. */
export const withUsed = (system: ExploredSystem, pairs: readonly string[], used: number): ExploredSystem => {
  const record = pairs.length === 0 ? undefined : coordinatorIn(system);
  if (!record) return system;
  const rounds: Record<string, Record<string, number>> = {};
  for (const pair of pairs) {
    const [from = '', to = ''] = pair.split(SEPARATOR);
    rounds[to] = { ...rounds[to], [from]: used };
  }
  return withRounds(system, record, { rounds, granted: {} });
};

/** The same, as if no round had been used; undefined if one pair has begun several at once. */
export const settled = (
  system: ExploredSystem,
  { pairs, used }: { readonly pairs: readonly string[]; readonly used: number },
): Settled | undefined => {
  const record = coordinatorIn(system);
  const state = record && stateOf(record);
  if (!record || !state) return { system, used: [] };
  const found: string[] = [];
  for (const [to, bySource] of Object.entries(state.rounds))
    for (const from of Object.keys(bySource)) {
      const pair = `${from}${SEPARATOR}${to}`;
      // What a person allows besides is not taken from what there was.
      const allowed = countOf(state.granted, from, to);
      const begun = countOf(state.rounds, from, to) - (pairs.includes(pair) ? used : 0) - allowed;
      if (begun > 1) return undefined;
      if (begun === 1) found.push(pair);
    }
  found.sort();
  if (isEmpty(state.rounds) && isEmpty(state.granted)) return { system, used: found };
  return { system: withRounds(system, record, { rounds: {}, granted: {} }), used: found };
};

/** The same pair, by other names. */
export const renamedPair = (pair: string, renaming: Renaming): string =>
  pair
    .split(SEPARATOR)
    .map((node) => renaming.get(node) ?? node)
    .join(SEPARATOR);

const isEmpty = (rounds: Rounds): boolean => Object.keys(rounds).length === 0;
