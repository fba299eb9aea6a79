import { enqueueActions, setup } from 'xstate';
import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import { type RunMessage } from './run-messages.ts';
import { isAtLimit } from './story-actions.ts';
import { phasesFrom, type WorkPhase } from './story-phases.ts';
import { type ReviewResult, summaryOfReview } from './story-review.ts';
import {
  type FlagReset,
  flagOf,
  type Iteration,
  isoOf,
  type StoryNote,
  type StoryState,
} from './story-state.ts';
import { workflow } from './workflow.ts';

/** What a rework is made of: the rejected review, the phase at fault, and how far the story is. */
export type ReworkInput = Pick<StoryState, 'key' | 'complete' | 'refinements' | 'work'> & {
  readonly target: WorkPhase;
  readonly max: number | null;
  readonly review: ReviewResult;
};

/** What goes back to the phase at fault. */
export interface Refinement {
  readonly iteration: number;
  readonly max: number | null;
  readonly target: WorkPhase;
  readonly summary: string;
  readonly review: ReviewResult;
  /** What the phases had made. */
  readonly original: StoryState['work'];
}

/** Null in place of a refinement: the breaker was open. */
export interface ReworkOutput {
  readonly refinement: Refinement | null;
  readonly record: Iteration;
  readonly complete: StoryState['complete'];
  readonly resets: readonly FlagReset[];
  readonly notes: readonly StoryNote[];
}

/** What a rework comes to. It is computed once, when the actor starts. */
const reworkOf = (input: ReworkInput, atMs: number): ReworkOutput => {
  const { complete, refinements, max, target, review, work } = input;
  const at = isoOf(atMs);
  const iteration = refinements + 1;
  const summary = summaryOfReview(review);
  const again = phasesFrom(target);
  const flags = again.filter((phase) => complete[phase]).map(flagOf);
  const { issues, feedback, decision } = review;
  return {
    refinement: isAtLimit({ refinements, max })
      ? null
      : { iteration, max, target, summary, review, original: work },
    record: { iteration, agentType: target, startedAt: at, reviewFeedback: summary, result: 'in_progress' },
    complete: { ...complete, ...Object.fromEntries(again.map((phase) => [phase, false])) },
    resets: flags.map((flag) => ({ flag, at, iteration })),
    notes: [
      { kind: 'review', at, summary, decision, issues, feedback },
      { kind: 'refinement', at, iteration, max, target, reset: flags },
    ],
  };
};

export const reworkMachine = setup({
  types: {
    context: {} as ReworkInput & { readonly result: ReworkOutput },
    input: {} as ReworkInput,
    emitted: {} as RunMessage,
    output: {} as ReworkOutput,
  },
  actions: {
    /** Each step of it is a row of its own. */
    tell: enqueueActions(({ context, enqueue }) => {
      const { key: story, result, refinements, max } = context;
      const { refinement, resets } = result;
      if (!refinement) {
        enqueue.emit({ type: 'rework.refused', story, refinements, max });
        return;
      }
      const { iteration, target, summary } = refinement;
      enqueue.emit({ type: 'rework.begun', story, iteration, max, target, summary });
      enqueue.emit({ type: 'rework.recorded', story, record: result.record as unknown as Json });
      enqueue.emit({ type: 'rework.noted', story, iteration });
      for (const { flag } of resets) enqueue.emit({ type: 'rework.reset', story, flag, iteration });
    }),
  },
}).createMachine({
  id: 'rework',
  context: ({ input }) => ({ ...input, result: reworkOf(input, delivery().atMs) }),
  initial: 'done',
  states: { done: { type: 'final', entry: 'tell' } },
  output: ({ context }) => context.result,
});

export const reworkActor = workflow('lw.rework', reworkMachine);
