import { PRIORITIES, type Priority } from '../events/tree-feedback.ts';

/** How many places each array of a trie has: what a step of the queue copies at most, for each level. */
const WIDTH = 32;

type Trie<Item> = readonly (Trie<Item> | Item | null)[];

/**
 * First in, first out. Never changed in place, and shares all but a few short arrays with the queue that it was made of: a
 * step costs the same however long the queue is. (A list that is copied for each item would cost more with every one.)
 * It is JSON, since it lives in the context of a machine. Items are objects.
 */
export interface Fifo<Item> {
  /** Place of the first item. */
  readonly head: number;
  readonly size: number;
  readonly levels: number;
  readonly root: Trie<Item>;
}

const EMPTY = { head: 0, size: 0, levels: 1, root: [] } as const;

const push = <Item extends object>(queue: Fifo<Item>, item: Item): Fifo<Item> => {
  const index = queue.head + queue.size;
  const isFull = index >= WIDTH ** queue.levels;
  const levels = queue.levels + (isFull ? 1 : 0);
  const root: Trie<Item> = isFull ? [queue.root] : queue.root;
  return { ...queue, levels, root: replaced(root, levels, { index, item }), size: queue.size + 1 };
};

/** The first item, and the queue without it. */
const shift = <Item extends object>(
  queue: Fifo<Item>,
): { readonly item: Item; readonly rest: Fifo<Item> } | undefined => {
  if (queue.size === 0) return undefined;
  const { head, levels } = queue;
  const item = found(queue.root, levels, head);
  if (queue.size === 1) return { item, rest: EMPTY };
  const root = replaced(queue.root, levels, { index: head, item: null });
  return { item, rest: { ...queue, root, head: head + 1, size: queue.size - 1 } };
};

const found = <Item extends object>(trie: Trie<Item>, level: number, index: number): Item => {
  const span = WIDTH ** (level - 1);
  const next = trie[Math.floor(index / span) % WIDTH];
  // Levels above the first hold tries, the first holds items: `push` puts them there.
  return level === 1 ? (next as Item) : found(next as Trie<Item>, level - 1, index);
};

const replaced = <Item extends object>(
  trie: Trie<Item>,
  level: number,
  { index, item }: { readonly index: number; readonly item: Item | null },
): Trie<Item> => {
  const span = WIDTH ** (level - 1);
  const place = Math.floor(index / span) % WIDTH;
  const next = [...trie];
  // What comes first goes first: when the last place below is emptied, all of it is.
  const isEmptied = item === null && index % span === span - 1;
  if (level === 1) next[place] = item;
  else if (isEmptied) next[place] = null;
  else next[place] = replaced((trie[place] ?? []) as Trie<Item>, level - 1, { index, item });
  return next;
};

/** By priority, then first come. */
export type PriorityQueue<Item> = Readonly<Record<Priority, Fifo<Item>>>;

export const EMPTY_QUEUE = {
  critical: EMPTY,
  high: EMPTY,
  medium: EMPTY,
  low: EMPTY,
} as const;

export const enqueue = <Item extends object>(
  queue: PriorityQueue<Item>,
  priority: Priority,
  item: Item,
): PriorityQueue<Item> => ({ ...queue, [priority]: push(queue[priority], item) });

/** The first item of the highest priority there is, and the queue without it. */
export const dequeue = <Item extends object>(
  queue: PriorityQueue<Item>,
): { readonly item: Item; readonly rest: PriorityQueue<Item> } | undefined => {
  for (const priority of PRIORITIES) {
    const first = shift(queue[priority]);
    if (first) return { item: first.item, rest: { ...queue, [priority]: first.rest } };
  }
  return undefined;
};

export const queueSize = (queue: PriorityQueue<object>): number =>
  PRIORITIES.reduce((size, priority) => size + queue[priority].size, 0);

/** All items in order: costs as much as there are. */
export const queueItems = <Item extends object>(queue: PriorityQueue<Item>): readonly Item[] => {
  const items: Item[] = [];
  for (let first = dequeue(queue); first; first = dequeue(first.rest)) items.push(first.item);
  return items;
};
