import { describe, expect, it } from 'vitest';
import { createMachine } from 'xstate';
import {
  type AgentFunction,
  type Comparison,
  type JsonObject,
  type LimitName,
  phaseRun,
  type RecordedEvent,
  type Runtime,
  repeatLoop,
  storyLoop,
  tightLoop,
  treeRun,
  type Workflow,
} from '../../src/index.ts';
import { storyActor } from '../../src/machines/story-machine.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { approveNth, draftPlan, writeNew } from '../support/draft-plan.ts';
import { scripted } from '../support/past-runs.ts';
import { open } from '../support/runtimes.ts';
import { inTurn, item, mends, passes, reporting } from '../support/tree-runs.ts';

type Part = Record<string, unknown>;
type Found = (events: readonly RecordedEvent[]) => RecordedEvent | undefined;

/** A machine as it is declared, with one thing in it changed. Paths go through lists by their index. */
const reshaped = (workflow: Workflow, path: string, change: (part: never) => unknown): Workflow => {
  const walk = (part: unknown, [key, ...rest]: readonly string[]): unknown => {
    if (key === undefined) return change(part as never);
    if (Array.isArray(part))
      return part.map((each, index) => (String(index) === key ? walk(each, rest) : each));
    expect(Object.keys(part as Part)).toContain(key);
    return { ...(part as Part), [key]: walk((part as Part)[key], rest) };
  };
  const config = walk(workflow.machine.config, path.split(' '));
  // It is what a shipped machine was made of, but for one part.
  const machine = createMachine(config as never, workflow.machine.implementations as never);
  return { ...workflow, machine };
};

/** The machine never takes a way that it has taken: the guard that lets it never does. */
const guardFails = (workflow: Workflow, guard: string): Workflow => ({
  ...workflow,
  machine: workflow.machine.provide({ guards: { [guard]: () => false } } as never), // Each has guards of its own names.
});

const otherTarget = (workflow: Workflow, path: string, target: string): Workflow =>
  reshaped(workflow, path, (part: Part) => ({ ...part, target }));

const eventRemoved = (workflow: Workflow, path: string, type: string): Workflow =>
  reshaped(workflow, path, (part: Part) =>
    Object.fromEntries(Object.entries(part).filter(([name]) => name !== type)),
  );

/** Another bound where the machine keeps its limits, whatever it is started with. */
const otherLimit = (workflow: Workflow, limits: JsonObject): Workflow =>
  reshaped(workflow, 'context', (context: (args: unknown) => Part) => (args: unknown) => {
    const held = context(args);
    const settings = held['settings'] as Part | undefined;
    return settings
      ? { ...held, settings: { ...settings, limits: { ...(settings['limits'] as Part), ...limits } } }
      : { ...held, limits: { ...(held['limits'] as Part), ...limits } };
  });

interface Shipped {
  readonly workflow: Workflow;
  readonly input?: unknown;
  readonly agents: () => Readonly<Record<string, AgentFunction<never, unknown>>>;
  /** The limit that has another bound in one of its mutants. */
  readonly limit: LimitName;
  readonly mutants: Readonly<
    Record<string, { readonly machine: Workflow; readonly kind: Comparison['kind']; readonly at: Found }>
  >;
}

/** The first message of a type that the run took; of one sender, if it is named. */
const message =
  (type: string, { from, actor = 'r' }: { readonly from?: string; readonly actor?: string } = {}): Found =>
  (events) =>
    events.find(
      (event) =>
        event.kind === 'message' &&
        event.type === type &&
        event.actor === actor &&
        (from === undefined || event.from === from),
    );
const fact =
  (type: string): Found =>
  (events) =>
    events.find((event) => event.kind === 'fact' && event.type === type);
/** What brought the run into a state. */
const entering =
  (state: string): Found =>
  (events) =>
    events.find((event) => event.actor === 'r' && event.state === state);

const plan = draftPlan({ limits: { passes: 4 } }) as Workflow;
const tight = tightLoop({ name: 'p' }) as Workflow;
const repeats = repeatLoop('p', { agent: 'worker' }) as Workflow;
const phases = phaseRun('p', {
  phases: [{ id: 'design' }, { id: 'look', needs: ['design'], kind: 'review' }],
}) as Workflow;
const tree = treeRun('p', { nodes: [{ id: 'model' }, { id: 'spec', parent: 'model' }] }) as Workflow;
const stories = storyLoop('p', { mode: 'auto' }) as Workflow;
const story = storyActor as Workflow;

const anew = () => {
  let nth = 0;
  return () => ({ made: (nth += 1) });
};
const issue = {
  severity: 'critical',
  category: 'logic',
  description: 'no login',
  affectedPhases: ['design'],
};
const storyAgents = () => ({
  research: anew(),
  plan: anew(),
  implement: anew(),
  'create-pr': anew(),
  review: inTurn(
    () => ({ decision: 'rejected', issues: [issue] }),
    () => ({ decision: 'approved', issues: [] }),
  ),
});

const SHIPPED: Readonly<Record<string, Shipped>> = {
  'a plan': {
    workflow: plan,
    limit: 'passes',
    agents: () => ({ writer: writeNew, critic: approveNth(3) }),
    mutants: {
      guard: { machine: guardFails(plan, 'isComplete'), kind: 'other verdict', at: entering('verified') },
      target: {
        machine: otherTarget(plan, 'on agent.done', '.asking'),
        kind: 'other verdict',
        at: message('agent.done'),
      },
      limit: { machine: otherLimit(plan, { passes: 1 }), kind: 'limit exceeded', at: fact('run.limits') },
      'removed event': {
        machine: eventRemoved(plan, 'on', 'agent.done'),
        kind: 'not handled',
        at: message('agent.done'),
      },
    },
  },
  'a tight loop': {
    workflow: tight,
    limit: 'sameFailure',
    agents: () => scripted({ reviews: [], tests: [0, 3, 3, 0] }).agents,
    mutants: {
      guard: { machine: guardFails(tight, 'isChecked'), kind: 'other verdict', at: entering('testing') },
      target: {
        machine: otherTarget(tight, 'states tested always 3', 'stopped'),
        kind: 'other verdict',
        at: message('agent.done', { from: 'r/agent:tester' }),
      },
      limit: {
        machine: otherLimit(tight, { sameFailure: 1 }),
        kind: 'limit exceeded',
        at: fact('loop.started'),
      },
      'removed event': {
        machine: eventRemoved(tight, 'states testing on', 'agent.done'),
        kind: 'not handled',
        at: message('agent.done', { from: 'r/agent:tester' }),
      },
    },
  },
  'an agent that repeats': {
    workflow: repeats,
    limit: 'repeats',
    agents: () => ({
      worker: inTurn(
        () => ({ done: false }),
        () => ({ done: true }),
      ),
    }),
    mutants: {
      limit: {
        machine: otherLimit(repeats, { repeats: 1 }),
        kind: 'limit exceeded',
        at: message('agent.done'),
      },
    },
  },
  phases: {
    workflow: phases,
    limit: 'passes',
    agents: () => ({
      design: anew(),
      look: inTurn(
        () => ({ assessment: 'FAIL', issues: [issue] }),
        () => 'PASS',
      ),
    }),
    mutants: {
      guard: { machine: guardFails(phases, 'isComplete'), kind: 'other verdict', at: entering('verified') },
      target: {
        machine: otherTarget(phases, 'states working always 2', 'accepted'),
        kind: 'other verdict',
        at: entering('verified'),
      },
      limit: {
        machine: otherLimit(phases, { passes: 1 }),
        kind: 'limit exceeded',
        at: fact('pipeline.started'),
      },
      'removed event': {
        machine: eventRemoved(phases, 'on', 'agent.done'),
        kind: 'not handled',
        at: message('agent.done'),
      },
    },
  },
  'a tree': {
    workflow: tree,
    limit: 'hops',
    input: { task: 'task' },
    agents: () => ({ model: mends, spec: inTurn(() => reporting(item('spec', 'model')), passes) }),
    mutants: {
      guard: { machine: guardFails(tree, 'isVerified'), kind: 'other verdict', at: entering('verified') },
      target: {
        machine: otherTarget(tree, 'on tree.moved', '.stopping'),
        kind: 'other verdict',
        at: message('tree.moved'),
      },
      limit: { machine: otherLimit(tree, { hops: 0 }), kind: 'limit exceeded', at: fact('run.limits') },
      'removed event': {
        machine: eventRemoved(tree, 'on', 'tree.judged'),
        kind: 'not handled',
        at: message('tree.judged'),
      },
    },
  },
  'a board of stories': {
    workflow: stories,
    limit: 'reworks',
    input: { stories: [{ id: 'a' }] },
    agents: storyAgents,
    mutants: {
      guard: { machine: guardFails(stories, 'hasEnded'), kind: 'other verdict', at: entering('ended') },
      target: {
        machine: otherTarget(stories, 'on story.card', '.ended'),
        kind: 'other path',
        at: message('story.card'),
      },
      limit: {
        machine: otherLimit(stories, { reworks: 0 }),
        kind: 'limit exceeded',
        at: fact('stories.started'),
      },
      'removed event': {
        machine: eventRemoved(stories, 'on', 'story.card'),
        kind: 'not handled',
        at: message('story.card'),
      },
    },
  },
  'a story': {
    workflow: stories,
    limit: 'reworks',
    input: { stories: [{ id: 'a' }] },
    agents: storyAgents,
    mutants: {
      guard: {
        machine: guardFails(story, 'isRework'),
        kind: 'other verdict',
        at: (events) =>
          events.filter(({ type, data }) => type === 'story.act' && data['action'] === 'rework')[0],
      },
      target: {
        machine: otherTarget(story, 'states worked always 1', 'idle'),
        kind: 'other verdict',
        // It is idle in either case, but does not say where it is any more.
        at: (events) => {
          const done = message('agent.done', { actor: 'r/story:a' })(events);
          return events.find(({ type, turn }) => type === 'story.status' && turn === done?.turn);
        },
      },
      limit: {
        machine: otherLimit(story, { reworks: 0 }),
        kind: 'limit exceeded',
        at: fact('story.opened'),
      },
      'removed event': {
        machine: eventRemoved(story, 'states working on', 'agent.done'),
        kind: 'not handled',
        at: message('agent.done', { actor: 'r/story:a' }),
      },
    },
  },
};

const play = async ({ workflow, input = 'x', agents }: Shipped): Promise<Runtime> => {
  const runtime: Runtime = await open({
    file: temporaryFile(),
    workflows: [workflow],
    agents: agents(),
    runsFolder: null,
  });
  const { verdict } = await (await runtime.start(workflow.name, input, { id: 'r' })).result();
  expect(verdict).toBe('verified');
  return runtime;
};

describe('K6: stored runs under shipped machines that were changed', () => {
  it.each(Object.keys(SHIPPED))(
    'K6, G11: %s: another guard, target or limit, or an event that was removed, is found at the exact event',
    async (name) => {
      const shipped = SHIPPED[name];
      if (!shipped) throw new Error('There is no such loop.');
      const runtime = await play(shipped);
      const events = await runtime.audit({ run: 'r', limit: 10_000 });
      expect((await runtime.compareMachines()).map(({ kind }) => kind)).toEqual(['identical']);
      for (const [mutant, { machine, kind, at }] of Object.entries(shipped.mutants)) {
        const [found] = await runtime.compareMachines({ machines: [machine] });
        const event = at(events);
        expect([mutant, found?.kind, found?.difference?.position, found?.difference?.recorded?.type]).toEqual(
          [mutant, kind, event?.position, event?.type],
        );
        expect(found?.limit?.limit ?? null).toBe(kind === 'limit exceeded' ? shipped.limit : null);
        expect(found?.recorded).toBe('verified');
      }
    },
  );
});
