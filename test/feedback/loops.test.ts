import { firstValueFrom } from 'rxjs';
import { describe, expect, it, vi } from 'vitest';
import {
  answer,
  type Escalation,
  type FeedbackRequest,
  type GivenFeedback,
  isFeedbackRequest,
  planRun,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { createGate, never } from '../support/draft-plan.ts';
import { createTeam, type Request, reports, rosterPlan, type Team } from '../support/roster.ts';
import { createFakeClock, expectReplays, open, refusal } from '../support/runtimes.ts';

const CONSTRAINT = {
  type: 'constraint_violation',
  targets: ['architect', 'pm'],
  severity: 'blocking',
  description: 'The hosting has no WebSockets.',
  requirement: 'REQ-123',
} as const;

const INFEASIBLE = {
  type: 'technical_infeasibility',
  targets: ['pm'],
  severity: 'high',
  description: 'It cannot be that fast.',
  requirement: 'REQ-089',
} as const;

/** A run whose developer never comes to an end, so that there is time to send it feedback from outside. */
const opened = async (team: Team = {}, more: Record<string, unknown> = {}) => {
  const file = temporaryFile();
  const plan = rosterPlan();
  const { agents, calls, asked } = createTeam({ ...team, steps: { developer: never, ...team.steps } });
  const options = { file, workflows: [plan], agents, printEscalations: false, ...more };
  const runtime = await open(options);
  const run = await runtime.start('product', null, { id: 'r' });
  await expect.poll(() => calls).toContain('developer');
  return { runtime, run, calls, asked, options, file, plan };
};

const asked = (choose: (request: FeedbackRequest) => unknown) => ({ architect: choose, pm: choose });

describe('the statechart of a loop', () => {
  it('B7: goes through all seven states, in order, and back to idle when the run is complete', async () => {
    const file = temporaryFile();
    const plan = rosterPlan();
    const { agents } = createTeam({ steps: { developer: reports(1, CONSTRAINT) } });
    const runtime = await open({ file, workflows: [plan], agents });
    const run = await runtime.start('product', null, { id: 'r' });
    await run.result();
    await runtime.close();
    const second = await open({ file, workflows: [plan], agents });
    const [loop] = await second.feedback.loops('r');
    const rows = await second.audit({ run: 'r', limit: 1_000 });
    const states = rows
      .filter(({ actor, kind }) => actor === loop?.id && kind === 'message')
      .map(({ type, state }) => [type, typeof state === 'string' ? state : Object.keys(state)[0]]);
    expect(states.filter(([, state], index) => state !== states[index - 1]?.[1])).toEqual([
      ['feedback.triggered', 'waitingResponse'],
      ['agent.done', 'resolving'],
      ['resolution.complete', 'validating'],
      ['validation.passed', 'resolved'],
      ['workflow.complete', 'idle'],
    ]);
    // Notifying is passed through in one step: what is sent is on record.
    expect(rows.filter(({ type }) => type === 'feedback.opened')).toHaveLength(1);
    await second.close();
    await expectReplays(file, [plan]);
  });

  it('B7: the first answer alone does not move it on', async () => {
    const gate = createGate();
    const { runtime, plan, file } = await opened({
      decides: {
        architect: () => ({ option: 'revise_requirement' }),
        pm: () => gate.opened().then(() => ({ option: 'revise_requirement' })),
      },
    });
    const id = await runtime.feedback.trigger({ run: 'r', source: 'developer', ...CONSTRAINT });
    const answered = async () =>
      (await runtime.feedback.loop(id)).rounds[0]?.responses['architect']?.answeredAtMs;
    await expect.poll(answered).toBeTypeOf('number');
    expect((await runtime.feedback.loop(id)).state).toBe('waitingResponse');
    gate.open();
    expect(await runtime.feedback.waitForResolution(id)).toMatchObject({ option: 'revise_requirement' });
    await runtime.close();
    await expectReplays(file, [plan]);
  });

  it('B7: who does not answer in time is not waited for: 10 minutes unless set', async () => {
    const clock = createFakeClock();
    const { runtime, run } = await opened({ decides: asked(never) }, { clock });
    const id = await runtime.feedback.trigger({ run: 'r', source: 'developer', ...CONSTRAINT });
    const short = await runtime.feedback.trigger({
      run: 'r',
      source: 'developer',
      ...CONSTRAINT,
      requirement: 'REQ-2',
      timeMs: 1_000,
    });
    const stateOf = async (loop: string) => (await runtime.feedback.loop(loop)).state;
    clock.advance(999);
    expect([await stateOf(id), await stateOf(short)]).toEqual(['waitingResponse', 'waitingResponse']);
    clock.advance(1);
    await expect.poll(() => stateOf(short)).toBe('escalating');
    clock.advance(10 * 60_000 - 1_001);
    expect(await stateOf(id)).toBe('waitingResponse');
    clock.advance(1);
    await expect.poll(() => stateOf(id)).toBe('escalating');
    expect((await runtime.feedback.loop(id)).escalationReason).toBe('not everyone has answered in time');
    expect(await run.context.get('run.paused')).toBe(true);
  });

  it('B7: a fix that fails escalates, and a person may have it tried again', async () => {
    let fails = 1;
    const pm = ({ feedback }: Request) => {
      if (feedback.length > 0 && fails-- > 0) throw new Error('out of paper');
      return undefined;
    };
    const { agents, calls } = createTeam({ steps: { architect: reports(1, INFEASIBLE), pm } });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [rosterPlan()],
      agents,
      printEscalations: false,
    });
    const run = await runtime.start('product', null, { id: 'r' });
    await run.settled();
    const [question] = await runtime.questions();
    expect(question?.text).toContain('The step "prd" failed: out of paper');
    expect(question?.options.map(({ id }) => id)).toEqual(['retry', 'accept', 'resolve', 'stop']);
    await runtime.answer(question?.id ?? '', 'retry', { by: 'ann' });
    expect((await run.result()).verdict).toBe('verified');
    expect(calls.filter((call) => call === 'pm')).toHaveLength(3);
    const [loop] = await runtime.feedback.loops('r');
    expect(loop?.rounds.map(({ round }) => round)).toEqual([1, 2]);
  });

  it('B7: a person resolves what was escalated: with an option, with words of their own, as a debt; or ends the run', async () => {
    const disagree = {
      architect: () => ({ option: 'revise_architecture' }),
      pm: () => ({ option: 'revise_requirement' }),
    };
    const outcomes: unknown[] = [];
    for (const [option, value] of [
      ['revise_requirement', null],
      ['resolve', 'we pay for it'],
      ['accept', null],
      ['stop', null],
    ] as const) {
      const file = temporaryFile();
      const plan = rosterPlan();
      const { agents, calls, requests } = createTeam({
        steps: { developer: reports(1, CONSTRAINT) },
        decides: disagree,
      });
      const runtime = await open({ file, workflows: [plan], agents, printEscalations: false });
      const run = await runtime.start('product', null, { id: 'r' });
      await run.settled();
      const [question] = await runtime.questions();
      await runtime.answer(question?.id ?? '', option, { by: 'ann', value, note: 'so be it' });
      const { verdict } = await run.result();
      const [loop] = await runtime.feedback.loops('r');
      const decision = requests.findLast(({ input }) => input.decisions)?.input.decisions?.[0];
      outcomes.push([
        option,
        verdict,
        loop?.resolution?.by ?? null,
        decision?.value ?? decision?.decision ?? null,
        calls.at(-1),
      ]);
      await runtime.close();
      await expectReplays(file, [plan]);
    }
    expect(outcomes).toEqual([
      ['revise_requirement', 'verified', ['ann'], 'revise_requirement', 'qa'],
      ['resolve', 'verified', ['ann'], 'we pay for it', 'qa'],
      ['accept', 'accepted', ['ann'], 'accept', 'qa'],
      ['stop', 'stalled', null, null, 'pm?'],
    ]);
  });

  it('X1, B16: with onLimit stop nobody is asked, and the run ends', async () => {
    const file = temporaryFile();
    const { agents } = createTeam({ steps: { architect: reports(99, INFEASIBLE) } });
    const plan = rosterPlan({ onLimit: 'stop' });
    const runtime = await open({ file, workflows: [plan], agents, printEscalations: false });
    const run = await runtime.start('product', null, { id: 'r' });
    const { verdict, output } = await run.result();
    expect(verdict).toBe('exhausted');
    expect(output).toMatchObject({
      limit: { limit: 'rounds', bound: 3 },
      reason: expect.stringContaining('REQ-089'),
    });
    await runtime.close();
    await expectReplays(file, [plan]);
  });
});

describe('what is on record', () => {
  it('B8, B9, B10: the loop, each response, and what each target was told, also for a second runtime', async () => {
    const clock = createFakeClock();
    const first = createGate();
    const { runtime, run, options, file, plan } = await opened(
      {
        decides: {
          architect: () => ({ option: 'revise_requirement' }),
          pm: () => first.opened().then(() => ({ option: 'revise_requirement' })),
        },
      },
      { clock },
    );
    const details = { constraint: 'hosting', list: [1, { two: 2 }] };
    const id = await runtime.feedback.trigger({ run: 'r', source: 'developer', ...CONSTRAINT, details });
    const told = {
      from: 'developer',
      type: 'constraint_violation',
      message: CONSTRAINT.description,
      severity: 'blocking',
      resolved: false,
      loop: id,
      details,
    };
    expect(await run.context.get('agents.pm.feedback')).toMatchObject([told]);
    expect(await run.context.get('agents.architect.feedback')).toMatchObject([told]);
    const [, key = ''] = id.split('/');
    expect(await run.context.get(['loops', key])).toMatchObject({
      id,
      status: 'pending',
      subject: 'REQ-123',
      details,
    });
    const notices: unknown[] = [];
    run.context
      .watch('agents.*.feedback.*.resolved')
      .subscribe(({ path, value, old }) => notices.push([path, value, old]));
    const answeredAt = async () =>
      (await runtime.feedback.loop(id)).rounds[0]?.responses['architect']?.answeredAtMs;
    await expect.poll(answeredAt).toBe(clock.now());
    clock.advance(5_000);
    first.open();
    await runtime.feedback.waitForResolution(id);
    await expect.poll(() => notices.length).toBe(2);
    expect(notices[0]).toMatchObject([
      expect.stringMatching(/^agents\.(architect|pm)\.feedback\.0\.resolved$/),
      true,
      false,
    ]);
    const before = await runtime.feedback.loop(id);
    await runtime.close();

    const second = await open(options);
    const loop = await second.feedback.loop(id);
    expect(loop).toEqual(before);
    expect(loop).toMatchObject({
      id,
      run: 'r',
      source: 'developer',
      targets: ['architect', 'pm'],
      type: 'constraint_violation',
      severity: 'blocking',
      status: 'resolved',
      resolution: { option: 'revise_requirement' },
      triggeredAtMs: clock.now() - 5_000,
      resolvedAtMs: clock.now(),
      rounds: [{ responses: { architect: { responseMs: 0 }, pm: { responseMs: 5_000 } } }],
    });
    expect(await (await second.run('r')).context.get('agents.pm.feedback')).toMatchObject([
      { ...told, resolved: true },
    ]);
    await second.close();
    await expectReplays(file, [plan]);
  });

  it('B9: ids made in one millisecond differ, and sort in the order in which they were made', async () => {
    const { runtime } = await opened({ decides: asked(never) }, { clock: createFakeClock() });
    const ids: string[] = [];
    for (let n = 0; n < 20; n += 1)
      ids.push(
        await runtime.feedback.trigger({
          run: 'r',
          source: 'developer',
          ...CONSTRAINT,
          requirement: `REQ-${n}`,
        }),
      );
    expect(new Set(ids).size).toBe(20);
    expect(ids.toSorted()).toEqual(ids);
    expect((await runtime.feedback.loops('r')).map(({ id }) => id)).toEqual(ids);
  });

  it('B7, B9: new feedback on a resolved loop is its next round, with a record of its own', async () => {
    const { runtime } = await opened();
    const trigger = (description: string) =>
      runtime.feedback.trigger({ run: 'r', source: 'developer', ...CONSTRAINT, description });
    const id = await trigger('first');
    await runtime.feedback.waitForResolution(id);
    expect(await trigger('second')).toBe(id);
    await runtime.feedback.waitForResolution(id);
    const { rounds } = await runtime.feedback.loop(id);
    expect(
      rounds.map(({ round, description, resolution }) => [round, description, resolution?.option]),
    ).toEqual([
      [1, 'first', 'revise_architecture'],
      [2, 'second', 'revise_architecture'],
    ]);
  });

  it('B9: the same feedback sent while its loop is open joins it; a command given twice is done once', async () => {
    const { runtime } = await opened({ decides: asked(never) });
    const given = { run: 'r', source: 'developer', ...CONSTRAINT };
    const id = await runtime.feedback.trigger(given, { id: 'once' });
    expect(await runtime.feedback.trigger(given)).toBe(id);
    expect(await runtime.feedback.trigger(given, { id: 'once' })).toBe(id);
    expect((await runtime.feedback.loop(id)).rounds).toHaveLength(1);
  });
});

describe('waiting for a resolution', () => {
  it('B11: gives it at once if it is there, by the id or by the requirement', async () => {
    const { runtime } = await opened();
    const id = await runtime.feedback.trigger({ run: 'r', source: 'developer', ...CONSTRAINT });
    const resolution = await runtime.feedback.waitForResolution(id);
    expect(await runtime.feedback.waitForResolution(id, { timeLimitMs: 1 })).toEqual(resolution);
    expect(await runtime.feedback.waitForResolution('REQ-123')).toEqual(resolution);
    expect(await runtime.feedback.waitForResolution('REQ-123', { run: 'r' })).toEqual(resolution);
  });

  it('B11: of a requirement, the loop that is open comes before the latest', async () => {
    const { runtime } = await opened({ decides: asked(never) });
    const first = await runtime.feedback.trigger({ run: 'r', source: 'developer', ...CONSTRAINT });
    const later = await runtime.feedback.trigger({ run: 'r', source: 'orchestrator', ...CONSTRAINT });
    await runtime.feedback.resolve(later, 'done');
    const waited = runtime.feedback.waitForResolution('REQ-123');
    await runtime.feedback.resolve(first, 'at last', { by: 'ann' });
    expect(await waited).toMatchObject({ value: 'at last', by: ['ann'], isManual: true });
  });

  it('B11: an unknown id is an error at once; a wait that takes too long is rejected, and the loop goes on', async () => {
    const clock = createFakeClock();
    const { runtime } = await opened({ decides: asked(never) }, { clock });
    await refusal(runtime.feedback.waitForResolution('r/loop-0-0001'), 'UNKNOWN_LOOP');
    await refusal(runtime.feedback.waitForResolution('REQ-none'), 'UNKNOWN_LOOP');
    await refusal(runtime.feedback.waitForResolution('nobody/loop-1'), 'UNKNOWN_LOOP');
    const id = await runtime.feedback.trigger({ run: 'r', source: 'developer', ...CONSTRAINT });
    const waits = refusal(runtime.feedback.waitForResolution(id, { timeLimitMs: 50 }), 'FEEDBACK_TIMED_OUT');
    await expect.poll(() => clock.waiting).toBeGreaterThan(1);
    clock.advance(50);
    await waits;
    expect((await runtime.feedback.loop(id)).state).toBe('waitingResponse');
  });

  it('B11: a wait that is begun after a restart gets it; one that is open when the runtime closes is told so', async () => {
    const { runtime, options, file, plan } = await opened({ decides: asked(never) });
    const id = await runtime.feedback.trigger({ run: 'r', source: 'developer', ...CONSTRAINT });
    const cut = refusal(runtime.feedback.waitForResolution(id), 'RUNTIME_CLOSED');
    await new Promise((resolve) => setImmediate(resolve));
    await runtime.close();
    await cut;
    const { agents } = createTeam({ steps: { developer: never } });
    const second = await open({ ...options, agents });
    expect(await second.feedback.waitForResolution('REQ-123')).toMatchObject({
      option: 'revise_architecture',
    });
    await second.close();
    await expectReplays(file, [plan]);
  });

  it('B11: the end of its run is told, whenever it comes', async () => {
    const { runtime, run } = await opened({ decides: asked(never) });
    const id = await runtime.feedback.trigger({ run: 'r', source: 'developer', ...CONSTRAINT });
    const waits = refusal(runtime.feedback.waitForResolution(id), 'FEEDBACK_ENDED');
    await run.cancel();
    await waits;
    await refusal(runtime.feedback.waitForResolution(id), 'FEEDBACK_ENDED');
    const late = { run: 'r', source: 'developer', ...CONSTRAINT, requirement: 'X' };
    await refusal(runtime.feedback.trigger(late), 'RUN_ENDED');
  });

  it('B2, B11: an agent may wait inside of its call, and goes on with the decision', async () => {
    const file = temporaryFile();
    const plan = rosterPlan();
    const { agents } = createTeam();
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        ...agents,
        developer: async ({ run }: Request) => {
          const id = await runtime.feedback.notifyConstraint({
            run,
            source: 'developer',
            constraint: {
              type: 'technical_limitation',
              description: 'No WebSockets.',
              requirement: 'REQ-123',
              severity: 'blocking',
            },
            request: {
              targets: ['architect', 'pm'],
              action: 'decide',
              options: [{ option: 'use_polling', effort: 'low' }],
            },
          });
          const { option } = await runtime.feedback.waitForResolution(id);
          return { built: option };
        },
      },
    });
    const run = await runtime.start('product', null, { id: 'r' });
    const { verdict, output } = await run.result();
    expect(verdict).toBe('verified');
    expect(output).toMatchObject({ outputs: { code: { built: 'use_polling' } } });
    await runtime.close();
    await expectReplays(file, [plan]);
  });
});

describe('an escalation', () => {
  it('B12: pauses the run with its reason, opens a question, calls the hook, and prints what a person needs to know', async () => {
    const printed = vi.spyOn(console, 'error').mockImplementation(() => undefined);
    const told: Escalation[] = [];
    const { runtime, run } = await opened(
      { decides: asked(never) },
      { printEscalations: true, onEscalation: (escalation: Escalation) => told.push(escalation) },
    );
    const id = await runtime.feedback.trigger({ run: 'r', source: 'developer', ...CONSTRAINT });
    const question = firstValueFrom(runtime.questions$);
    await runtime.feedback.escalate(id, 'nobody\u001b[31m is there', { by: 'ann' });
    expect(await question).toMatchObject({ id: `${id}/question`, run: 'r' });
    expect(told).toEqual([
      {
        loop: id,
        run: 'r',
        reason: 'nobody\u001b[31m is there',
        issue: CONSTRAINT.description,
        question: `${id}/question`,
      },
    ]);
    const text = String(printed.mock.calls[0]?.[0]);
    expect(text).toContain(`A person is needed: the feedback ${id} was escalated.`);
    expect(text).toContain('reason: nobody [31m is there');
    expect(text).toContain(CONSTRAINT.description);
    expect(text).not.toContain('\u001b');
    printed.mockRestore();
    expect(await run.context.get('run.pauseReasons')).toEqual([expect.stringContaining('nobody')]);
    await refusal(runtime.feedback.escalate(id, 'again'), 'LOOP_NOT_OPEN');
    await runtime.feedback.resolve(id, 'polling', { by: 'ann', note: 'it will do' });
    expect(await runtime.feedback.loop(id)).toMatchObject({
      status: 'resolved',
      resolution: { value: 'polling', by: ['ann'], note: 'it will do' },
    });
    expect(await runtime.questions()).toEqual([]);
    expect(await run.context.get('run.paused')).toBe(false);
    await refusal(runtime.feedback.resolve(id, 'twice'), 'LOOP_NOT_OPEN');
  });

  it('B12: two blocking loops hold the run until both are resolved', async () => {
    const { runtime, run, calls, file, plan } = await opened({
      decides: asked(never),
      steps: { developer: reports(1, CONSTRAINT, { ...CONSTRAINT, requirement: 'REQ-2' }) },
    });
    await expect.poll(() => calls.filter((call) => call.endsWith('?')).length).toBe(4);
    const [one, other] = await runtime.feedback.loops('r');
    expect(await run.context.get('run.pauseReasons')).toHaveLength(2);
    await runtime.feedback.resolve(one?.id ?? '', 'one');
    expect(await run.context.get('run.pauseReasons')).toHaveLength(1);
    expect((await run.state()).value).toBe('paused');
    expect(calls.filter((call) => call === 'developer')).toHaveLength(1);
    await runtime.feedback.resolve(other?.id ?? '', 'other');
    expect((await run.result()).verdict).toBe('verified');
    expect(calls.filter((call) => call === 'developer')).toHaveLength(2);
    await runtime.close();
    await expectReplays(file, [plan]);
  });

  it('a pause by the host holds the loops back as well, and their agents', async () => {
    const { runtime, run, calls } = await opened();
    await run.pause('lunch');
    const id = await runtime.feedback.trigger({ run: 'r', source: 'developer', ...CONSTRAINT });
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(calls.filter((call) => call.endsWith('?'))).toEqual([]);
    await run.resume('lunch');
    await runtime.feedback.waitForResolution(id);
  });
});

describe('limits', () => {
  it('B16: the fourth feedback of one source to one target about one subject has a person decide', async () => {
    const { runtime } = await opened();
    const given = { run: 'r', source: 'developer', ...CONSTRAINT };
    for (let round = 1; round <= 3; round += 1)
      await runtime.feedback.waitForResolution(await runtime.feedback.trigger(given));
    // Counted for each pair, whatever else the loop is about.
    const id = await runtime.feedback.trigger({ ...given, targets: ['pm'] });
    expect(await runtime.feedback.loop(id)).toMatchObject({
      status: 'escalated',
      escalationReason: 'The limit "rounds" of 3 was met.',
    });
  });

  it('B16: so has the feedback after the twentieth of a run', async () => {
    const { runtime, run, file, plan } = await opened();
    const given = { run: 'r', source: 'developer', ...CONSTRAINT };
    for (let n = 1; n <= 20; n += 1)
      await runtime.feedback.waitForResolution(
        await runtime.feedback.trigger({ ...given, requirement: `REQ-${n}` }),
      );
    const id = await runtime.feedback.trigger({ ...given, requirement: 'REQ-21' });
    expect(await runtime.feedback.loop(id)).toMatchObject({
      status: 'escalated',
      escalationReason: 'The limit "feedbacks" of 20 was met.',
    });
    const [question] = await runtime.questions({ run: run.id });
    await runtime.answer(question?.id ?? '', 'retry');
    expect(await runtime.feedback.waitForResolution(id)).toMatchObject({ option: 'revise_architecture' });
    await runtime.close();
    await expectReplays(file, [plan]);
  });
});

describe('bad input', () => {
  it('B1, B9: a feedback that cannot be sent is refused with everything that is wrong, and nothing is written', async () => {
    const { runtime } = await opened();
    const bad = {
      run: 'r',
      source: 'developer',
      type: '',
      targets: [],
      severity: 'huge',
      description: ' ',
      timeMs: -1,
    };
    const error = await refusal(runtime.feedback.trigger(bad as never), 'BAD_FEEDBACK');
    expect(error.fields.problems).toHaveLength(5);
    const given = { run: 'r', ...CONSTRAINT };
    const problems = async (more: Partial<GivenFeedback> & { source: string }) =>
      (await refusal(runtime.feedback.trigger({ ...given, ...more }), 'BAD_FEEDBACK')).fields.problems.join();
    expect(await problems({ source: 'nobody' })).toContain('"nobody" is no agent of this run');
    expect(await problems({ source: 'architect', targets: ['qa'] })).toContain('comes after');
    expect(await problems({ source: 'qa', options: [{ option: 'x', rerun: ['boss'] }] })).toContain('"boss"');
    await refusal(runtime.feedback.trigger({ ...given, run: 'other', source: 'qa' }), 'UNKNOWN_RUN');
    await refusal(runtime.feedback.resolve('r/loop-1', 'x'), 'UNKNOWN_LOOP');
    expect(await runtime.feedback.loops('r')).toEqual([]);
  });

  it('an answer of an agent whose feedback has no form is a failed attempt, and the next is told why', async () => {
    const file = temporaryFile();
    const failures: (string | null)[] = [];
    const plan = planRun('two', {
      steps: [{ id: 'a' }, { id: 'b', needs: ['a'] }],
      roles: { b: { backoffMs: 1 } },
    });
    const runtime = await open({
      file,
      workflows: [plan],
      agents: {
        a: () => 1,
        b: ({ failure, attempt }) => {
          failures.push(failure);
          return attempt === 1 ? answer(null, { feedback: [{ type: 'x' }] }) : 2;
        },
      },
    });
    const run = await runtime.start('two', null);
    expect((await run.result()).verdict).toBe('verified');
    expect(failures[1]).toContain('feedback[0]: "targets" must name agents');
  });

  it('messages of strangers are not taken for those of a loop, or of its targets', async () => {
    const { runtime, run } = await opened({ decides: asked(never) });
    const id = await runtime.feedback.trigger({ run: 'r', source: 'developer', ...CONSTRAINT });
    const resolution = {
      option: 'x',
      value: null,
      note: null,
      by: [],
      effect: { rerun: [], keep: false, debt: true },
      isManual: true,
    };
    for (const message of [
      {
        type: 'agent.done',
        request: 'decide.1',
        answer: { output: 'revise_requirement' },
        attempts: 1,
        spent: {},
      },
      { type: 'resolution.complete' },
      { type: 'validation.passed' },
      { type: 'workflow.complete' },
    ])
      expect((await runtime.send(id, message)).taken).toBe(false);
    for (const type of ['loop.apply', 'loop.resolved', 'loop.validate', 'loop.escalated', 'loop.retry'])
      expect((await run.send({ type, resolution } as never)).taken).toBe(false);
    expect((await runtime.feedback.loop(id)).state).toBe('waitingResponse');
  });
});

it('a person may be a target: the question has the options of the feedback', async () => {
  const file = temporaryFile();
  const plan = planRun('person', {
    steps: [
      { id: 'spec', agent: 'boss' },
      { id: 'build', agent: 'dev', needs: ['spec'] },
    ],
    persons: { boss: { text: 'What shall we build?' } },
  });
  const options = [{ option: 'cheap', impact: 'slow', effort: 'low' }, { option: 'dear' }];
  const given: GivenFeedback = {
    type: 'constraint_violation',
    targets: ['boss'],
    severity: 'high',
    description: 'It costs money.',
    options,
  };
  const runtime = await open({
    file,
    workflows: [plan],
    agents: {
      dev: (request: Request) =>
        isFeedbackRequest(request.input) || request.input.decisions
          ? { built: request.input }
          : answer(null, { feedback: [given] }),
    },
  });
  const run = await runtime.start('person', null, { id: 'r' });
  await run.settled();
  const [first] = await runtime.questions();
  await runtime.answer(first?.id ?? '', null, { value: 'a shop' });
  await expect
    .poll(async () => (await runtime.questions()).map(({ text }) => text))
    .toEqual(['It costs money.']);
  const [second] = await runtime.questions();
  expect(second?.options).toEqual([
    { id: 'cheap', label: 'cheap', impact: 'slow', effort: 'low', isProposed: true },
    { id: 'dear', label: 'dear', isProposed: true },
  ]);
  await runtime.answer(second?.id ?? '', 'dear', { by: 'ann' });
  expect((await run.result()).verdict).toBe('verified');
  await runtime.close();
  await expectReplays(file, [plan]);
});
