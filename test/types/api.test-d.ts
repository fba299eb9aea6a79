import type { Observable } from 'rxjs';
import { describe, expectTypeOf, it } from 'vitest';
import { assign, setup } from 'xstate';
import {
  agent,
  agentCall,
  createRuntime,
  type Json,
  type PhaseInput,
  type PhaseRunOutput,
  phaseRun,
  planRun,
  projection,
  type Receipt,
  type RunOutput,
  type RunResult,
  runSummary,
  type StepInput,
  type StoriesOutput,
  type StoryWork,
  storyLoop,
  tightLoop,
  type Verdict,
  workflow,
} from '../../src/index.ts';

// What must not compile stands under an expected error; next to it, what must.

const draft = workflow(
  'draft',
  setup({
    types: {
      context: {} as { text: string; tries: number },
      events: {} as { type: 'HINT'; text: string } | { type: 'STOP' },
      input: {} as { topic: string; triesMax: number },
      output: {} as { verdict: Verdict; text: string },
    },
    actors: {
      writer: agentCall<{ topic: string }, { text: string }>(),
      critic: agentCall<{ text: string }, readonly string[]>({ announce: true }),
      // Chosen call by call: its name is not known to the types, and nothing can be asked of the host.
      reviewer: agentCall<{ name: string }, boolean>({ agent: ({ name }) => name }),
    },
  }).createMachine({
    context: { text: '', tries: 0 },
    initial: 'writing',
    states: {
      writing: {
        invoke: {
          src: 'writer',
          input: ({ context }) => ({ topic: context.text }),
          onDone: { target: 'done', actions: assign({ text: ({ event }) => event.output.text }) },
        },
      },
      done: { type: 'final' },
    },
    output: ({ context }) => ({ verdict: 'verified', text: context.text }),
  }),
);

const plain = workflow(
  'plain',
  setup({ types: { events: {} as { type: 'GO' } } }).createMachine({
    initial: 'a',
    states: { a: { on: { GO: 'b' } }, b: { type: 'final' } },
  }),
);

const agents = {
  writer: () => ({ text: 'a draft' }),
  critic: () => ['too short'],
};

const open = () => createRuntime({ file: 'log.db', workflows: [draft, plain], agents });

describe('starting and finding runs', () => {
  it('takes the name of a registered workflow, and its input', async () => {
    const runtime = await open();
    await runtime.start('draft', { topic: 'loops', triesMax: 3 });
    await runtime.start('draft', { topic: 'loops', triesMax: 3 }, { id: 'd', by: 'ann' });
    await runtime.start('plain');
    await runtime.start('plain', null, { id: 'p' });

    // @ts-expect-error: no such workflow
    await runtime.start('drafts', { topic: 'loops', triesMax: 3 });
    // @ts-expect-error: the input is missing
    await runtime.start('draft');
    // @ts-expect-error: a part of the input is missing
    await runtime.start('draft', { topic: 'loops' });
    // @ts-expect-error: the input has the wrong type
    await runtime.start('draft', { topic: 5, triesMax: 3 });
    // @ts-expect-error: a member that the input does not have
    await runtime.start('draft', { topic: 'loops', triesMax: 3, colour: 'red' });
    // @ts-expect-error: an option that there is not
    await runtime.start('plain', null, { name: 'p' });
    // @ts-expect-error: no such workflow
    await runtime.run('d', 'drafts');
  });

  it('gives runs that know their states, events and results', async () => {
    const runtime = await open();
    for (const run of [
      await runtime.start('draft', { topic: 'loops', triesMax: 3 }),
      await runtime.run('d', 'draft'),
    ]) {
      const state = await run.state();
      expectTypeOf(state.value).toEqualTypeOf<'writing' | 'done'>();
      expectTypeOf(state.context).toEqualTypeOf<{ text: string; tries: number }>();
      expectTypeOf(state.status).toEqualTypeOf<'active' | 'done' | 'failed' | 'stopped'>();
      expectTypeOf(run.state$).toEqualTypeOf<Observable<typeof state>>();
      expectTypeOf(await run.settled()).toEqualTypeOf<typeof state>();
      expectTypeOf(await run.result()).toEqualTypeOf<RunResult<{ verdict: Verdict; text: string }>>();
      expectTypeOf((await run.result()).output?.text).toEqualTypeOf<string | undefined>();
    }
    const unknown = await runtime.run('d');
    expectTypeOf((await unknown.state()).context).toBeUnknown();
    expectTypeOf((await unknown.result()).output).toEqualTypeOf<Json | undefined>();
  });

  it('takes the events of the machine, and no others', async () => {
    const runtime = await open();
    const run = await runtime.run('d', 'draft');
    expectTypeOf(await run.send({ type: 'STOP' })).toEqualTypeOf<Receipt>();
    await run.send({ type: 'HINT', text: 'shorter' }, { by: 'ann', expectedVersion: 3, id: 'hint-1' });

    // @ts-expect-error: no such event
    await run.send({ type: 'STOPP' });
    // @ts-expect-error: the event's text is missing
    await run.send({ type: 'HINT' });
    // @ts-expect-error: the event's text is a string
    await run.send({ type: 'HINT', text: 5 });
    // @ts-expect-error: an event is an object
    await run.send('STOP');
    // @ts-expect-error: a version is a number
    await run.send({ type: 'STOP' }, { expectedVersion: '3' });
    // @ts-expect-error: a message has a type
    await runtime.send('d', { text: 'shorter' });
  });
});

describe('agents', () => {
  it('are all asked for by the workflows that call them by name', async () => {
    await createRuntime({ file: 'log.db', workflows: [draft], agents });
    await createRuntime({ file: 'log.db', workflows: [plain], agents: {} });
    // An agent that is chosen by name at run time may be given besides.
    const more = { ...agents, ann: () => true };
    await createRuntime({ file: 'log.db', workflows: [draft], agents: more });

    // @ts-expect-error: there is no critic
    await createRuntime({ file: 'log.db', workflows: [draft], agents: { writer: agents.writer } });
    // @ts-expect-error: there is no agent at all
    await createRuntime({ file: 'log.db', workflows: [draft], agents: {} });
    // @ts-expect-error: the agents are missing
    await createRuntime({ file: 'log.db', workflows: [draft] });
    // @ts-expect-error: an agent is a function
    await createRuntime({ file: 'log.db', workflows: [draft], agents: { ...agents, critic: 'ann' } });
  });

  it('give what their callers expect', async () => {
    await createRuntime({
      file: 'log.db',
      workflows: [draft],
      agents: { ...agents, writer: async ({ input }) => ({ text: input.topic }) },
    });
    await createRuntime({
      file: 'log.db',
      workflows: [draft],
      agents: {
        ...agents,
        // @ts-expect-error: a text is expected
        writer: () => ({ words: 3 }),
      },
    });
    await createRuntime({
      file: 'log.db',
      workflows: [draft],
      agents: {
        ...agents,
        // @ts-expect-error: a list is expected, sooner or later
        critic: async () => 'too short',
      },
    });
    await createRuntime({
      file: 'log.db',
      workflows: [draft],
      agents: {
        ...agents,
        // @ts-expect-error: the same holds for an agent with options
        writer: agent(() => 5, { concurrency: 2 }),
      },
    });
  });

  it('know what they are given', async () => {
    await createRuntime({
      file: 'log.db',
      workflows: [draft],
      agents: {
        writer: ({ input, signal, callId, idempotencyKey, attempt, progress }) => {
          expectTypeOf(input).toEqualTypeOf<{ topic: string }>();
          expectTypeOf(signal).toEqualTypeOf<AbortSignal>();
          expectTypeOf({ callId, idempotencyKey }).toEqualTypeOf<{
            callId: string;
            idempotencyKey: string;
          }>();
          expectTypeOf(attempt).toBeNumber();
          progress({ percent: 50 });
          // @ts-expect-error: there is no such member in the input
          return { text: input.title };
        },
        critic: agent(({ input }: { input: { text: string } }) => [input.text]),
      },
    });
    await createRuntime({
      file: 'log.db',
      workflows: [draft],
      agents: {
        ...agents,
        // @ts-expect-error: it wants an input that its caller does not give
        critic: agent(({ input }: { input: { lines: number } }) => [String(input.lines)]),
      },
    });
  });

  it('may be programs, which answer as their caller expects or as their author says', async () => {
    await createRuntime({
      file: 'log.db',
      workflows: [draft],
      agents: {
        writer: agent.command('writer', ['--quiet'], { output: 'json-lines', timeoutMs: 1_000 }),
        critic: agent.command<{ text: string }, readonly string[]>('critic'),
      },
    });
    await createRuntime({
      file: 'log.db',
      workflows: [draft],
      agents: {
        ...agents,
        // @ts-expect-error: its caller expects a text
        writer: agent.command<{ topic: string }, { lines: number }>('writer'),
      },
    });
    // @ts-expect-error: there is no shell
    agent.command('ls', [], { shell: true });
    // @ts-expect-error: arguments are a list
    agent.command('ls', '-l');
  });

  it('have options of their own', () => {
    agent(() => null, { concurrency: 1, timeoutMs: 1_000, quarantine: { failures: 3, forMs: 1_000 } });
    // @ts-expect-error: no such option
    agent(() => null, { retries: 3 });
    // @ts-expect-error: a number of milliseconds
    agent(() => null, { timeoutMs: '1s' });
  });
});

describe('workflows and projections', () => {
  it('a workflow is typed by its machine', () => {
    workflow('draft', draft.machine, {
      version: 2,
      counters: { tries: { value: (context) => context.tries, counts: ({ type }) => type === 'HINT' } },
      migrations: { 1: { migrate: () => ({ value: 'writing' as const, context: { text: '', tries: 0 } }) } },
      verdict: ({ verdict }) => verdict,
    });
    workflow('draft', draft.machine, {
      // @ts-expect-error: there is no such counter in the context
      counters: { tries: { value: (context) => context.attempts, counts: () => true } },
    });
    workflow('draft', draft.machine, {
      // @ts-expect-error: there is no such state
      migrations: { 1: { migrate: () => ({ value: 'thinking' as const, context: { text: '', tries: 0 } }) } },
    });
    workflow('draft', draft.machine, {
      // @ts-expect-error: the context is not whole
      migrations: { 1: { migrate: () => ({ value: 'writing' as const, context: { text: '' } }) } },
    });
    // @ts-expect-error: there is no such verdict
    workflow('draft', draft.machine, { verdict: () => 'great' });
    // @ts-expect-error: readers are named by type and version
    workflow('draft', draft.machine, { readers: { HINT: (data) => data } });
    // @ts-expect-error: a workflow has a machine
    workflow('draft', {});
  });

  it('a projection gives its own state', async () => {
    const runtime = await open();
    const lengths = projection({
      name: 'lengths',
      version: 1,
      partition: 'log',
      initial: { total: 0 },
      on: {
        HINT: (state, { data }) => {
          state.total += typeof data.text === 'string' ? data.text.length : 0;
        },
      },
    });
    expectTypeOf(await runtime.read(lengths)).toEqualTypeOf<{ total: number }>();
    expectTypeOf(runtime.view$(lengths)).toEqualTypeOf<Observable<{ total: number }>>();
    expectTypeOf((await runtime.read(runSummary, 'd')).verdict).toEqualTypeOf<Verdict | null>();
    projection({
      name: 'lengths',
      version: 1,
      partition: 'log',
      initial: { total: 0 },
      // @ts-expect-error: there is no such member in the state
      on: { HINT: (state) => void (state.sum += 1) },
    });
    // @ts-expect-error: a projection is of runs, or of the log
    projection({ name: 'lengths', version: 1, partition: 'actor', initial: {}, on: {} });
  });

  it('a plan knows its agents, and what it is started with', async () => {
    const ship = planRun('ship', {
      steps: [
        { id: 'implement', agent: 'developer' },
        { id: 'docs', needs: ['implement'] },
        { id: 'review', needs: ['docs'], gate: { reviewers: ['critic', 'lead'], corrects: 'implement' } },
      ],
      persons: { lead: { text: 'Good?' } },
    });
    const answering = ({ input }: { input: StepInput }) => input.task;
    const given = { developer: answering, docs: answering, critic: answering };
    const runtime = await createRuntime({ file: 'x.db', workflows: [ship], agents: given });
    const run = await runtime.start('ship', { goal: 'CSV' });
    expectTypeOf((await run.result()).output).toEqualTypeOf<RunOutput | undefined>();
    await run.send({ type: 'step.rerun', step: 'docs', issues: ['too short'] });
    // @ts-expect-error: there is no such message
    await run.send({ type: 'step.again' });
    const { critic: _, ...incomplete } = given;
    // @ts-expect-error: the critic is missing
    await createRuntime({ file: 'x.db', workflows: [ship], agents: incomplete });
    const wrong = { ...given, critic: ({ input }: { input: number }) => input };
    // @ts-expect-error: an agent of a plan is given the input of a step
    await createRuntime({ file: 'x.db', workflows: [ship], agents: wrong });
    // @ts-expect-error: there is no such limit
    planRun('ship', { steps: [{ id: 'implement' }], limits: { laps: 3 } });
    // @ts-expect-error: accepting needs a person
    planRun('ship', { steps: [{ id: 'implement' }], onExpiry: 'accept' });
  });

  it('a tight loop has three agents, and a promise', async () => {
    const answering = () => ({ passed: true });
    const given = { developer: answering, reviewer: answering, tester: answering };
    const runtime = await createRuntime({ file: 'x.db', workflows: [tightLoop()], agents: given });
    const { output } = await (await runtime.start('tight-loop', 'Add CSV export')).result();
    expectTypeOf(output?.promise).toEqualTypeOf<'IMPLEMENTATION_VERIFIED' | null | undefined>();
    const { tester: _, ...incomplete } = given;
    // @ts-expect-error: the tester is missing
    await createRuntime({ file: 'x.db', workflows: [tightLoop()], agents: incomplete });
    // @ts-expect-error: there is no such option
    tightLoop({ maxPasses: 3 });
  });

  it('a phase run has the agents of its phases, and its reviewers in place of a review', async () => {
    const usual = phaseRun('delivery', { reviewers: { 'design-review': ['security', 'speed'] } });
    const work = ({ input }: { input: PhaseInput }) => input.inputs;
    const given = {
      planning: work,
      design: work,
      code: work,
      'code-review': work,
      test: work,
      postmortem: work,
    };
    const runtime = await createRuntime({
      file: 'x.db',
      workflows: [usual],
      agents: { ...given, security: work, speed: work },
    });
    const run = await runtime.start('delivery', 'a task');
    expectTypeOf((await run.result()).output).toEqualTypeOf<PhaseRunOutput | undefined>();
    await run.send({ type: 'issue.reclassify', issue: 'S1', phases: ['planning'], note: null });
    // @ts-expect-error: an issue goes to a list of phases
    await run.send({ type: 'issue.reclassify', issue: 'S1', phases: 'planning', note: null });
    // @ts-expect-error: nobody checks the speed
    await createRuntime({ file: 'x.db', workflows: [usual], agents: { ...given, security: work } });
    const own = phaseRun('own', { phases: [{ id: 'a' }, { id: 'b', agent: 'ben', needs: ['a'] }] });
    await createRuntime({ file: 'x.db', workflows: [own], agents: { a: work, ben: work } });
    // @ts-expect-error: ben is missing
    await createRuntime({ file: 'x.db', workflows: [own], agents: { a: work } });
    // @ts-expect-error: there is no such kind
    phaseRun('own', { phases: [{ id: 'a', kind: 'party' }] });
  });
});

describe('stories', () => {
  it('know the agents of their phases and reviewers, what those are given, and what a run is started with', async () => {
    const work = ({ input }: { input: StoryWork }) => input.story.body;
    const phases = { research: work, plan: work, implement: work, 'create-pr': work };
    const runtime = await createRuntime({
      file: 'x.db',
      workflows: [storyLoop('stories', { reviewers: ['code', 'security'] })],
      agents: { ...phases, code: () => true, security: () => true },
    });
    const run = await runtime.start('stories', { stories: ['a.md', { id: 'b' }] });
    expectTypeOf((await run.result()).output).toEqualTypeOf<StoriesOutput | undefined>();
    await run.send({ type: 'story.reset', story: 'a', by: 'ada' });
    // @ts-expect-error: there is no such command
    await run.send({ type: 'stories.skip' });
    // @ts-expect-error: a list of stories is needed
    await runtime.start('stories', 'a.md');
    const secure = storyLoop('s', { reviewers: ['security'] });
    // @ts-expect-error: nobody reviews security
    await createRuntime({ file: 'x.db', workflows: [secure], agents: phases });
    // @ts-expect-error: the default reviewer is missing
    await createRuntime({ file: 'x.db', workflows: [storyLoop('s')], agents: phases });
    // @ts-expect-error: no such policy
    storyLoop('s', { refinement: { escalateOnMaxAttempts: 'maybe' } });
  });
});
