import type { Edge } from './graph.ts';
import { greaterWeight } from './weight.ts';

/** The same way only once, as if it took the most. */
export const joined = (edges: readonly Edge[], nameOf = fullNameOf): Edge[] => {
  const found = new Map<string, Edge>();
  for (const edge of edges) {
    const name = nameOf(edge);
    const other = found.get(name);
    found.set(name, other ? both(other, edge) : edge);
  }
  return [...found.values()];
};

const both = (one: Edge, other: Edge): Edge => ({
  ...one,
  weight: greaterWeight(one.weight, other.weight),
  seen: one.seen === other.seen ? one.seen : [...new Set([...one.seen, ...other.seen])],
});

const fullNameOf = (edge: Edge): string =>
  edge.renaming ? `${nameOf(edge, null)} ${[...edge.renaming].join()}` : nameOf(edge, null);

const nameOf = ({ to, uses, without }: Edge, pairs: readonly number[] | null): string => {
  if (uses.length + without.length === 0) return `${to}`;
  const named = (numbers: readonly number[]): string =>
    numbers
      .map((pair) => pairs?.[pair] ?? pair)
      .sort((one, other) => one - other)
      .join();
  return `${to} ${named(uses)} ${named(without)}`;
};

/** Edges as a text, with pairs by other names if some are given. Which of several that are alike a node is called makes no difference. */
export const inOrder = (edges: readonly Edge[], pairs: readonly number[] | null = null): string =>
  joined(edges, (edge) => nameOf(edge, pairs))
    .map((edge) => {
      const { turns, calls, requests } = edge.weight;
      return `${nameOf(edge, pairs)}:${turns}/${calls}/${requests}`;
    })
    .sort()
    .join(' ');
