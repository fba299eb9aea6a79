import { describe, expect, it } from 'vitest';
import { emit, setup } from 'xstate';
import {
  type AuditEntry,
  auditOf,
  createRuntime,
  openLog,
  planRun,
  startActor,
  workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { approveNth, draftPlan, reject, writeNew } from '../support/draft-plan.ts';
import { createFakeClock, open, refusal } from '../support/runtimes.ts';

const plan = draftPlan({ limits: { passes: 2 } });
const START_MS = Date.UTC(2026, 4, 1);

/** A plan whose gate rejects twice, is allowed more by ada, and passes. */
const leaveLog = async () => {
  const file = temporaryFile();
  const clock = createFakeClock(START_MS);
  const runtime = await createRuntime({
    file,
    clock,
    workflows: [plan],
    agents: { writer: writeNew, critic: approveNth(3) },
  });
  const run = await runtime.start('draft', 'a poem about REQ-4 and | pipes\nand lines', {
    id: 'p',
    by: 'owner',
  });
  await run.settled();
  clock.advance(60_000);
  const [question] = await runtime.questions();
  await runtime.answer(question?.id ?? '', 'continue', { by: 'ada', note: 'one more' });
  await run.settled();
  await runtime.close();
  return file;
};

const readBack = async (file: string) =>
  open({ file, workflows: [plan], agents: { writer: writeNew, critic: reject }, idle: true });

const find = (entries: readonly AuditEntry[], type: string): AuditEntry => {
  const found = entries.find((entry) => entry.type === type);
  if (!found) throw new Error(`There is no entry of ${type}.`);
  return found;
};

describe('B15: the audit', () => {
  it('B15: every feedback, decision and resolution, with who, when, why and what it changed', async () => {
    const runtime = await readBack(await leaveLog());
    const { entries } = await runtime.auditOf({ run: 'p' });
    const events = await runtime.audit({ run: 'p', limit: 10_000 });
    expect(entries.map(({ position }) => position)).toEqual(events.map(({ position }) => position));

    expect(entries[0]).toMatchObject({
      who: 'owner',
      what: 'started as draft (a run)',
      when: '2026-05-01T00:00:00.000Z',
      causedBy: null,
    });
    const rejected = find(entries, 'gate.rejected');
    expect(rejected).toMatchObject({ who: 'run p', what: 'the gate "review" rejected pass 1: 1 issues' });
    expect(rejected.why).toContain('not good');
    const feedback = find(entries, 'feedback.sent');
    expect(feedback.what).toContain('sent feedback to "write"');
    expect(feedback.causedBy?.what).toContain('delivered');
    const halted = find(entries, 'run.halted');
    expect(halted.decidedBy).toEqual({ limit: 'passes', bound: 2, used: 2, position: halted.position });
    const answered = find(entries, 'question.answer');
    expect(answered).toMatchObject({
      who: 'ada',
      what: 'answered "continue"',
      why: 'one more',
      when: '2026-05-01T00:01:00.000Z',
      decidedBy: { person: 'ada', option: 'continue', note: 'one more' },
      changed: { state: { from: 'open', to: 'answered' } },
    });
    const decided = find(entries, 'run.decided');
    expect(decided).toMatchObject({
      who: 'ada',
      what: 'decided "continue"',
      why: 'one more',
      decidedBy: { person: 'ada' },
    });
    // What the decision led to in the run is known to be ada's.
    const told = entries.find(({ type, actor }) => type === 'lw.child.done' && actor === 'p');
    expect(told).toMatchObject({
      decidedBy: { person: 'ada' },
      changed: { state: { from: 'asking', to: 'working' } },
    });
    expect(told?.changed.context).toContainEqual({ path: 'allowed', before: '0', after: '3' });
    expect(told?.changed.context.map(({ path }) => path)).toContain('halt');
    expect(find(entries, 'gate.passed').what).toContain('let pass 3 through');
    const ended = find(entries, 'lw.run.ended');
    expect(ended).toMatchObject({ what: 'ended verified', decidedBy: null });
    const answer = find(entries, 'lw.call.done');
    expect(answer).toMatchObject({
      who: 'agent writer',
      actor: 'p/agent:writer',
      changed: { state: { to: 'idle' } },
    });
  });

  it('B15: by agent, loop, requirement and time; as JSON and Markdown; of a log that is only read', async () => {
    const file = await leaveLog();
    const log = await openLog(file);
    const all = (await auditOf(log, {}, { workflows: [plan] })).entries;
    const writers = (await auditOf(log, { agent: 'writer' }, { workflows: [plan] })).entries;
    expect(new Set(writers.map(({ actor }) => actor))).toEqual(new Set(['p/agent:writer', 'p']));
    expect(writers.filter(({ type }) => type === 'lw.call.done')).toHaveLength(3);
    expect((await auditOf(log, { agent: 'ada' })).entries.map(({ type }) => type)).toContain(
      'question.answer',
    );

    const question = (await auditOf(log, { loop: 'question' })).entries;
    expect(question.map(({ type }) => type)).toEqual([
      'lw.started',
      'question.opened',
      'question.answer',
      'question.closed',
    ]);
    expect((await auditOf(log, { loop: 'p/question' })).entries).toHaveLength(4);

    const later = (await auditOf(log, { from: START_MS + 60_000 })).entries;
    const before = (await auditOf(log, { to: new Date(START_MS + 60_000) })).entries;
    expect([...before, ...later].map(({ position }) => position)).toEqual(
      all.map(({ position }) => position),
    );
    expect(later[0]?.type).toBe('question.answer');

    expect((await auditOf(log, { requirement: 'REQ-4' })).entries[0]?.type).toBe('lw.started');
    expect((await auditOf(log, { requirement: 'REQ' })).entries).toEqual([]);

    const trail = await auditOf(log, { run: 'p' }, { workflows: [plan] });
    expect(JSON.parse(JSON.stringify(trail))).toEqual({ filter: { run: 'p' }, entries: trail.entries });
    const markdown = trail.toMarkdown();
    const rows = markdown.split('\n').filter((line) => line.startsWith('| '));
    expect(rows).toHaveLength(trail.entries.length + 2);
    // Whatever agents and persons wrote, the table stays one.
    for (const row of rows) expect(row.split(/(?<!\\)\|/)).toHaveLength(10);
    expect(markdown).toContain('limit passes: 2 of 2');
    await refusal(auditOf(log, { run: 'nobody' }), 'UNKNOWN_RUN');
    await refusal(auditOf(log, { from: Number.NaN }), 'BAD_OPTION');
    await log.close();
  });

  it('B15: a loop that was begun for a requirement belongs to it from its start to its end', async () => {
    const inner = workflow(
      'fixing',
      setup({
        types: { emitted: {} as { type: 'fix.resolved' }, events: {} as { type: 'DONE' } },
      }).createMachine({
        initial: 'open',
        states: {
          open: { on: { DONE: { target: 'resolved', actions: emit({ type: 'fix.resolved' }) } } },
          resolved: { type: 'final' },
        },
      }),
    );
    const outer = workflow(
      'outer',
      setup({ types: { events: {} as { type: 'FOUND'; id: string; requirement: string } } }).createMachine({
        on: {
          FOUND: {
            actions: emit(({ event }) =>
              startActor({ id: event.id, machine: 'fixing', input: { requirement: event.requirement } }),
            ),
          },
        },
      }),
    );
    const file = temporaryFile();
    const runtime = await createRuntime({ file, workflows: [inner, outer], agents: {} });
    const run = await runtime.start('outer', undefined, { id: 'o' });
    await run.send({ type: 'FOUND', id: 'one', requirement: 'REQ-45' } as never);
    await run.send({ type: 'FOUND', id: 'two', requirement: 'REQ-4' } as never);
    for (const id of ['one', 'two']) await runtime.send(`o/${id}`, { type: 'DONE' });
    await runtime.close();
    const log = await openLog(file);
    const { entries } = await auditOf(log, { requirement: 'REQ-45' });
    expect(entries.map(({ actor, type }) => [actor, type])).toEqual([
      ['o', 'FOUND'],
      ['o/one', 'lw.started'],
      ['o/one', 'DONE'],
      ['o/one', 'fix.resolved'],
    ]);
    await log.close();
  });

  it('B15: what a person takes as it is, rejects or sends back is there with its reason', async () => {
    let release: () => void = () => undefined;
    const first = new Promise<number>((resolve) => {
      release = () => resolve(1);
    });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [planRun('two', { steps: [{ id: 'a' }, { id: 'b', needs: ['a'] }] })],
      agents: { a: ({ feedback }) => (feedback.length === 0 ? first : 2), b: () => 2 },
    });
    const run = await runtime.start('two', 'x', { id: 't' });
    await expect.poll(async () => (await runtime.audit({ types: ['lw.call.begun'] })).length).toBe(1);
    await run.pause('lunch', { by: 'ada' });
    release();
    await expect.poll(async () => (await runtime.audit({ types: ['step.done'] })).length).toBe(1);
    await run.send(
      { type: 'step.rerun', step: 'a', issues: [{ description: 'wrong sum', severity: 'high' }] } as never,
      { by: 'bob' },
    );
    await run.resume('lunch', { by: 'ada' });
    await run.result();
    const { entries } = await runtime.auditOf({ run: 't' });
    expect(find(entries, 'run.pause')).toMatchObject({ who: 'ada', why: 'lunch' });
    const sent = entries.find(({ type }) => type === 'step.rerun');
    expect(sent).toMatchObject({ who: 'bob', why: 'wrong sum' });
  });
});
