import type { ActorRecord } from '../actors/actor-record.ts';
import type { Address } from '../events/event.ts';
import { queueItems } from '../machines/coordinator-queue.ts';
import type { CoordinatorState, Entry } from '../machines/coordinator-state.ts';
import type { ExploredSystem } from './explored-system.ts';

const SLOT = /^(.*)\/(fix:[^/]+)(.*)$/;

/** Whether an actor works on a feedback of a tree. */
export const isInSlot = (address: Address): boolean => address.includes('/fix:');

const names = new WeakMap<ActorRecord, ReadonlyMap<string, string>>();

/**
 * Which of its source's actors works on a feedback follows from what came first, and decides nothing: it goes by the two ends of the
 * feedback.
 */
export const slotNameOf = (system: ExploredSystem, address: Address): string => {
  const [, above = '', slot = '', below = ''] = SLOT.exec(address) ?? [];
  const coordinator = system.actor(above);
  if (!coordinator) return address;
  // A child that is started anew has a number in its address.
  const plain = slot.replaceAll(/~\d+/g, '');
  const [tree, rest] = [above, below].map((part) => part.replaceAll(/~\d+/g, ''));
  return `${tree} ${namesOf(coordinator).get(plain) ?? slot}${rest}`;
};

const NOTHING_OPEN = { open: {}, queues: {} };

const namesOf = (coordinator: ActorRecord): ReadonlyMap<string, string> => {
  const known = names.get(coordinator);
  if (known) return known;
  const context: unknown = coordinator.snapshot?.context;
  const { open, queues } = (context ?? NOTHING_OPEN) as Pick<CoordinatorState, 'open' | 'queues'>; // Only coordinators have slots.
  const named = new Map<string, string>();
  const taken = new Set<string>();
  const entries: readonly Entry[] = [...Object.values(open), ...Object.values(queues).flatMap(queueItems)];
  for (const { slot, from, to, stage } of entries) {
    if (slot === null) continue;
    let name = `${from}>${to} ${stage}`;
    // Several between the same two nodes.
    while (taken.has(name)) name = `${name}+`;
    taken.add(name);
    named.set(slot, name);
  }
  names.set(coordinator, named);
  return named;
};
