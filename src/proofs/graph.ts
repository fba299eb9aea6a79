import type { AgentOutcome } from './outcomes.ts';
import type { Weight } from './weight.ts';

/** One thing that happens: what a log of this way would show. */
export type WayStep = { readonly label: string; readonly actor: string } & (
  | { readonly kind: 'begins'; readonly agent: string; readonly call: string }
  | {
      readonly kind: 'answers';
      readonly agent: string;
      readonly call: string;
      readonly outcome: AgentOutcome;
    }
  | { readonly kind: 'fires'; readonly timer: string }
);

/** From one state to another. */
export interface Edge {
  readonly to: number;
  readonly weight: Weight;
  readonly steps: readonly WayStep[];
}

/** The longest ways through a graph without cycles, or a cycle. */
export type Longest =
  | {
      readonly kind: 'bounded';
      readonly turns: number;
      readonly calls: number;
      readonly requests: number;
      readonly feedbacks: number;
      readonly callsByAgent: Readonly<Record<string, number>>;
      /** By the prices of agents. */
      readonly costUsd: number;
    }
  | { readonly kind: 'cycle'; readonly prefix: readonly WayStep[]; readonly cycle: readonly WayStep[] };

export type Prices = Readonly<Record<string, number>>;

/** Walks from the first state. Not recursive: a way may be longer than a stack is deep. */
export const longestFrom = (edges: readonly (readonly Edge[])[], prices: Prices = {}): Longest => {
  const order = topological(edges);
  if ('cycle' in order) return { kind: 'cycle', ...order };
  const agents = new Set<string>();
  for (const some of edges)
    for (const { weight } of some) for (const agent of Object.keys(weight.callsByAgent)) agents.add(agent);
  const most = (weigh: (weight: Weight) => number): number => {
    const best = new Float64Array(edges.length);
    // Those that others lead to come first.
    for (const state of order.ends) {
      let greatest = 0;
      for (const { to, weight } of edges[state] ?? [])
        greatest = Math.max(greatest, weigh(weight) + (best[to] ?? 0));
      best[state] = greatest;
    }
    return best[0] ?? 0;
  };
  return {
    kind: 'bounded',
    turns: most(({ turns }) => turns),
    calls: most(({ calls }) => calls),
    requests: most(({ requests }) => requests),
    feedbacks: most(({ feedbacks }) => feedbacks),
    callsByAgent: Object.fromEntries(
      [...agents].map((name) => [name, most(({ callsByAgent }) => callsByAgent[name] ?? 0)]),
    ),
    costUsd: most(({ callsByAgent }) => costOf(callsByAgent, prices)),
  };
};

const costOf = (calls: Readonly<Record<string, number>>, prices: Prices): number => {
  let cost = 0;
  for (const agent of Object.keys(calls)) cost += (calls[agent] ?? 0) * (prices[agent] ?? 0);
  return cost;
};

interface Frame {
  readonly state: number;
  next: number;
  readonly steps: readonly WayStep[];
}

/** All states, each after those that it leads to; or the way into a cycle, and around it. */
const topological = (
  edges: readonly (readonly Edge[])[],
):
  | { readonly ends: readonly number[] }
  | { readonly prefix: readonly WayStep[]; readonly cycle: readonly WayStep[] } => {
  const ends: number[] = [];
  const seen = new Uint8Array(edges.length); // 1: on the way, 2: done
  const way: Frame[] = [{ state: 0, next: 0, steps: [] }];
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
      const cycle = [...way.slice(from + 1).flatMap(({ steps }) => steps), ...edge.steps];
      return { prefix: way.slice(1, from + 1).flatMap(({ steps }) => steps), cycle };
    } else if (seen[edge.to] === 0) {
      seen[edge.to] = 1;
      way.push({ state: edge.to, next: 0, steps: edge.steps });
    }
  }
  return { ends };
};
