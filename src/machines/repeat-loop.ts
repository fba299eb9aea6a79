import { enqueueActions, setup } from 'xstate';
import { RuntimeError } from '../errors.ts';
import { delivery } from '../events/delivery.ts';
import type { Json } from '../events/json.ts';
import type { Verdict } from '../events/turn.ts';
import { addSpent, NOTHING_SPENT, type Spent } from '../events/usage.ts';
import { startActor, WAITING_TAG } from '../events/vocabulary.ts';
import { AGENT } from './agent-machine.ts';
import {
  AGENT_DEFAULTS,
  type AgentReply,
  type AgentSettings,
  NO_BUDGET,
  type WorkRequest,
} from './agent-work.ts';
import { budgetLeft, fixLimits, type GivenLimits, type Limits, type MetLimit, metLimit } from './limits.ts';
import { finalsThat, tellsParent } from './loop-ends.ts';
import { isFromParent, type StepInputs, tellEnd, tellWaits } from './nested.ts';
import { checkedSettings, type RoleOptions } from './plan-run.ts';
import { type QuestionOutput, questionMachine } from './question-machine.ts';
import { isContinuing, morePasses, questionFor, raised, verdictOf } from './run-decisions.ts';
import { haltOf } from './run-halts.ts';
import { agentId, type RunMessage } from './run-messages.ts';
import { apply, paused, resumed } from './run-pauses.ts';
import type { Halt } from './run-state.ts';
import { saysDone } from './tight-results.ts';
import { type Workflow, type WorkflowOptions, workflow } from './workflow.ts';

/** What the agent of a repeat loop is given as its input. */
export interface RepeatInput {
  readonly task: Json;
  readonly repeat: number;
  /** What it answered last; null at first. */
  readonly last: Json;
}

export interface RepeatState extends StepInputs {
  readonly task: Json;
  readonly limits: Limits;
  readonly onLimit: 'ask' | 'stop';
  readonly role: AgentSettings;
  readonly repeat: number;
  /** Counts requests: one that a person has tried again is another one. */
  readonly requests: number;
  readonly last: Json;
  readonly isDone: boolean;
  readonly spent: Spent;
  readonly halt: Halt | null;
  /** Of a step of a plan that was paused with its parent. */
  readonly pauseReasons?: readonly string[];
}

type RepeatStart = Pick<RepeatState, 'task' | 'limits' | 'onLimit' | 'role' | 'cap'>;

type RepeatEvent =
  | AgentReply
  /** Of the parent, if it is a step of a plan. */
  | { type: 'run.pause'; reason: string }
  | { type: 'run.resume'; reason: string }
  | { type: 'run.cancel' };

/** What a repeat loop gives at its end. */
export interface RepeatOutput {
  readonly verdict: Verdict;
  readonly output: Json;
  readonly repeats: number;
  readonly reason: string | null;
  readonly limit: MetLimit | null;
  readonly spent: Spent;
}

const idOf = ({ requests }: Pick<RepeatState, 'requests'>): string => `repeat.${requests}`;

const requestOf = ({ task, repeat, requests, last, limits, spent }: RepeatState): WorkRequest => ({
  id: idOf({ requests }),
  input: { task, repeat, last },
  feedback: [],
  history: [],
  context: null,
  budget: budgetLeft(limits, spent),
});

/** What a reply changes: the agent is done, is called again, or has met a limit. */
const taken = (state: RepeatState, reply: AgentReply): RepeatState => {
  const heard = { ...state, spent: addSpent(state.spent, reply.spent) };
  if (reply.type === 'agent.failed') {
    const used = reply.failure.code === NO_BUDGET.code ? budgetMet(heard) : undefined;
    if (used) return { ...heard, halt: haltOf(used, null) };
    const reason = `The agent failed: ${reply.failure.message}`;
    return { ...heard, halt: { verdict: 'failed', met: null, step: state.role.role, reason } };
  }
  const { output } = reply.answer;
  if (saysDone(reply.answer)) return { ...heard, last: output, isDone: true };
  const met =
    metLimit(heard.limits, { repeats: { used: state.repeat, evidence: [state.role.role] } }) ??
    budgetMet(heard);
  return { ...heard, last: output, repeat: state.repeat + 1, halt: met ? haltOf(met, null) : null };
};

const budgetMet = ({ limits, spent }: RepeatState): MetLimit | undefined =>
  metLimit(limits, {
    calls: { used: spent.calls },
    costUsd: { used: spent.costUsd },
    tokens: { used: spent.tokens },
  });

/** Its agent is there from the beginning. */
const pausing = ({ role, pauseReasons = [] }: RepeatState, rule: typeof paused, reason: string) => {
  const { state, messages } = rule({ pauseReasons, started: [role.role] }, reason);
  return { state: { pauseReasons: state.pauseReasons }, messages };
};

const { verified, accepted, exhausted, cancelled, failed } = finalsThat('tellParent');

export const repeatMachine = setup({
  types: {
    context: {} as RepeatState,
    input: {} as RepeatStart,
    events: {} as RepeatEvent,
    emitted: {} as RunMessage,
    output: {} as RepeatOutput,
    tags: {} as typeof WAITING_TAG,
  },
  actors: { question: questionMachine },
  actions: {
    begin: enqueueActions(({ context, enqueue }) => {
      const { role } = context;
      enqueue.emit(startActor({ id: agentId(role.role), machine: AGENT, input: role as unknown as Json }));
    }),
    ask: enqueueActions(({ context, enqueue }) => {
      const next = { ...context, requests: context.requests + 1 };
      const request = requestOf(next) as unknown as Json;
      enqueue.assign({ requests: next.requests });
      enqueue.emit({ type: 'agent.request', to: `./${agentId(context.role.role)}`, request });
    }),
    take: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'agent.done' || event.type === 'agent.failed') enqueue.assign(taken(context, event));
    }),
    pause: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.pause') apply(enqueue, pausing(context, paused, event.reason));
    }),
    resume: enqueueActions(({ context, event, enqueue }) => {
      if (event.type === 'run.resume') apply(enqueue, pausing(context, resumed, event.reason));
    }),
    tellParent: enqueueActions(({ context, enqueue }, verdict: Verdict) => {
      const { last, spent, halt, role } = context;
      const outputs = { [role.role]: last };
      tellEnd(enqueue, context, { verdict, outputs, spent, reason: halt?.reason ?? null });
    }),
    tellWaits: enqueueActions(({ context, enqueue }, waits: boolean) => {
      tellWaits(enqueue, context, waits);
    }),
    goOn: enqueueActions(({ context, enqueue }, said: QuestionOutput) => {
      const value = said.outcome === 'answered' ? said.value : null;
      const more = morePasses(value);
      const limits = raised(context, context.halt, { more, value });
      const isRepeats = context.halt?.met?.limit === 'repeats';
      enqueue.assign({
        halt: null,
        limits: isRepeats ? { ...limits, repeats: context.repeat - 1 + more } : limits,
      });
    }),
  },
  guards: {
    isFromParent: ({ context }) => isFromParent(context),
    isAwaited: ({ context: { role, requests }, event }) =>
      (event.type === 'agent.done' || event.type === 'agent.failed') &&
      event.request === idOf({ requests }) &&
      delivery().from === `${delivery().self}/${agentId(role.role)}`,
    isDone: ({ context }) => context.isDone,
    asks: ({ context }) => context.halt !== null && context.onLimit === 'ask',
    isHalted: ({ context }) => context.halt !== null,
    isHaltedAs: ({ context }, verdict: Verdict) => context.halt?.verdict === verdict,
    goesOn: (_, said: QuestionOutput) => isContinuing(said),
    ends: ({ context }, { said, verdict }: { said: QuestionOutput; verdict: Verdict }) =>
      verdictOf(context, said) === verdict,
  },
}).createMachine({
  id: 'repeat',
  context: ({ input }) => ({
    ...input,
    repeat: 1,
    requests: 0,
    last: null,
    isDone: false,
    spent: NOTHING_SPENT,
    halt: null,
  }),
  entry: 'begin',
  initial: 'working',
  on: {
    'run.pause': { guard: 'isFromParent', actions: 'pause' },
    'run.resume': { guard: 'isFromParent', actions: 'resume' },
    'run.cancel': { guard: 'isFromParent', target: '.cancelled' },
  },
  states: {
    working: {
      entry: 'ask',
      on: {
        'agent.done': { guard: 'isAwaited', target: 'deciding', actions: 'take' },
        'agent.failed': { guard: 'isAwaited', target: 'deciding', actions: 'take' },
      },
    },
    deciding: {
      always: [
        { guard: 'isDone', target: 'verified' },
        { guard: 'asks', target: 'asking' },
        { guard: 'isHalted', target: 'stopping' },
        { target: 'working' },
      ],
    },
    asking: {
      tags: WAITING_TAG,
      ...tellsParent,
      invoke: {
        id: 'question',
        src: 'question',
        input: ({ context }) =>
          questionFor({
            halt: context.halt,
            questionLevels: [{ to: null, expiresMs: null }],
            onExpiry: 'stop',
            issues: {},
          }),
        onDone: [
          {
            guard: { type: 'goesOn', params: ({ event }) => event.output },
            target: 'working',
            actions: { type: 'goOn', params: ({ event }) => event.output },
          },
          {
            guard: { type: 'ends', params: ({ event }) => ({ said: event.output, verdict: 'accepted' }) },
            target: 'accepted',
          },
          {
            guard: { type: 'ends', params: ({ event }) => ({ said: event.output, verdict: 'cancelled' }) },
            target: 'cancelled',
          },
          { target: 'stopping' },
        ],
        onError: 'stopping',
      },
    },
    stopping: {
      always: [
        { guard: { type: 'isHaltedAs', params: 'exhausted' }, target: 'exhausted' },
        { target: 'failed' },
      ],
    },
    verified,
    accepted,
    exhausted,
    cancelled,
    failed,
  },
  output: ({ context, event }) => ({
    // The output of the final state that was reached.
    verdict: event.output as Verdict,
    output: context.last,
    repeats: context.isDone ? context.repeat : context.repeat - 1,
    reason: context.halt?.reason ?? null,
    limit: context.halt?.met ?? null,
    spent: context.spent,
  }),
});

export interface RepeatLoopOptions<Role extends string>
  extends Pick<WorkflowOptions<typeof repeatMachine>, 'version' | 'turnsMax'> {
  readonly agent: Role;
  /** How often the agent is called at most; 10 unless set. */
  readonly maxRepeats?: number;
  readonly limits?: GivenLimits;
  readonly onLimit?: 'ask' | 'stop';
  readonly role?: RoleOptions;
}

export type RepeatLoop<Name extends string, Role extends string> = Workflow<
  Name,
  typeof repeatMachine,
  { readonly given: Json; readonly roles: Role; readonly stepInput: RepeatInput }
>;

/**
 * Declares a loop inside one task: the same agent again, with what it answered last, until it says that it is done
 * (`{ done: true }`, or the word DONE or TASK_COMPLETE in a text).
 *
 * @throws {RuntimeError} BAD_OPTION
 */
export const repeatLoop = <const Name extends string, const Role extends string>(
  name: Name,
  { agent, maxRepeats, limits, onLimit = 'ask', role, version, turnsMax }: RepeatLoopOptions<Role>,
): RepeatLoop<Name, Role> => {
  if (limits?.timeMs != null)
    throw new RuntimeError('BAD_OPTION', {
      option: 'limits.timeMs',
      found: String(limits.timeMs),
      expected: 'nothing: set role.timeLimitMs, which bounds each call, and maxRepeats',
    });
  const fixed: Omit<RepeatStart, 'task'> = {
    limits: fixLimits({ ...(maxRepeats !== undefined && { repeats: maxRepeats }), ...limits }),
    onLimit,
    role: checkedSettings({ role: agent, ...AGENT_DEFAULTS, ...role }),
  };
  return workflow(name, repeatMachine, {
    ...(version !== undefined && { version }),
    ...(turnsMax !== undefined && { turnsMax }),
    asStep: fixed,
    // The door refuses a task that is not JSON.
    prepare: (task) => ({ task: (task ?? null) as Json, ...fixed }),
  }) as unknown as RepeatLoop<Name, Role>;
};
