import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PRIORITIES, readFeedback } from '../../src/events/tree-feedback.ts';
import type { Json } from '../../src/index.ts';
import { type FeedbackRow, formatFeedback, parseFeedback } from '../../src/index.ts';
import { ancestorsOf, cycleOf, type KnownTree, routeOf } from '../../src/machines/coordinator-checks.ts';
import {
  dequeue,
  EMPTY_QUEUE,
  enqueue,
  type PriorityQueue,
  queueSize,
} from '../../src/machines/coordinator-queue.ts';
import { submit, take } from '../../src/machines/coordinator-rules.ts';
import type { CoordinatorState } from '../../src/machines/coordinator-state.ts';
import { fixLimits } from '../../src/machines/limits.ts';
import { item } from '../support/tree-runs.ts';
import { type Numbered, queueOrder } from './queue-order.ts';

/** What two values do not share: how many places of arrays and objects were made anew. */
const copied = (before: unknown, after: unknown): number => {
  const known = new Set<unknown>();
  const walk = (value: unknown, visit: (object: object) => boolean): void => {
    if (typeof value !== 'object' || value === null || !visit(value)) return;
    for (const child of Object.values(value)) walk(child, visit);
  };
  walk(before, (object) => !known.has(object) && known.add(object).size > 0);
  let places = 0;
  walk(after, (object) => {
    if (known.has(object)) return false;
    places += Object.keys(object).length;
    return true;
  });
  return places;
};

describe('the queue of feedback', () => {
  it('C3: gives what was put in, by priority, then first come', () => {
    fc.assert(queueOrder);
  });

  // Method: what a step costs is what it copies. A list copied for each item would have 10,000 places at the end.
  it('C3: 10,000 that wait keep their order, and each costs the same, however many there are', () => {
    const COUNT = 10_000;
    let queue: PriorityQueue<Numbered> = EMPTY_QUEUE;
    const cost: number[] = [];
    for (let n = 0; n < COUNT; n += 1) {
      const priority = PRIORITIES[(n * 7) % 4] ?? 'low';
      const next = enqueue(queue, priority, { n, priority });
      if (n % 97 === 0) cost.push(copied(queue, next));
      queue = next;
    }
    expect(queueSize(queue)).toBe(COUNT);
    const order: Numbered[] = [];
    for (let first = dequeue(queue); first; first = dequeue(first.rest)) {
      if (order.length % 97 === 0) cost.push(copied(queue, first.rest));
      order.push(first.item);
      queue = first.rest;
    }
    const rank = ({ priority, n }: Numbered) => PRIORITIES.indexOf(priority) * COUNT + n;
    expect(order).toHaveLength(COUNT);
    expect(order.every((each, index) => index === 0 || rank(order[index - 1] ?? each) < rank(each))).toBe(
      true,
    );
    expect(Math.max(...cost)).toBeLessThan(150);
    expect(JSON.stringify(queue)).toBe(JSON.stringify(EMPTY_QUEUE));
  });

  it('C3, C5: nor does the coordinator that takes them in and hands them out cost more', () => {
    const COUNT = 10_000;
    const limits = fixLimits({ pairRounds: COUNT, feedbacks: COUNT });
    const tree: KnownTree = {
      root: { parent: null, plans: false, works: true },
      child: { parent: 'root', plans: false, works: true },
    };
    const start: CoordinatorState = {
      tree,
      limits,
      onLimit: 'ask',
      questionLevels: [],
      onExpiry: 'stop',
      waiting: [],
      made: 0,
      opened: 0,
      rounds: {},
      granted: {},
      queues: {},
      open: {},
      slots: {},
    };
    let state = start;
    const cost: number[] = [];
    const messages: number[] = [];
    for (let n = 0; n < COUNT; n += 1) {
      const items = [item('child', 'root', { priority: PRIORITIES[n % 4] ?? 'low', message: `number ${n}` })];
      const next = submit(state, { node: 'child', items, cause: [], verifies: [] });
      if (n % 997 === 0) cost.push(copied(state, next.state));
      messages.push(next.messages.length);
      state = next.state;
    }
    expect(state).toMatchObject({ made: COUNT, opened: COUNT, rounds: { root: { child: COUNT } } });
    expect(Math.max(...cost)).toBeLessThan(250);
    // One round was the last.
    expect(messages.filter((count) => count === 3)).toHaveLength(COUNT - 1 - (messages.length - COUNT));
    const first = take(state, 'root', 'root.2').messages.at(-1) as unknown as {
      items: { item: { message: string } }[];
    };
    expect(first.items.map((each) => each.item.message)).toEqual(
      Array.from({ length: 10 }, (_, nth) => `number ${nth * 4}`),
    );
  });
});

const someNode = fc.constantFrom('A', 'B', 'C', 'D', 'E');
const someEdges = fc.array(fc.record({ from: someNode, to: someNode }), { maxLength: 12 });

describe('a cycle of feedback', () => {
  // Method: whether one node can be reached from another is also found by joining edges until nothing new comes.
  it('C7: is found in any graph if and only if there is one, and shown', () => {
    fc.assert(
      fc.property(someEdges, fc.record({ from: someNode, to: someNode }), (edges, next) => {
        const reached = new Set([next.to]);
        for (let size = 0; size !== reached.size; ) {
          size = reached.size;
          for (const { from, to } of edges) if (reached.has(from)) reached.add(to);
        }
        const cycle = cycleOf(edges, next);
        expect(cycle !== undefined).toBe(reached.has(next.from));
        if (!cycle) return;
        expect([cycle[0], cycle.at(-1), cycle.at(-2)]).toEqual([next.to, next.to, next.from]);
        const isEdge = (from: string, to: string) =>
          edges.some((edge) => edge.from === from && edge.to === to) ||
          (from === next.from && to === next.to);
        for (let at = 1; at < cycle.length; at += 1)
          expect(isEdge(cycle[at - 1] ?? '', cycle[at] ?? '')).toBe(true);
      }),
      { numRuns: 1_000 },
    );
  });
});

/** A tree in which each node is below one that came before it. */
const someTree: fc.Arbitrary<KnownTree> = fc
  .array(fc.record({ parent: fc.nat(99), plans: fc.boolean(), works: fc.boolean() }), {
    minLength: 1,
    maxLength: 30,
  })
  .map((nodes) =>
    Object.fromEntries(
      nodes.map(({ parent, plans, works }, index) => [
        `n${index}`,
        { parent: index === 0 ? null : `n${parent % index}`, plans, works },
      ]),
    ),
  );

describe('the way of feedback', () => {
  it('C4: leads to an ancestor at any depth, or is refused', () => {
    fc.assert(
      fc.property(
        someTree,
        fc.nat(29),
        fc.nat(29),
        fc.constantFrom('FIX_REQUEST', 'CONTEXT_REQUEST', 'DEPENDENCY_MISSING', 'ARCHITECTURE_ISSUE'),
        (tree, one, other, kind) => {
          const ids = Object.keys(tree);
          const from = ids[one % ids.length] ?? '';
          const to = ids[other % ids.length] ?? '';
          const route = routeOf(tree, { from_node: from, to_node: to, feedback_type: kind });
          const above = ancestorsOf(tree, from);
          if (route.fault !== undefined) return;
          expect(above).toContain(route.to);
          if (kind === 'FIX_REQUEST' || kind === 'CONTEXT_REQUEST') {
            expect(route.to).toBe(to);
            expect(tree[to]?.works).toBe(true);
          } else {
            expect(tree[route.to]?.plans).toBe(true);
            // The nearest: nobody below it that is above both plans.
            const common = above.filter((id) => id === to || ancestorsOf(tree, to).includes(id));
            const nearer = common.slice(0, common.indexOf(route.to));
            expect(nearer.some((id) => tree[id]?.plans)).toBe(false);
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('C4: is never refused for its length alone', () => {
    const ids = Array.from({ length: 500 }, (_, index) => `n${index}`);
    const tree: KnownTree = Object.fromEntries(
      ids.map((id, index) => [
        id,
        { parent: index === 0 ? null : (ids[index - 1] ?? null), plans: false, works: true },
      ]),
    );
    expect(routeOf(tree, { from_node: 'n499', to_node: 'n0', feedback_type: 'FIX_REQUEST' })).toEqual({
      to: 'n0',
    });
  });
});

const someText = fc
  .string({ minLength: 1, maxLength: 30 })
  .filter((text) => text.trim() !== '' && text.isWellFormed());
const someRow: fc.Arbitrary<Omit<FeedbackRow, 'feedback_id'>> = fc.record(
  {
    type: fc.constant('FEEDBACK' as const),
    from_node: fc.constantFrom('a', 'b'),
    to_node: fc.constantFrom('c', 'd'),
    feedback_type: fc.constantFrom(
      'FIX_REQUEST' as const,
      'CONTEXT_REQUEST' as const,
      'DEPENDENCY_MISSING' as const,
      'ARCHITECTURE_ISSUE' as const,
    ),
    message: someText,
    priority: fc.constantFrom(...PRIORITIES),
    suggested_fix: someText,
    suggested_action: someText,
    requested_info: fc.oneof(someText, fc.array(someText, { minLength: 1, maxLength: 3 })),
    artifacts: fc.array(fc.constantFrom('a/b.rb:1', 'c.rb:2-9', 'd.rb'), { maxLength: 3 }),
    timestamp: fc
      .date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString()),
    status: fc.constantFrom('queued' as const, 'delivered' as const, 'resolved' as const, 'failed' as const),
    round: fc.integer({ min: 1, max: 9 }),
    resolved_at: fc.constant('2026-01-21T14:00:00Z'),
    reason: someText,
  },
  {
    requiredKeys: [
      'type',
      'from_node',
      'to_node',
      'feedback_type',
      'message',
      'priority',
      'suggested_fix',
      'suggested_action',
      'requested_info',
      'timestamp',
      'status',
      'round',
    ],
  },
);

describe('feedback files', () => {
  it('C16: what is written is read again, equal, byte for byte', () => {
    fc.assert(
      fc.property(fc.array(someRow, { maxLength: 8 }), (given) => {
        const rows = given.map((row, index) => ({ ...row, feedback_id: `FB-${index + 1}` }));
        const text = formatFeedback(rows);
        const read = parseFeedback(text);
        expect(read.refused).toEqual([]);
        expect(read.rows).toEqual(rows);
        expect(formatFeedback(read.rows)).toBe(text);
      }),
    );
  });

  it('C2, X11: whatever a line holds, it is taken or refused with a reason, and nothing else happens', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const read = readFeedback(value as Json);
        if (read.faults) expect(read.faults.length).toBeGreaterThan(0);
        const { rows, refused } = parseFeedback(`${JSON.stringify(value)}\n`);
        expect(rows.length + refused.length).toBeLessThanOrEqual(1);
      }),
    );
  });

  it('C10, X11: rows of other tools, without ids, are each given one of their own', () => {
    const row = { ...item('a', 'b'), timestamp: '2025-01-21T14:00:00Z', status: 'queued', round: 1 };
    const text = `${JSON.stringify(row)}\n${JSON.stringify({ ...row, feedback_id: 'FB-001' })}\n\n${JSON.stringify(row)}\n`;
    const { rows } = parseFeedback(text);
    expect(rows.map(({ feedback_id: id }) => id)).toEqual(['FB-002', 'FB-001', 'FB-003']);
  });
});
