import type { Json } from '../events/json.ts';
import { type FeedbackItem, readFeedback } from '../events/tree-feedback.ts';
import { type KnownTree, routeOf } from './coordinator-checks.ts';

interface Readable {
  readonly items: readonly { readonly item: FeedbackItem; readonly to: string }[];
  readonly faults: readonly string[];
}

/** Each of them is handled in the turn that takes it in, which must not take for ever. */
const REPORTED_AT_ONCE_MAX = 20;

/** Reads what a node reports, with everything that is wrong with any of it. */
export const readAll = (tree: KnownTree, node: string, given: Json): Readable => {
  if (!Array.isArray(given)) return { items: [], faults: ['feedback is a list, not a single value'] };
  if (given.length > REPORTED_AT_ONCE_MAX)
    return {
      items: [],
      faults: [`there are ${given.length} feedbacks; ${REPORTED_AT_ONCE_MAX} are taken at once`],
    };
  const items: { item: FeedbackItem; to: string }[] = [];
  const faults: string[] = [];
  for (const [index, each] of (given as readonly Json[]).entries()) {
    const read = readFeedback(each);
    const problems = [...(read.faults ?? problemsOfPlace(tree, node, read.item))];
    faults.push(...problems.map((problem) => `feedback ${index + 1}: ${problem}`));
    const route = read.faults ? undefined : routeOf(tree, read.item);
    if (!read.faults && route?.fault === undefined && route) items.push({ item: read.item, to: route.to });
  }
  return { items, faults };
};

const problemsOfPlace = (tree: KnownTree, node: string, item: FeedbackItem): readonly string[] => {
  if (item.from_node !== node) return [`"from_node" is "${item.from_node}", but it came from "${node}"`];
  const { fault } = routeOf(tree, item);
  return fault === undefined ? [] : [fault];
};
