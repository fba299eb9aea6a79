import { describe, expect, it } from 'vitest';
import { assign, createMachine, emit, setup } from 'xstate';
import {
  agentCall,
  type Comparison,
  createRuntime,
  type Json,
  type RecordedEvent,
  type Workflow,
  workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { approve, approveNth, draftPlan, reject, writeNew } from '../support/draft-plan.ts';
import { playTight, tight } from '../support/past-runs.ts';
import { open } from '../support/runtimes.ts';

/** What may be wrong with a machine that was changed. */
interface Mutation {
  readonly guard?: (score: number) => boolean;
  readonly limit?: number;
  readonly rejectedTo?: 'writing' | 'abandoned';
  readonly withoutNote?: boolean;
  readonly withoutDone?: boolean;
  readonly counts?: number;
  readonly says?: string;
  readonly asks?: string;
  readonly version?: number;
}

/** A loop of a user's own: an agent writes, another scores, a person may note something down. */
const essay = ({
  guard = (score) => score >= 3,
  limit = 4,
  rejectedTo = 'writing',
  withoutNote = false,
  withoutDone = false,
  counts = 1,
  says = 'rated',
  asks = 'task',
  version = 1,
}: Mutation = {}): Workflow =>
  workflow(
    'essay',
    setup({
      types: {
        context: {} as { pass: number; score: number; notes: number },
        events: {} as { type: 'NOTE' },
        emitted: {} as { type: string; score: number },
        output: {} as { verdict: 'verified' | 'exhausted' | 'failed' },
      },
      actors: { writer: agentCall<Json, Json>(), rater: agentCall<Json, { score: number }>() },
    }).createMachine({
      context: { pass: 0, score: 0, notes: 0 },
      initial: 'writing',
      ...(!withoutNote && {
        on: { NOTE: { actions: assign({ notes: ({ context }) => context.notes + counts }) } },
      }),
      states: {
        writing: {
          entry: assign({ pass: ({ context }) => context.pass + 1 }),
          invoke: {
            id: 'write',
            src: 'writer',
            input: ({ context }) => ({ [asks]: context.pass }),
            ...(!withoutDone && { onDone: 'rating' }),
            onError: 'abandoned',
          },
        },
        rating: {
          invoke: {
            id: 'rate',
            src: 'rater',
            input: ({ context }) => ({ pass: context.pass }),
            onDone: {
              target: 'rated',
              actions: [
                assign({ score: ({ event }) => event.output.score }),
                emit(({ event }) => ({ type: says, score: event.output.score })),
              ],
            },
            onError: 'abandoned',
          },
        },
        rated: {
          always: [
            { guard: ({ context }) => guard(context.score), target: 'good' },
            { guard: ({ context }) => context.pass >= limit, target: 'spent' },
            { target: rejectedTo },
          ],
        },
        good: { type: 'final', output: 'verified' as const },
        spent: { type: 'final', output: 'exhausted' as const },
        abandoned: { type: 'final', output: 'failed' as const },
      },
      output: ({ event }) => ({ verdict: event.output as 'verified' }),
    }),
    { version },
  );

/** Scores 1, 2, 3: verified in the third pass, with a note in between. */
const leaveLog = async (workflows: readonly Workflow[] = [essay()]) => {
  const file = temporaryFile();
  const runtime = await createRuntime({
    file,
    workflows,
    agents: {
      writer: () => 'text',
      rater: ({ input }: { input: { pass: number } }) => ({ score: input.pass }),
    },
  });
  const run = await runtime.start('essay', undefined, { id: 'e' });
  await run.send({ type: 'NOTE' });
  await run.result();
  const events = await runtime.audit({ run: 'e' });
  await runtime.close();
  return { file, events };
};

const compare = async (file: string, registered: readonly Workflow[], machines: readonly Workflow[] = []) => {
  const runtime = await open({ file, workflows: registered, agents: {}, idle: true });
  const [comparison] = await runtime.compareMachines({ machines });
  await runtime.close();
  return comparison as Comparison;
};

const ratings = (events: readonly RecordedEvent[]) =>
  events.filter(({ type, data }) => type === 'lw.call.done' && data['call'] === 'rate');

describe('K6: stored runs under changed machines', () => {
  const mutants: readonly (readonly [
    string,
    Mutation,
    Comparison['kind'],
    (events: readonly RecordedEvent[]) => RecordedEvent | undefined,
  ])[] = [
    [
      'a guard that lets pass what it did not',
      { guard: (score) => score >= 2 },
      'other path',
      (events) => ratings(events)[1],
    ],
    ['a guard that never lets pass', { guard: () => false }, 'other verdict', (events) => ratings(events)[2]],
    ['another target', { rejectedTo: 'abandoned' }, 'other verdict', (events) => ratings(events)[0]],
    ['a lower limit', { limit: 2 }, 'limit exceeded', (events) => ratings(events)[1]],
    [
      'an event that was removed',
      { withoutNote: true },
      'not handled',
      (events) => events.find(({ type }) => type === 'NOTE'),
    ],
    [
      'an answer that nobody waits for any more',
      { withoutDone: true },
      'not handled',
      (events) => events.find(({ type }) => type === 'lw.call.done'),
    ],
    [
      'another count in the context',
      { counts: 2 },
      'other path',
      (events) => events.find(({ type }) => type === 'NOTE'),
    ],
    [
      'another fact',
      { says: 'scored' },
      'other path',
      (events) => events.find(({ type }) => type === 'rated'),
    ],
    ['a limit that is not reached', { limit: 5 }, 'identical', () => undefined],
  ];

  it.each(mutants)('K6, G11: %s is found at the exact event', async (_, mutation, kind, at) => {
    const { file, events } = await leaveLog();
    const found = await compare(file, [essay()], [essay(mutation)]);
    expect([found.kind, found.difference?.position]).toEqual([kind, at(events)?.position]);
    expect(found.recorded).toBe('verified');
    // The same without the machine that the log was made with: only its own rows are left to tell.
    const alone = await compare(file, [essay({ ...mutation })]);
    const isHidden = 'counts' in mutation;
    expect([alone.kind, alone.difference?.position]).toEqual(
      isHidden ? ['identical', undefined] : [kind, at(events)?.position],
    );
    const newer = await compare(
      file,
      [essay({ ...mutation, version: 2 })],
      [essay({ ...mutation, version: 2 })],
    );
    expect(newer.difference?.position).toBe(isHidden ? undefined : at(events)?.position);
  });

  it('K6: the first difference shows both sides, and the limit that is exceeded', async () => {
    const { runtime, file } = await playTight({ reviews: [], tests: [3, 3, 3, 3, 0] });
    await runtime.close();
    const strict = { ...tight, machine: tight.machine };
    expect((await compare(file, [tight], [strict])).kind).toBe('identical');

    const plan = draftPlan({ limits: { passes: 4 } });
    const other = temporaryFile();
    const second = await createRuntime({
      file: other,
      workflows: [plan],
      agents: { writer: writeNew, critic: approveNth(3) },
    });
    await (await second.start('draft', 'a poem', { id: 'p' })).result();
    await second.close();
    const endless = { ...plan, machine: plan.machine.provide({ guards: { isComplete: () => false } }) };
    const found = await compare(other, [plan], [endless]);
    expect(found).toMatchObject({ kind: 'other verdict', recorded: 'verified', computed: null });
    expect(found.difference).toMatchObject({
      recorded: { actor: 'p', type: 'agent.done', state: 'verified' },
      computed: { actor: 'p', type: 'agent.done', state: 'working' },
    });
    expect(found.difference?.text).toContain(`position ${found.difference?.position}`);

    // With fewer passes than it took.
    const { config } = plan.machine;
    const context = (args: never) => {
      const given = (config.context as unknown as (args: never) => { limits: object })(args);
      return { ...given, limits: { ...given.limits, passes: 1 } };
    };
    const machine = createMachine({ ...config, context } as never, plan.machine.implementations as never);
    const tighter = { ...plan, machine } as unknown as Workflow;
    expect(await compare(other, [plan], [tighter])).toMatchObject({
      kind: 'limit exceeded',
      limit: { limit: 'passes', bound: 1, used: 1 },
      difference: { what: 'data', recorded: { type: 'run.limits' } },
    });
  });

  it('K6: with recorded answers for the same input after the ways have parted', async () => {
    const { file } = await leaveLog();
    // It asks its writer otherwise, but its rater the same: only the writer's answers are missing.
    const found = await compare(file, [essay()], [essay({ asks: 'theme' })]);
    expect(found).toMatchObject({ kind: 'other verdict', computed: null, calls: 1 });
  });

  it('K6: every run of a log is compared; one whose machine is gone is named', async () => {
    const file = temporaryFile();
    const plan = draftPlan();
    const runtime = await createRuntime({
      file,
      workflows: [plan, essay()],
      agents: { writer: writeNew, critic: approve, rater: () => ({ score: 3 }) },
    });
    await (await runtime.start('draft', 'a', { id: 'a' })).result();
    await (await runtime.start('essay', undefined, { id: 'b' })).result();
    await runtime.close();
    const second = await open({
      file,
      workflows: [draftPlan()],
      agents: { writer: writeNew, critic: reject },
      idle: true,
    });
    expect((await second.compareMachines()).map(({ run, kind }) => [run, kind])).toEqual([
      ['a', 'identical'],
      ['b', 'no machine'],
    ]);
    expect((await second.compareMachines({ runs: ['a'] })).length).toBe(1);
  });
});
