import { agentCall, delivery, type JsonObject, workflow } from 'loopwright';
import { assign, emit, setup } from 'xstate';

/** The chart of the benchmark: a loop that implements, reviews and tests with three agents, each an actor of its own. */

interface Task extends JsonObject {
  readonly goal: string;
  readonly pass: number;
}
export interface Report extends JsonObject {
  readonly ok: boolean;
  readonly text: string;
}

export type AgentEvent = { type: 'TASK'; task: Task } | { type: 'CANCEL' };

const agentMachine = setup({
  types: {
    context: {} as { client: string; task: Task | null; attempts: number },
    events: {} as AgentEvent,
    emitted: {} as { type: 'RESULT'; to: string; report: Report } | { type: 'GAVE_UP'; to: string },
  },
  actors: { work: agentCall<Task | null, Report>() },
  guards: { hasAttemptsLeft: ({ context }) => context.attempts < 3 },
}).createMachine({
  id: 'agent',
  context: { client: '', task: null, attempts: 0 },
  initial: 'idle',
  states: {
    idle: {
      on: {
        TASK: {
          target: 'working',
          actions: assign({
            client: () => delivery().from ?? '',
            task: ({ event }) => event.task,
            attempts: 1,
          }),
        },
      },
    },
    working: {
      invoke: {
        id: 'work',
        src: 'work',
        input: ({ context }) => context.task,
        onDone: {
          target: 'idle',
          actions: emit(({ context, event }) => ({
            type: 'RESULT',
            to: context.client,
            report: event.output,
          })),
        },
        onError: [
          {
            guard: 'hasAttemptsLeft',
            target: 'waiting',
            actions: assign({ attempts: ({ context }) => context.attempts + 1 }),
          },
          { target: 'idle', actions: emit(({ context }) => ({ type: 'GAVE_UP', to: context.client })) },
        ],
      },
      on: { CANCEL: 'idle' },
    },
    waiting: { after: { 1_000: 'working' } },
  },
});

interface LoopContext {
  readonly goal: string;
  readonly pass: number;
  readonly passesMax: number;
  readonly failures: number;
}

export type LoopEvent = { type: 'RESULT'; report: Report } | { type: 'GAVE_UP' } | { type: 'CANCEL' };

const loopMachine = setup({
  types: {
    context: {} as LoopContext,
    events: {} as LoopEvent,
    input: {} as { goal: string; passesMax: number },
    emitted: {} as { type: 'TASK'; to: string; task: Task },
    output: {} as { verdict: 'verified' | 'exhausted' | 'failed'; passes: number },
  },
  actors: { agent: agentMachine },
  actions: {
    ask: emit(({ context }, { role }: { role: 'developer' | 'reviewer' | 'tester' }) => ({
      type: 'TASK',
      to: `./${role}`,
      task: { goal: context.goal, pass: context.pass },
    })),
  },
  guards: {
    isOk: ({ event }) => event.type === 'RESULT' && event.report.ok,
    hasPassesLeft: ({ context }) => context.pass < context.passesMax,
  },
}).createMachine({
  id: 'loop',
  context: ({ input }) => ({ goal: input.goal, passesMax: input.passesMax, pass: 1, failures: 0 }),
  invoke: [
    { id: 'developer', src: 'agent' },
    { id: 'reviewer', src: 'agent' },
    { id: 'tester', src: 'agent' },
  ],
  initial: 'implementing',
  on: { GAVE_UP: '.failed' },
  states: {
    implementing: { entry: { type: 'ask', params: { role: 'developer' } }, on: { RESULT: 'reviewing' } },
    reviewing: {
      entry: { type: 'ask', params: { role: 'reviewer' } },
      on: { RESULT: [{ guard: 'isOk', target: 'testing' }, { target: 'deciding' }] },
    },
    testing: {
      entry: { type: 'ask', params: { role: 'tester' } },
      on: { RESULT: [{ guard: 'isOk', target: 'verified' }, { target: 'deciding' }] },
    },
    deciding: {
      entry: assign({ failures: ({ context }) => context.failures + 1 }),
      always: [
        {
          guard: 'hasPassesLeft',
          target: 'implementing',
          actions: assign({ pass: ({ context }) => context.pass + 1 }),
        },
        { target: 'exhausted' },
      ],
    },
    verified: { type: 'final', output: 'verified' },
    exhausted: { type: 'final', output: 'exhausted' },
    failed: { type: 'final', output: 'failed' },
  },
  output: ({ context, event }) => ({ verdict: event.output as 'verified', passes: context.pass }),
});

export const machines = { loop: loopMachine, agent: agentMachine };
export const workflows = [workflow('loop', loopMachine), workflow('agent', agentMachine)] as const;

export const GOAL =
  'Add an export of the report as CSV, with a header row, quoting as RFC 4180 asks for, and a test for each. '.repeat(
    2,
  );

/** What an agent answers in the benchmark: the tests fail in the first passes, as they do in life. */
export const answer = ({ pass }: { readonly pass: number }): Report => ({
  ok: pass >= 3,
  text: `Pass ${pass}: the header row is there; quoting of fields with line breaks is ${pass >= 3 ? 'right' : 'missing'}. `.repeat(
    2,
  ),
});
