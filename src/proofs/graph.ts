/** A step from one state to another: what happened, and which agent was called to answer. */
export interface Edge {
  readonly to: number;
  readonly label: string;
  readonly turns: number;
  /** The agent whose attempt this edge ends. */
  readonly agent: string | null;
  /** How many requests to agents were answered, well or ill. */
  readonly replies: number;
}

/** The longest ways through a graph without cycles, or a cycle. */
export type Longest =
  | {
      readonly kind: 'bounded';
      readonly turns: number;
      readonly calls: number;
      readonly requests: number;
      readonly callsByAgent: Readonly<Record<string, number>>;
    }
  | { readonly kind: 'cycle'; readonly prefix: readonly string[]; readonly cycle: readonly string[] };

/** Walks from the first state. Not recursive: a way may be longer than a stack is deep. */
export const longestFrom = (edges: readonly (readonly Edge[])[]): Longest => {
  const order = topological(edges);
  if ('cycle' in order) return { kind: 'cycle', ...order };
  const agents = [...new Set(edges.flat().flatMap(({ agent }) => agent ?? []))];
  const most = (weight: (edge: Edge) => number): number => {
    const best = Array.from(edges, () => 0);
    // Those that others lead to come first.
    for (const state of order.ends) {
      for (const edge of edges[state] ?? [])
        best[state] = Math.max(best[state] ?? 0, weight(edge) + (best[edge.to] ?? 0));
    }
    return best[0] ?? 0;
  };
  return {
    kind: 'bounded',
    turns: most(({ turns }) => turns),
    calls: most(({ agent }) => (agent === null ? 0 : 1)),
    requests: most(({ replies }) => replies),
    callsByAgent: Object.fromEntries(
      agents.map((name) => [name, most(({ agent }) => (agent === name ? 1 : 0))]),
    ),
  };
};

interface Frame {
  readonly state: number;
  next: number;
  readonly label: string;
}

/** All states, each after those that it leads to; or the way into a cycle, and around it. */
const topological = (
  edges: readonly (readonly Edge[])[],
):
  | { readonly ends: readonly number[] }
  | { readonly prefix: readonly string[]; readonly cycle: readonly string[] } => {
  const ends: number[] = [];
  const seen = new Uint8Array(edges.length); // 1: on the way, 2: done
  const way: Frame[] = [{ state: 0, next: 0, label: '' }];
  seen[0] = 1;
  for (let frame = way.at(-1); frame; frame = way.at(-1)) {
    const edge = edges[frame.state]?.[frame.next];
    frame.next += 1;
    if (!edge) {
      seen[frame.state] = 2;
      ends.push(frame.state);
      way.pop();
    } else if (seen[edge.to] === 1) {
      const from = way.findIndex(({ state }) => state === edge.to);
      const labels = [...way.slice(1).map(({ label }) => label), edge.label];
      return { prefix: labels.slice(0, from), cycle: labels.slice(from) };
    } else if (seen[edge.to] === 0) {
      seen[edge.to] = 1;
      way.push({ state: edge.to, next: 0, label: edge.label });
    }
  }
  return { ends };
};
