import { assign, enqueueActions, setup } from 'xstate';
import { delivery } from '../events/delivery.ts';
import type { KnownTree } from './coordinator-checks.ts';
import { type NodeEnd, nodeEnded, reported, type Submitted, submit, take } from './coordinator-rules.ts';
import type { CoordinatorInput, CoordinatorState } from './coordinator-state.ts';
import { changeTree, restored } from './coordinator-tree.ts';
import type { FixReport } from './fix-verify-machine.ts';
import { type RunMessage } from './run-messages.ts';
import { apply } from './run-pauses.ts';
import { workflow } from './workflow.ts';

export type CoordinatorEvent =
  | ({ type: 'feedback.submit' } & Submitted)
  | { type: 'feedback.take'; node: string; execution: string }
  | ({ type: 'node.ended' } & NodeEnd)
  | { type: 'tree.set'; tree: KnownTree }
  | FixReport;

/** A fix-verify actor may speak for the feedback that it was started for only. */
const isOwn = ({ open, slots }: CoordinatorState, { id }: FixReport): boolean => {
  const { self, from } = delivery();
  const slot = open[id]?.slot;
  if (slot == null || slots[slot] !== id) return false;
  // One that is started anew has another number behind its address.
  return from === `${self}/${slot}` || from?.startsWith(`${self}/${slot}~`) === true;
};

const reports = [
  { guard: 'isOwn', actions: 'report' },
  { guard: 'isVoid', actions: 'leaveIt' },
] as const;

/**
 * Takes in feedback, checks it, queues it by priority, hands it out once, and counts rounds. What runs when is decided by the
 * run itself: the coordinator knows nodes by their places in the tree only.
 */
const coordinatorMachine = setup({
  types: {
    context: {} as CoordinatorState,
    input: {} as CoordinatorInput,
    events: {} as CoordinatorEvent,
    emitted: {} as RunMessage,
  },
  actions: {
    begin: enqueueActions(({ context, enqueue }) => {
      apply(enqueue, restored(context));
    }),
    submit: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'feedback.submit') apply(enqueue, submit(context, event));
    }),
    take: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'feedback.take') apply(enqueue, take(context, event.node, event.execution));
    }),
    noteEnd: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'node.ended') apply(enqueue, nodeEnded(context, event));
    }),
    changeTree: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'tree.set') apply(enqueue, changeTree(context, event.tree));
    }),
    /** Taken, although it changes nothing: what nobody takes would be a dead letter. */
    leaveIt: assign(({ context }) => ({ made: context.made })),
    report: enqueueActions(({ context, event, enqueue }) => {
      if (isReport(event)) apply(enqueue, reported(context, event));
    }),
  },
  guards: {
    isFromRun: ({ event }) =>
      !isReport(event) && delivery().from !== null && delivery().from === delivery().parent,
    /** It spoke while the plan made its feedback void: there is nothing left to say. */
    isVoid: ({ context, event }) =>
      isReport(event) &&
      !Object.hasOwn(context.open, event.id) &&
      delivery().from?.startsWith(`${delivery().self}/`) === true,
    isOwn: ({ context, event }) => isReport(event) && isOwn(context, event),
  },
}).createMachine({
  id: 'coordinator',
  context: ({ input: { before, ...input } }) => ({
    ...input,
    waiting: before.waiting,
    made: before.made,
    opened: 0,
    rounds: before.rounds,
    granted: {},
    queues: {},
    open: {},
    slots: {},
  }),
  entry: 'begin',
  initial: 'coordinating',
  states: {
    coordinating: {
      on: {
        'feedback.submit': { guard: 'isFromRun', actions: 'submit' },
        'feedback.take': { guard: 'isFromRun', actions: 'take' },
        'node.ended': { guard: 'isFromRun', actions: 'noteEnd' },
        'tree.set': { guard: 'isFromRun', actions: 'changeTree' },
        'fix.verifying': reports,
        'fix.again': reports,
        'fix.asks': reports,
        'fix.ended': reports,
      },
    },
  },
});

function isReport(event: CoordinatorEvent): event is FixReport {
  return event.type.startsWith('fix.');
}

export const COORDINATOR = 'lw.coordinator';
export const coordinatorActor = workflow(COORDINATOR, coordinatorMachine, {
  counters: {
    rounds: {
      value: ({ opened }) => opened,
      counts: ({ kind, type }) => kind === 'fact' && type === 'feedback.queued',
    },
  },
});
