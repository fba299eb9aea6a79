import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { assign, emit, setup } from 'xstate';
import {
  agentCall,
  answer,
  createRuntime,
  openLog,
  planRun,
  type Runtime,
  recordedCalls,
  repeatLoop,
  storyLoop,
  type WhatIfOptions,
  workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { approve, approveNth, draftPlan, never, reject, writeNew } from '../support/draft-plan.ts';
import { decision } from '../support/machines.ts';
import { pathsOf, playTight, rowsOf, scripted, someScript, tight, verdictOf } from '../support/past-runs.ts';
import { somePlan } from '../support/random-plan.ts';
import { createFakeClock, open, refusal, rounds } from '../support/runtimes.ts';

const statesOf = async (runtime: Pick<Runtime, 'verify'>): Promise<string> => {
  const { log, replay } = await runtime.verify();
  expect([log.problem, replay.problem]).toEqual([undefined, undefined]);
  return replay.states;
};

const headOf = async (file: string) => {
  const log = await openLog(file);
  try {
    return await log.head();
  } finally {
    await log.close();
  }
};

/** Where agents of a role answered. */
const answersOf = async (runtime: Pick<Runtime, 'audit'>, role: string) =>
  (await runtime.audit({ types: ['lw.call.done'], limit: 1_000 })).filter(({ actor }) =>
    actor.endsWith(`agent:${role}`),
  );

type Asked = readonly [agent: string, input: unknown];

/** Who was asked what. How many passes there may be in all is no part of it. */
const askedOf = ({ agent, input }: { readonly agent: string; readonly input: unknown }): Asked => {
  const { passesMax: _, ...rest } = input as { readonly passesMax?: number }; // The input of a tight loop.
  return [agent, rest];
};

/** All that was asked and answered up to a position. */
const answeredUpTo = async (file: string, position: number): Promise<readonly Asked[]> => {
  const log = await openLog(file);
  try {
    const { length } = await log.events({ run: 'r', types: ['lw.call.done'], before: position + 1 });
    const calls = await recordedCalls(log, { run: 'r', workflows: [tight] });
    return calls.slice(0, length).map(({ agent, work }) => askedOf({ agent, input: work.input }));
  } finally {
    await log.close();
  }
};

describe('X10, K6: a branch of a run', () => {
  it('X10: without a change has byte-identical states to the end, makes no call, and leaves its parent alone', async () => {
    await fc.assert(
      fc.asyncProperty(someScript, fc.boolean(), async (script, inFile) => {
        const { file, runtime, calls } = await playTight(script);
        const before = { calls: calls.length, head: await headOf(file) };
        const branch = await runtime.whatIf('r', { calls: 'make', ...(inFile && { file: temporaryFile() }) });
        expect(branch.difference).toBeNull();
        expect([branch.calls, branch.made()]).toEqual([[], []]);
        expect(await rowsOf(branch.runtime, 'r')).toEqual(await rowsOf(runtime, 'r'));
        expect(await statesOf(branch.runtime)).toBe(await statesOf(runtime));
        await branch.close();
        expect({ calls: calls.length, head: await headOf(file) }).toEqual(before);
        await runtime.close();
        expect(await headOf(file)).toEqual(before.head);
      }),
      { numRuns: rounds(12, 200) },
    );
  });

  it('X10: one changed answer changes nothing and makes no call before it; what is listed is what is then made', async () => {
    await fc.assert(
      fc.asyncProperty(
        someScript,
        fc.nat(),
        fc.nat(3),
        fc.boolean(),
        async (script, which, fault, isReview) => {
          const { file, runtime, calls } = await playTight(script);
          const all = await answersOf(runtime, isReview ? 'reviewer' : 'tester');
          const changed = all[which % Math.max(1, all.length)];
          if (!changed) return runtime.close();
          const [made, head] = [calls.length, await headOf(file)];
          const answers = [{ at: changed.position, output: verdictOf(fault, 1) }];
          const listed = await runtime.whatIf('r', { answers });
          expect(calls.length).toBe(made);
          const branch = await runtime.whatIf('r', { answers, calls: 'make', file: temporaryFile() });
          await branch.run.settled();

          // Up to the changed answer every row is the parent's.
          const upTo = (await runtime.audit({ run: 'r', before: changed.position, limit: 10_000 })).length;
          expect((await rowsOf(branch.runtime, 'r')).slice(0, upTo)).toEqual(
            (await rowsOf(runtime, 'r')).slice(0, upTo),
          );
          // Nobody was asked anew what they had answered up to the change.
          const before = await answeredUpTo(file, changed.position);
          expect(before.length).toBeGreaterThan(0);
          for (const call of branch.made()) expect(before).not.toContainEqual(askedOf(call));
          expect(calls.slice(made).every(({ callId }) => callId.startsWith(branch.id))).toBe(true);
          expect(branch.made().length).toBe(calls.length - made);
          // What was listed comes first; after it may come what nobody could know.
          const whole = ({ agent, input }: { readonly agent: string; readonly input: unknown }) => [
            agent,
            input,
          ];
          expect(branch.made().slice(0, listed.calls.length).map(whole)).toEqual(listed.calls.map(whole));
          if (listed.calls.length === 0) expect(branch.made()).toEqual([]);

          await statesOf(branch.runtime);
          await Promise.all([listed.close(), branch.close()]);
          await runtime.close();
          expect(await headOf(file)).toEqual(head);
        },
      ),
      { numRuns: rounds(12, 200) },
    );
  });

  it('X10: an answer to another input is not used, one to the same input is, wherever it is asked for', async () => {
    const { runtime } = await playTight({ reviews: [], tests: [0, 1, 2, 0] });
    const [first, second] = await answersOf(runtime, 'tester');
    // The developer of the second pass is told of another failure than it was: nobody knows what it would have done.
    const other = await runtime.whatIf('r', {
      answers: [{ at: first?.position ?? 0, output: verdictOf(2, 1) }],
    });
    expect(other.calls).toMatchObject([{ agent: 'developer', input: { pass: 2 } }]);
    expect(other.reused).toBe(3);
    await other.close();
    // The same words again: all that follows is known.
    const again = await runtime.whatIf('r', {
      answers: [{ at: second?.position ?? 0, output: verdictOf(2, 2) }],
    });
    expect([again.verdict, again.calls]).toEqual(['verified', []]);
    await again.close();
    await runtime.close();
  });

  it('X10: a changed limit changes nothing before its first use, and is felt there', async () => {
    let felt = 0;
    await fc.assert(
      fc.asyncProperty(
        someScript,
        fc.integer({ min: 1, max: 4 }),
        fc.boolean(),
        async (script, passes, fromStart) => {
          const { runtime } = await playTight(script);
          const before = await pathsOf(runtime, 'r');
          const events = await runtime.audit({ run: 'r', limit: 10_000 });
          const ended = events.filter(
            ({ type, data }) => type === 'loop.pass' && data['status'] !== 'verified',
          );
          const at = events[0]?.position ?? 0;
          const branch = await runtime.whatIf('r', { limits: { passes }, ...(!fromStart && { at }) });
          // The row that says so stands between them if the limit came later.
          const after = (await pathsOf(branch.runtime, 'r')).filter(([, kind]) => kind !== 'migrated');
          // A pass that is one too many now ends the loop in the turn in which it ends; whatever came before it came as it did.
          const used = ended[passes - 1];
          const isFelt = used !== undefined && events.some(({ turn }) => turn > used.turn);
          const parted = before.findIndex(
            (row, index) => JSON.stringify(row) !== JSON.stringify(after[index]),
          );
          if (!isFelt) expect(after).toEqual(before);
          else {
            felt += 1;
            expect(events[parted]?.turn).toBe(used.turn);
            expect((await branch.runtime.why('r')).limit).toMatchObject({ limit: 'passes', bound: passes });
          }
          expect(branch.calls).toEqual([]);
          await statesOf(branch.runtime);
          await branch.close();
          await runtime.close();
        },
      ),
      { numRuns: rounds(12, 200), examples: [[{ reviews: [], tests: [0, 3, 3, 3] }, 2, true]] },
    );
    expect(felt).toBeGreaterThan(0);
  });

  it('X10: a time limit that is never used leaves the simulation with the states of the log', async () => {
    await fc.assert(
      fc.asyncProperty(someScript, async (script) => {
        const { runtime } = await playTight(script);
        const branch = await runtime.whatIf('r', { limits: { timeMs: 1_000_000_000 } });
        // The timer of the limit is the only thing that is new.
        expect(branch.difference).toMatchObject({ what: 'calls', recorded: { type: 'agent.request' } });
        expect(branch.calls).toEqual([]);
        expect(await pathsOf(branch.runtime, 'r')).toEqual(await pathsOf(runtime, 'r'));
        await branch.close();
        await runtime.close();
      }),
      { numRuns: rounds(8, 100) },
    );
  });

  it('X10: plans of any shape, with agents side by side that fail now and then, come through the same', async () => {
    const somePlay = fc.record({
      steps: somePlan({ stepsMax: 5 }),
      table: fc.array(fc.nat(99), { minLength: 17, maxLength: 17, size: 'max' }),
      which: fc.nat(),
    });
    await fc.assert(
      fc.asyncProperty(somePlay, async ({ steps, table, which }) => {
        let calls = 0;
        const act = (role: string) => async () => {
          calls += 1;
          const chance = table[(calls * 7 + role.length) % table.length] ?? 0;
          for (let ticks = chance % 5; ticks > 0; ticks -= 1)
            await new Promise((resolve) => setImmediate(resolve));
          if (chance > 90) throw new Error('busy');
          return role.startsWith('r') ? verdictOf(chance % 3, chance) : { text: chance };
        };
        const roles = steps.flatMap(({ id, gate }) => gate?.reviewers ?? [id]);
        const plan = planRun('any', {
          steps,
          limits: { passes: 3, calls: 30 },
          roles: Object.fromEntries(roles.map((role) => [role, { attempts: 2, backoffMs: 1 }])),
        });
        const agents = Object.fromEntries(roles.map((role) => [role, act(role)]));
        const runtime = await createRuntime({ file: temporaryFile(), workflows: [plan], agents });
        await (await runtime.start('any', 'x', { id: 'a' })).settled();
        const made = calls;
        const same = await runtime.whatIf('a', { calls: 'make' });
        expect(same.difference).toBeNull();
        expect(await statesOf(same.runtime)).toBe(await statesOf(runtime));
        const timed = await runtime.whatIf('a', { limits: { timeMs: 1_000_000_000 } });
        expect(timed.calls).toEqual([]);
        expect(await pathsOf(timed.runtime, 'a')).toEqual(await pathsOf(runtime, 'a'));
        const answers = await runtime.audit({ types: ['lw.call.done'], limit: 1_000 });
        const changed = answers[which % Math.max(1, answers.length)];
        if (changed) {
          const output = {
            passed: false,
            text: 'other',
            issues: [{ severity: 'critical', description: 'another' }],
          };
          const other = await runtime.whatIf('a', { answers: [{ at: changed.position, output }] });
          const upTo = (await runtime.audit({ before: changed.position, limit: 10_000 })).length;
          expect((await rowsOf(other.runtime, 'a')).slice(0, upTo)).toEqual(
            (await rowsOf(runtime, 'a')).slice(0, upTo),
          );
          await statesOf(other.runtime);
          await other.close();
        }
        expect((await runtime.compareMachines()).map(({ kind }) => kind)).toEqual(['identical']);
        expect(calls).toBe(made);
        await Promise.all([same.close(), timed.close()]);
        await runtime.close();
      }),
      { numRuns: rounds(10, 200) },
    );
  });

  it('K6: a time limit that would have been met is met in the branch, at its time', async () => {
    const clock = createFakeClock();
    const { agents } = scripted({ reviews: [0, 0, 0, 0, 0, 0, 0, 0], tests: [3, 3, 3, 0, 0, 0, 0, 0] });
    const runtime = await open({
      file: temporaryFile(),
      workflows: [tight],
      clock,
      agents: {
        ...agents,
        developer: (request) => {
          clock.advance(60_000);
          return agents.developer(request);
        },
      },
    });
    const run = await runtime.start('tight-loop', 'Add CSV export', { id: 'r' });
    expect((await run.result()).verdict).toBe('verified');
    const branch = await runtime.whatIf('r', { limits: { timeMs: 90_000 } });
    expect((await branch.run.state()).value).toBe('asking');
    expect((await branch.runtime.questions())[0]?.details).toMatchObject({
      halt: { met: { limit: 'timeMs', bound: 90_000 } },
    });
    const startedAtMs = (await runtime.runs())[0]?.startedAtMs ?? 0;
    expect((await branch.runtime.audit({ types: ['loop.halted'] }))[0]?.atMs).toBe(startedAtMs + 90_000);
    await branch.close();
  });

  it('X10: no id of a branch is one of its parent, nor what its agents are told', async () => {
    const { runtime, calls, file } = await playTight({ reviews: [], tests: [3, 3, 3, 0] });
    const made = calls.length;
    const [first] = await answersOf(runtime, 'developer');
    const branch = await runtime.whatIf('r', {
      answers: [{ at: first?.position ?? 0, output: { summary: 'something else' } }],
      calls: 'make',
    });
    await branch.run.result();
    const idsOf = async (log: Runtime) => (await log.audit({ limit: 10_000 })).map(({ id }) => id);
    const parents = new Set(await idsOf(runtime));
    expect((await idsOf(branch.runtime)).filter((id) => parents.has(id))).toEqual([]);
    const told = calls.slice(made);
    expect(told.length).toBeGreaterThan(0);
    for (const { callId, run } of told) {
      expect(calls.slice(0, made).map((call) => call.callId)).not.toContain(callId);
      expect(run).not.toBe('r');
    }
    // The files of the run are as the run left them.
    expect(readFileSync(`${file}.runs/r/feedback-scratchpad.md`, 'utf8')).not.toContain('something else');
    await branch.close();
    await runtime.close();
  });

  it('X10: files of a branch are its own, and its agents are told where they are', async () => {
    const { runtime, file } = await playTight({ reviews: [], tests: [3, 3, 0, 0] });
    await runtime.close();
    const told: string[] = [];
    const { agents } = scripted({ reviews: [], tests: [] });
    const again = await open({
      file,
      workflows: [tight],
      agents: {
        ...agents,
        developer: (request) => {
          told.push(request.input.scratchpad ?? '');
          return agents.developer(request);
        },
      },
    });
    const other = temporaryFile();
    const [, second] = await answersOf(again, 'tester');
    const branch = await again.whatIf('r', {
      answers: [{ at: second?.position ?? 0, output: verdictOf(1, 2) }],
      file: other,
      calls: 'make',
    });
    await branch.run.settled();
    expect(told).toEqual([`${other}.runs/r/feedback-scratchpad.md`]);
    expect(existsSync(`${other}.runs/r/feedback-scratchpad.md`)).toBe(true);
    await branch.close();
  });
});

describe('what a branch can change', () => {
  const plan = draftPlan({ limits: { passes: 2 } });
  const playPlan = async () => {
    const file = temporaryFile();
    const runtime = await open({
      file,
      workflows: [plan],
      agents: { writer: writeNew, critic: approveNth(4) },
    });
    const run = await runtime.start('draft', 'a poem', { id: 'p' });
    await run.settled();
    return { runtime, run, file };
  };

  it('K6: the answer of a person: what they might have said, of a question that is answered or open', async () => {
    const { runtime, run } = await playPlan();
    const [question] = await runtime.questions();
    const [opened] = await runtime.audit({ types: ['question.opened'] });
    const ifCancelled = await runtime.whatIf('p', {
      answers: [{ at: opened?.position ?? 0, option: 'cancel', by: 'ada' }],
    });
    expect(ifCancelled.verdict).toBe('cancelled');
    await ifCancelled.close();

    await runtime.answer(question?.id ?? '', 'accept', { by: 'ada', note: 'good enough' });
    expect((await run.result()).verdict).toBe('accepted');
    const [said] = await runtime.audit({ types: ['question.answer'] });
    const ifContinued = await runtime.whatIf('p', {
      answers: [{ at: said?.position ?? 0, option: 'continue', by: 'bob' }],
      calls: 'make',
      file: temporaryFile(),
    });
    expect(ifContinued.verdict).toBeNull();
    expect((await ifContinued.run.result()).verdict).toBe('verified');
    expect((await ifContinued.runtime.audit({ types: ['run.decided'] }))[0]?.data).toMatchObject({
      option: 'continue',
      by: 'bob',
    });
    await ifContinued.close();
    const forgotten = await runtime.whatIf('p', { answers: [{ at: said?.position ?? 0, forget: true }] });
    expect((await forgotten.runtime.questions()).map(({ id }) => id)).toEqual([question?.id]);
    await forgotten.close();
  });

  it('K6: limits that a person would have raised; what was answered under the old ones is used again', async () => {
    const { runtime } = await playPlan();
    const branch = await runtime.whatIf('p', { limits: { passes: 3 }, calls: 'make' });
    await branch.run.settled();
    // The third draft and its review are new; the first two are known.
    expect(branch.made().map(({ agent }) => agent)).toEqual(['writer', 'critic']);
    expect(branch.reused).toBe(4);
    await branch.close();
  });

  it('K6: another machine, from the start or from a position on', async () => {
    const chart = (approver: 'approved' | 'rejected') =>
      workflow(
        'doc',
        setup({
          types: {
            context: {} as { notes: string[] },
            events: {} as { type: 'NOTE'; text: string } | { type: 'VOTE' },
          },
          actors: { helper: agentCall<{ notes: string[] }, string>() },
        }).createMachine({
          context: { notes: [] },
          initial: 'open',
          states: {
            open: {
              on: {
                NOTE: { actions: assign({ notes: ({ context, event }) => [...context.notes, event.text] }) },
                VOTE: 'helping',
              },
            },
            helping: {
              invoke: { src: 'helper', input: ({ context }) => ({ notes: context.notes }), onDone: approver },
            },
            approved: { type: 'final' },
            rejected: { type: 'final' },
          },
          output: ({ event }) => ({ verdict: event.type.includes('done') ? 'verified' : 'failed' }),
        }),
      );
    const runtime = await open({
      file: temporaryFile(),
      workflows: [chart('approved')],
      agents: { helper: () => 'yes' },
    });
    const run = await runtime.start('doc', undefined, { id: 'd' });
    await run.send({ type: 'NOTE', text: 'one' } as never);
    const noted = (await runtime.audit({ run: 'd', reverse: true, limit: 1 }))[0]?.position ?? 0;
    await run.send({ type: 'VOTE' } as never);
    await run.result();
    for (const change of [{}, { at: noted }] satisfies WhatIfOptions[]) {
      const branch = await runtime.whatIf('d', { machines: [chart('rejected')], ...change });
      expect((await branch.runtime.actor('d')).value).toBe('rejected');
      expect((await branch.runtime.actor('d')).context).toEqual({ notes: ['one'] });
      expect(branch.calls).toEqual([]);
      expect(branch.difference?.position).toBeGreaterThan(noted);
      await statesOf(branch.runtime);
      await branch.close();
    }
  });

  it('K6: agents that failed, costs, nested runs, repeats and persons come through as they were', async () => {
    const inner = planRun('inner', { steps: [{ id: 'part', agent: 'writer' }] });
    const outer = planRun('outer', {
      steps: [
        { id: 'nested', run: inner },
        { id: 'ask', agent: 'lead', needs: ['nested'] },
        { id: 'check', needs: ['ask'], gate: { reviewers: ['critic'], corrects: 'nested' } },
      ],
      roles: { critic: { attempts: 3, backoffMs: 1 } },
      persons: { lead: { text: 'Go on?' } },
    });
    const repeats = repeatLoop('again', { agent: 'worker' });
    let failed = 0;
    const runtime = await open({
      file: temporaryFile(),
      workflows: [outer, inner, repeats],
      agents: {
        writer: ({ feedback }) => answer({ text: feedback.length }, { usage: { costUsd: 0.25 } }),
        critic: () => {
          failed += 1;
          if (failed < 3) throw new Error('busy');
          return approve();
        },
        worker: ({ input }) => ({ done: input.repeat >= 3 }),
      },
    });
    const run = await runtime.start('outer', 'both', { id: 'o' });
    await run.settled();
    const [question] = await runtime.questions();
    await runtime.answer(question?.id ?? '', null, { value: 'yes', by: 'ada' });
    await run.result();
    await (await runtime.start('again', 'thrice', { id: 'w' })).result();
    for (const id of ['o', 'w']) {
      const branch = await runtime.whatIf(id);
      expect(branch.difference).toBeNull();
      expect(await rowsOf(branch.runtime, id)).toEqual(await rowsOf(runtime, id));
      await branch.close();
    }
    const [, , third] = await answersOf(runtime, 'worker');
    const notDone = await runtime.whatIf('w', {
      answers: [{ at: third?.position ?? 0, output: { done: false } }],
    });
    expect(notDone.calls).toMatchObject([{ agent: 'worker', input: { repeat: 4 } }]);
    await notDone.close();
    const [asked] = await runtime.audit({ run: 'o', types: ['lw.call.failed'] });
    const forgot = await runtime.whatIf('o', { answers: [{ at: asked?.position ?? 0, forget: true }] });
    expect(forgot.calls).toMatchObject([{ agent: 'critic', attempt: 1 }]);
    await forgot.close();
  });

  it('K6: what is wrong with a branch is said all at once, and nothing is made', async () => {
    const { runtime, file } = await playPlan();
    const error = await refusal(
      runtime.whatIf('p', {
        at: 9_999,
        answers: [
          { at: 1, output: 'x' },
          { at: (await runtime.audit({ types: ['question.opened'] }))[0]?.position ?? 0, option: 'maybe' },
          { at: (await answersOf(runtime, 'writer'))[0]?.position ?? 0, option: 'accept' },
        ],
      }),
      'BAD_BRANCH',
    );
    expect(error.fields.problems).toHaveLength(4);
    await refusal(runtime.whatIf('nobody'), 'UNKNOWN_RUN');
    await refusal(runtime.whatIf('p', { limits: { passes: -1 } }), 'BAD_OPTION');
    await refusal(runtime.whatIf('p', { limits: { pases: 1 } as never }), 'BAD_OPTION');
    await refusal(runtime.whatIf('p', { file }), 'FILE_EXISTS');
  });

  it('K6: a run that is open: its open call is listed, and made if asked; messages to others runs come along', async () => {
    const teller = workflow(
      'teller',
      setup({
        types: {
          events: {} as { type: 'TELL' },
          emitted: {} as { type: 'APPROVE'; to: string; who: string },
        },
      }).createMachine({
        on: { TELL: { actions: emit({ type: 'APPROVE', to: 'd', who: 'teller' }) } },
      }),
    );
    const runtime = await open({
      file: temporaryFile(),
      workflows: [decision, teller, plan],
      agents: { writer: never, critic: reject },
    });
    await runtime.start('decision', undefined, { id: 'd' });
    const run = await runtime.start('teller', undefined, { id: 't' });
    await run.send({ type: 'TELL' });
    const branch = await runtime.whatIf('t');
    expect((await branch.runtime.actor('d')).value).toBe('approved');
    expect(await rowsOf(branch.runtime, 'd')).toEqual(await rowsOf(runtime, 'd'));
    await branch.close();
    await runtime.start('draft', 'a poem', { id: 'p' });
    await expect
      .poll(async () => (await runtime.audit({ run: 'p', types: ['lw.call.begun'] })).length)
      .toBe(1);
    const openRun = await runtime.whatIf('p');
    expect(openRun.calls).toMatchObject([{ agent: 'writer', attempt: 1 }]);
    const [begun] = await runtime.audit({ run: 'p', types: ['lw.call.begun'] });
    const told = await runtime.whatIf('p', {
      answers: [{ at: begun?.position ?? 0, output: { text: 'draft 1' } }],
    });
    expect(told.calls).toMatchObject([{ agent: 'critic' }]);
    await Promise.all([openRun.close(), told.close()]);
  });

  it('K6: large texts come along, and one that is given is cut and kept like any other', async () => {
    const seen: number[] = [];
    const runtime = await open({
      file: temporaryFile(),
      workflows: [plan],
      agents: {
        writer: ({ feedback }) => ({ text: `${feedback.length} ${'long '.repeat(10_000)}` }),
        critic: (request) => {
          seen.push(JSON.stringify(request.input.inputs['write']).length);
          return { passed: seen.length > 1, issues: [{ severity: 'critical', description: 'too long' }] };
        },
      },
    });
    await (await runtime.start('draft', 'x', { id: 'p' })).result();
    const [first] = await answersOf(runtime, 'writer');
    const branch = await runtime.whatIf('p', {
      answers: [{ at: first?.position ?? 0, output: { text: 'other '.repeat(20_000) } }],
      calls: 'make',
      file: temporaryFile(),
    });
    expect((await branch.run.result()).verdict).toBe('verified');
    // Its critic was given the whole text, not the name of it.
    expect(seen.at(2)).toBeGreaterThan(100_000);
    await statesOf(branch.runtime);
    await branch.close();
  });

  it('K6: a branch in a file is a log like any other: it is read back, verified and goes on', async () => {
    const { runtime } = await playPlan();
    const file = temporaryFile();
    const [opened] = await runtime.audit({ types: ['question.opened'] });
    const branch = await runtime.whatIf('p', {
      answers: [{ at: opened?.position ?? 0, option: 'continue' }],
      file,
    });
    const listed = branch.calls;
    await branch.close();
    await runtime.close();
    const second = await createRuntime({
      file,
      workflows: [plan],
      agents: { writer: writeNew, critic: approveNth(3) },
    });
    expect(listed).toMatchObject([{ agent: 'writer' }]);
    expect((await (await second.run('p')).result()).verdict).toBe('verified');
    await statesOf(second);
    await second.close();
  });
});

it('X10, R6: a branch of a run with stories leaves their files as they are', async () => {
  const file = temporaryFile();
  const story = `${file}.md`;
  writeFileSync(story, '---\nid: csv\ntitle: Export as CSV\n---\n\nPeople want their data.\n');
  const loop = storyLoop('stories', { mode: 'auto' });
  const runtime = await open({
    file,
    workflows: [loop],
    agents: {
      research: () => ({}),
      plan: () => ({}),
      implement: () => ({}),
      review: () => ({ decision: 'approved', passed: true, issues: [], feedback: '' }),
      'create-pr': () => ({}),
    },
  });
  const run = await runtime.start('stories', { stories: [story] }, { id: 'r' });
  expect((await run.result()).verdict).toBe('verified');
  const before = readFileSync(story, 'utf8');
  const answered = await runtime.audit({ run: 'r', types: ['lw.call.done'], limit: 1_000 });
  const review = answered.find(({ actor }) => actor.endsWith('/agent:review'));
  const output = {
    decision: 'rejected',
    passed: false,
    issues: [{ severity: 'critical', category: 'logic', description: 'no' }],
  };
  const branch = await runtime.whatIf('r', {
    answers: [{ at: review?.position ?? 0, output }],
    calls: 'make',
  });
  await branch.run?.settled();
  await branch.close();
  expect(readFileSync(story, 'utf8')).toBe(before);
});
