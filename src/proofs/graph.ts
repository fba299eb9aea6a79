import { type Renaming, renamedAgent } from './alike-nodes.ts';
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
  | { readonly kind: 'decides'; readonly option: string | null }
);

/** From one state to another. */
export interface Edge {
  readonly to: number;
  readonly weight: Weight;
  readonly steps: readonly WayStep[];
  /** Of which pairs of nodes, by number, a round is left before it and used by it; and which have none left. */
  readonly uses: readonly number[];
  readonly without: readonly number[];
  /** Whether a person decides. */
  readonly isDecision: boolean;
  /** In which states of which machines actors come to rest. */
  readonly seen: readonly string[];
  /** What the nodes of a tree are called from there on, if others than before. */
  readonly renaming: Renaming | null;
}

/** States with their edges, and how many rounds each pair of nodes may have on one way. */
export interface Graph {
  readonly edges: readonly (readonly Edge[])[];
  readonly pairs: number;
  /** The numbers of pairs by what they are called from there on. */
  readonly renamedPairs: (renaming: Renaming) => readonly number[];
  readonly roundsMax: number;
}

/** What the longest ways take. */
export interface Bound {
  readonly turns: number;
  readonly calls: number;
  readonly requests: number;
  readonly feedbacks: number;
  readonly callsByAgent: Readonly<Record<string, number>>;
  /** By the prices of agents. */
  readonly costUsd: number;
}

/** A way into something that repeats, and once around it. */
export interface Cycle {
  readonly prefix: readonly WayStep[];
  readonly cycle: readonly WayStep[];
}

/** All that can be got to from the first state. */
export interface Walked {
  /** What can repeat without a person, if anything does: then there is no bound. */
  readonly cycle: Cycle | null;
  /** From the start to where it ends or waits; and from a decision to where it ends or waits for the next. */
  readonly first: Bound;
  readonly between: Bound;
  readonly states: ReadonlySet<number>;
  readonly edges: ReadonlySet<Edge>;
}

export type Prices = Readonly<Record<string, number>>;

/** Walks from the first state, with all rounds, and on from each decision of a person if these count. */
export const walk = (graph: Graph, prices: Prices = {}): Walked => {
  const found = new Walk(graph);
  const cycle = found.cycle();
  const agents = agentsIn(found.edges);
  const byAgent = cycle ? NO_CALLS : found.callsByAgent(agents);
  const boundFrom = (begins: 'start' | 'decisions'): Bound => {
    const most = (weigh: (weight: Weight) => number): number => (cycle ? 0 : found.most(weigh)[begins]);
    return {
      turns: most(({ turns }) => turns),
      calls: most(({ calls }) => calls),
      requests: most(({ requests }) => requests),
      feedbacks: most(({ feedbacks }) => feedbacks),
      callsByAgent: cycle ? Object.fromEntries(agents.map((name) => [name, 0])) : byAgent[begins],
      costUsd: most(({ callsByAgent }) => costOf(callsByAgent, prices)),
    };
  };
  return {
    cycle,
    first: boundFrom('start'),
    between: boundFrom('decisions'),
    // A walk that has found a cycle has not been everywhere.
    states: cycle ? new Set(graph.edges.keys()) : found.states,
    edges: cycle ? new Set(graph.edges.flat()) : found.edges,
  };
};

const NO_CALLS = { start: {}, decisions: {} };

/** All that are called, and all whose names they may have. */
const agentsIn = (edges: Iterable<Edge>): readonly string[] => {
  const agents = new Set<string>();
  const renamings = new Set<Renaming>();
  for (const { weight, renaming } of edges) {
    for (const agent of Object.keys(weight.callsByAgent)) agents.add(agent);
    if (renaming) renamings.add(renaming);
  }
  // What is added is looked at, too.
  for (const agent of agents) for (const renaming of renamings) agents.add(renamedAgent(renaming, agent));
  return [...agents].sort();
};

const costOf = (calls: Readonly<Record<string, number>>, prices: Prices): number => {
  let cost = 0;
  for (const agent of Object.keys(calls)) cost += (calls[agent] ?? 0) * (prices[agent] ?? 0);
  return cost;
};

/** Where a way is: in a state, with so many rounds left for each pair. All as one number. */
const leaves = ({
  roundsMax,
  pairs,
  edges,
  renamedPairs,
}: Graph): { readonly first: number; readonly next: (at: number, edge: Edge) => number } => {
  const size = edges.length;
  const base = roundsMax + 1;
  const powers = Array.from({ length: pairs }, (_, pair) => base ** pair);
  const leftOf = (vector: number, pair: number): number => Math.floor(vector / (powers[pair] ?? 1)) % base;
  const known = new Map<Renaming, Map<number, number>>();
  /** What is left, by the new names. */
  const renamed = (vector: number, renaming: Renaming): number => {
    const vectors = known.get(renaming) ?? new Map<number, number>();
    known.set(renaming, vectors);
    const found = vectors.get(vector);
    if (found !== undefined) return found;
    let result = 0;
    for (const [pair, as] of renamedPairs(renaming).entries())
      result += leftOf(vector, pair) * (powers[as] ?? 0);
    vectors.set(vector, result);
    return result;
  };
  return {
    first: (base ** pairs - 1) * size,
    next: (at, { to, uses, without, renaming }) => {
      let vector = Math.floor(at / size);
      for (const pair of without) if (leftOf(vector, pair) > 0) return NOWHERE;
      for (const pair of uses) {
        if (leftOf(vector, pair) === 0) return NOWHERE;
        vector -= powers[pair] ?? 0;
      }
      if (renaming) vector = renamed(vector, renaming);
      return vector * size + to;
    },
  };
};

/** Through all places that can be got to. Not recursive: a way may be longer than a stack is deep. */
class Walk {
  readonly states = new Set<number>();
  readonly edges = new Set<Edge>();
  readonly #edges: Graph['edges'];
  readonly #first: number;
  readonly #next: (at: number, edge: Edge) => number;
  /** Where each place is in the order; `ON_THE_WAY` before. */
  readonly #known = new Map<number, number>();
  /** All places, each after those that it leads to. */
  readonly #order: number[] = [];
  /** How each place was got to first. */
  readonly #origins = new Map<number, { readonly from: number; readonly edge: Edge }>();
  readonly #decided = new Set<number>();

  constructor(graph: Graph) {
    const { first, next } = leaves(graph);
    this.#edges = graph.edges;
    this.#first = first;
    this.#next = next;
  }

  cycle(): Cycle | null {
    const begins = [this.#first];
    for (const begin of begins) {
      if (this.#known.has(begin)) continue;
      const cycle = this.#walkFrom(begin, begins);
      if (cycle) return cycle;
    }
    return null;
  }

  #walkFrom(begin: number, begins: number[]): Cycle | undefined {
    const way: { readonly at: number; next: number }[] = [{ at: begin, next: 0 }];
    this.#enter(begin);
    for (let frame = way.at(-1); frame; frame = way.at(-1)) {
      const { at } = frame;
      const edge = this.#edges[at % this.#edges.length]?.[frame.next];
      frame.next += 1;
      if (!edge) {
        this.#known.set(at, this.#order.length);
        this.#order.push(at);
        way.pop();
        continue;
      }
      const to = this.#next(at, edge);
      if (to === NOWHERE) continue;
      this.edges.add(edge);
      const place = this.#known.get(to);
      if (place === undefined && !this.#origins.has(to)) this.#origins.set(to, { from: at, edge });
      if (edge.isDecision) {
        this.#decided.add(to);
        begins.push(to);
      } else if (place === ON_THE_WAY) {
        return { prefix: this.#wayTo(to), cycle: [...this.#wayTo(at, to), ...edge.steps] };
      } else if (place === undefined) {
        this.#enter(to);
        // Known by where it is on this way, and not by where a decision would have led.
        this.#origins.set(to, { from: at, edge });
        way.push({ at: to, next: 0 });
      }
    }
    return undefined;
  }

  #enter(at: number): void {
    this.#known.set(at, ON_THE_WAY);
    this.states.add(at % this.#edges.length);
  }

  /** The steps from one place, or from the start, to another. */
  #wayTo(to: number, from = this.#first): readonly WayStep[] {
    const parts: (readonly WayStep[])[] = [];
    for (let at = to; at !== from; ) {
      const origin = this.#origins.get(at);
      if (!origin) break;
      parts.unshift(origin.edge.steps);
      at = origin.from;
    }
    return parts.flat();
  }

  /** The most that any way takes, from the start and from any decision. */
  most(weigh: (weight: Weight) => number): { readonly start: number; readonly decisions: number } {
    const best = new Float64Array(this.#order.length);
    const bestAt = (at: number): number => best[this.#known.get(at) ?? 0] ?? 0;
    for (const [index, at] of this.#order.entries()) {
      let greatest = 0;
      for (const edge of this.#edges[at % this.#edges.length] ?? []) {
        const to = edge.isDecision ? NOWHERE : this.#next(at, edge);
        if (to !== NOWHERE) greatest = Math.max(greatest, weigh(edge.weight) + bestAt(to));
      }
      best[index] = greatest;
    }
    let decisions = 0;
    for (const at of this.#decided) decisions = Math.max(decisions, bestAt(at));
    return { start: bestAt(this.#first), decisions };
  }

  /** The most calls of each agent on any way, whatever it is called on the way. */
  callsByAgent(agents: readonly string[]): Record<'start' | 'decisions', Readonly<Record<string, number>>> {
    const count = agents.length;
    const numbers = new Map(agents.map((agent, index) => [agent, index]));
    const best = new Float64Array(this.#order.length * count);
    const bestAt = (at: number, agent: number): number =>
      best[(this.#known.get(at) ?? 0) * count + agent] ?? 0;
    for (const [index, at] of this.#order.entries())
      for (const edge of this.#edges[at % this.#edges.length] ?? []) {
        const to = edge.isDecision ? NOWHERE : this.#next(at, edge);
        if (to === NOWHERE) continue;
        for (const [agent, name] of agents.entries()) {
          const as = edge.renaming ? (numbers.get(renamedAgent(edge.renaming, name)) ?? agent) : agent;
          const taken = (edge.weight.callsByAgent[name] ?? 0) + bestAt(to, as);
          best[index * count + agent] = Math.max(best[index * count + agent] ?? 0, taken);
        }
      }
    const from = (places: Iterable<number>): Readonly<Record<string, number>> => {
      const most = agents.map(() => 0);
      for (const at of places)
        for (const agent of agents.keys()) most[agent] = Math.max(most[agent] ?? 0, bestAt(at, agent));
      return Object.fromEntries(agents.map((name, agent) => [name, most[agent] ?? 0]));
    };
    return { start: from([this.#first]), decisions: from(this.#decided) };
  }
}

const ON_THE_WAY = -1;
const NOWHERE = -1;
