import fc from 'fast-check';
import {
  type AgentFunction,
  answer,
  phaseRun,
  planRun,
  type RecordedEvent,
  storyLoop,
  treeRun,
  type WhatIfOptions,
  type Workflow,
} from '../../src/index.ts';
import { item, reporting } from './tree-runs.ts';

/** What the agents of a loop do, call by call. */
export type Chances = readonly number[];

export const someChances: fc.Arbitrary<Chances> = fc.array(fc.nat(99), {
  minLength: 17,
  maxLength: 17,
  size: 'max',
});

/** An agent by a number that its table has for its nth call. */
type Work = (chance: number, request: { readonly feedback: readonly unknown[] }) => unknown;

/** A loop whose agents do now this, now that; and a limit of it, with the event at which another bound is felt first. */
export interface RandomLoop {
  readonly workflow: Workflow;
  readonly input: unknown;
  readonly works: Readonly<Record<string, Work>>;
  readonly bounds: readonly number[];
  readonly limits: (bound: number) => NonNullable<WhatIfOptions['limits']>;
  readonly firstUse: (events: readonly RecordedEvent[], bound: number) => RecordedEvent | undefined;
}

/** Agents that look the nth answer up in a table: whoever is asked in the same order says the same. */
export const agentsOf = (
  { works }: Pick<RandomLoop, 'works'>,
  chances: Chances,
): Readonly<Record<string, AgentFunction<never, unknown>>> =>
  Object.fromEntries(
    Object.entries(works).map(([role, work]) => {
      let nth = 0;
      return [
        role,
        (request: { readonly feedback: readonly unknown[] }) => {
          nth += 1;
          return work(chances[(nth * 7 + role.length * 3) % chances.length] ?? 0, request);
        },
      ];
    }),
  );

const makes: Work = (chance) => ({ made: chance });

/** Any words: the same defect is not to come again too soon. */
const fault = (chance: number) =>
  `the ${chance.toString(26).replaceAll(/\d/g, 'q')}${'x'.repeat(chance % 5)} is wrong`;

const ofType = (events: readonly RecordedEvent[], type: string): readonly RecordedEvent[] =>
  events.filter((event) => event.kind === 'fact' && event.type === type);

export const RANDOM_LOOPS: Readonly<Record<string, RandomLoop>> = {
  'feedback between agents': {
    workflow: planRun('p', { steps: [{ id: 'pm' }, { id: 'arch', needs: ['pm'] }] }),
    input: 'task',
    works: {
      pm: makes,
      arch: (chance) =>
        chance % 4 === 0
          ? { design: chance }
          : answer(null, {
              feedback: [
                {
                  type: 'technical_infeasibility',
                  targets: ['pm'],
                  severity: 'high',
                  description: 'no',
                  requirement: `R${chance % 2}`,
                },
              ],
            }),
    },
    bounds: [0, 1, 2],
    limits: (rounds) => ({ rounds }),
    // The round of a subject that is one too many now.
    firstUse: (events, bound) => {
      const sent = ofType(events, 'feedback.sent');
      return sent.find(
        ({ data, position }) =>
          sent.filter((each) => each.position <= position && each.data['requirement'] === data['requirement'])
            .length > bound,
      );
    },
  },
  stories: {
    workflow: storyLoop('p', { mode: 'auto' }),
    input: { stories: [{ id: 'a' }, { id: 'b' }] },
    works: {
      research: makes,
      plan: makes,
      implement: makes,
      'create-pr': makes,
      review: (chance) =>
        chance % 3 === 0
          ? { decision: 'approved', issues: [] }
          : {
              decision: 'rejected',
              issues: [
                {
                  severity: 'critical',
                  category: chance % 2 === 0 ? 'logic' : 'plan',
                  description: fault(chance),
                },
              ],
            },
    },
    bounds: [0, 1, 2],
    limits: (reworks) => ({ reworks }),
    // The review after which a story is not sent back any more.
    firstUse: (events, bound) =>
      ofType(events, 'story.reviewed').find(
        ({ data }) => data['decision'] === 'rejected' && data['iteration'] === bound,
      ),
  },
  phases: {
    workflow: phaseRun('p', {
      phases: [
        { id: 'planning' },
        { id: 'design', needs: ['planning'] },
        { id: 'look', needs: ['planning', 'design'], kind: 'review' },
      ],
    }),
    input: 'task',
    works: {
      planning: makes,
      design: makes,
      look: (chance) =>
        chance % 3 === 0
          ? 'PASS'
          : {
              assessment: 'FAIL',
              issues: [
                {
                  severity: 'critical',
                  category: 'logic',
                  description: fault(chance),
                  affectedPhases: [chance % 2 === 0 ? 'planning' : 'design'],
                },
              ],
            },
    },
    bounds: [1, 2],
    limits: (passes) => ({ passes }),
    firstUse: (events, bound) => ofType(events, 'correction.opened')[bound - 1],
  },
  'a tree': {
    workflow: treeRun('p', {
      nodes: [{ id: 'a' }, { id: 'b', parent: 'a' }, { id: 'c', parent: 'b' }],
    }),
    input: { task: 'task' },
    works: {
      a: makes,
      b: (chance, { feedback }) =>
        feedback.length > 0 && chance % 3 === 0 ? reporting(item('b', 'a')) : { made: chance },
      c: (chance) =>
        chance % 3 === 0 ? { passed: true } : reporting(item('c', chance % 2 === 0 ? 'a' : 'b')),
    },
    bounds: [1],
    limits: (pairRounds) => ({ pairRounds }),
    // A round that is the last of its pair is told to be.
    firstUse: (events) => ofType(events, 'feedback.queued')[0],
  },
};
