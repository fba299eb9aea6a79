import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  type Command,
  type CommandOutcome,
  isRuntimeError,
  type Runtime,
  sendCommand,
} from '../../src/index.ts';
import { type Inbox, openInbox } from '../../src/store/inbox.ts';
import { createRandom } from '../store/seeded-random.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { faultEnvironment, sharedPlan } from '../support/faultfs.ts';
import { decision } from '../support/machines.ts';
import { committedPosition, expectReplays, open, refusal, rounds } from '../support/runtimes.ts';
import { startWorker } from '../support/worker-process.ts';

const workflows = [decision];

/** What someone who tried to decide was told. */
type Told = 'decided' | 'too late' | 'not heard';

const toldByOutcome = (outcome: string | undefined): Told => {
  if (outcome === undefined) return 'not heard';
  const told = JSON.parse(outcome) as CommandOutcome; // The owner of the log wrote it.
  if (told.ok) return told.taken ? 'decided' : 'too late';
  expect(told.error.code).toBe('STALE_VERSION');
  return 'too late';
};

const toldByReceipt = (sent: Promise<{ readonly taken: boolean }>): Promise<Told> =>
  sent.then(
    ({ taken }) => (taken ? 'decided' : 'too late'),
    (error: unknown) => {
      if (isRuntimeError(error, 'STALE_VERSION')) return 'too late';
      if (isRuntimeError(error, 'RUNTIME_CLOSED')) return 'not heard';
      throw error;
    },
  );

/** What a second runtime finds of a decision: who decided, by the state, by the facts and by the messages that were taken. */
const decidersOf = async (runtime: Runtime, id: string) => {
  const { context } = await runtime.actor(id);
  const who = async (kind: 'fact' | 'message') =>
    (await runtime.audit({ run: id, kinds: [kind] })).map(({ data }) => data.who);
  return {
    state: (context as { decided: readonly string[] }).decided,
    facts: await who('fact'),
    messages: await who('message'),
  };
};

interface Attempt {
  readonly who: string;
  /** What its sender was told; asked for when all is over. */
  readonly told: () => Promise<Told>;
}

const commandOf = (id: string, who: string, expectedVersion?: number): Command => ({
  kind: 'send',
  to: id,
  message: { type: who.endsWith('0') ? 'REJECT' : 'APPROVE', who },
  ...(expectedVersion !== undefined && { expectedVersion }),
});

const postTo = (inbox: Inbox, command: Command, who: string): Attempt => {
  inbox.post({ id: who, kind: command.kind, body: JSON.stringify(command), by: who, atMs: 1 });
  return { who, told: async () => toldByOutcome(inbox.outcome(who)) };
};

const RUNS_AT_ONCE = 20;

// Method: many runs wait for a person. 2 to 20 people decide on each at once: some through the host, some through the inbox,
// some with the version that they have seen, some without. The runtime may be closed at any moment, and the next one goes on.
describe('G15: a decision is made once, whoever makes it', () => {
  it('G15: 2 to 20 concurrent deciders: one decides, and the others are told that they are too late', async () => {
    const random = createRandom(15);
    const file = temporaryFile();
    const inbox = openInbox(file);
    const total = { decided: 0, 'too late': 0, 'not heard': 0 };
    let decisions = 0;
    for (let batch = 0; decisions < rounds(200, 10_000); batch += 1) {
      const ids = Array.from({ length: RUNS_AT_ONCE }, (_, index) => `${batch}-${index}`);
      const runtime = await open({ file, workflows, agents: {} });
      const runs = await Promise.all(ids.map((id) => runtime.start('decision', null, { id })));
      const states = await Promise.all(runs.map((run) => run.settled()));
      expect(states.every(({ tags, value }) => tags.includes('waiting') && value === 'waiting')).toBe(true);

      const attempts = runs.map((run, index): readonly Attempt[] =>
        Array.from({ length: 2 + random.below(19) }, (_, each) => {
          const who = `${run.id}-${each}`;
          const expectedVersion = random.below(2) === 0 ? states[index]?.version : undefined;
          const command = commandOf(run.id, who, expectedVersion);
          if (random.below(4) === 0) return postTo(inbox, command, who);
          const { message } = command as Extract<Command, { kind: 'send' }>; // commandOf makes no others.
          const told = toldByReceipt(
            runtime.send(run.id, message as { type: string }, {
              by: who,
              ...(expectedVersion !== undefined && { expectedVersion }),
            }),
          );
          return { who, told: () => told };
        }),
      );
      // In half of the batches the owner closes while all this is under way.
      if (batch % 2 === 0) await expect.poll(() => inbox.pending(1), { timeout: 30_000 }).toEqual([]);
      else await sleep(random.below(5));
      await runtime.close();

      const second = await open({ file, workflows, agents: {} });
      for (const [index, id] of ids.entries()) {
        const told = await Promise.all(
          (attempts[index] ?? []).map(async ({ who, told: ask }) => ({ who, told: await ask() })),
        );
        for (const { told: each } of told) total[each] += 1;
        const deciders = told.filter((each) => each.told === 'decided').map(({ who }) => who);
        expect(deciders).toHaveLength(1);
        expect(await decidersOf(second, id)).toEqual({
          state: deciders,
          facts: deciders,
          messages: deciders,
        });
        decisions += 1;
      }
      await second.close();
    }
    inbox.close();
    expect(total.decided).toBe(decisions);
    expect(total['too late']).toBeGreaterThan(decisions);
    await expectReplays(file, workflows);
  });

  it('G15: it waits over any number of restarts, and loses nothing', async () => {
    const file = temporaryFile();
    const first = await open({ file, workflows, agents: {} });
    await first.start('decision', null, { id: 'd' });
    await first.close();
    for (let restart = 0; restart < 5; restart += 1) {
      const runtime = await open({ file, workflows, agents: {} });
      const state = await (await runtime.run('d')).settled();
      expect(state).toMatchObject({ value: 'waiting', tags: ['waiting'], version: 1 });
      await runtime.close();
    }
    const last = await open({ file, workflows, agents: {} });
    const run = await last.run('d', 'decision');
    expect(await run.send({ type: 'APPROVE', who: 'ann' }, { expectedVersion: 1, by: 'ann' })).toMatchObject({
      taken: true,
    });
    const stale = await refusal(
      run.send({ type: 'REJECT', who: 'bob' }, { expectedVersion: 1 }),
      'STALE_VERSION',
    );
    expect(stale.fields).toEqual({ address: 'd', expected: 1, actual: 3 });
    expect(await run.send({ type: 'REJECT', who: 'bob' })).toMatchObject({ taken: false });
    expect(await decidersOf(last, 'd')).toEqual({ state: ['ann'], facts: ['ann'], messages: ['ann'] });
  });

  // Method: the acknowledgement of a decision got lost, and its sender gives the same command again, later and later.
  it('G15: whoever repeats a decision under its id is told what became of it the first time', async () => {
    const file = temporaryFile();
    const first = await open({ file, workflows, agents: {} });
    const run = await first.start('decision', null, { id: 'd' });
    const approve = (runtime: Runtime, who: string) =>
      runtime.send('d', { type: 'APPROVE', who } as { type: string }, {
        id: `by-${who}`,
        expectedVersion: 1,
      });
    const [ann, again] = await Promise.all([approve(first, 'ann'), approve(first, 'ann')]);
    expect([ann, again]).toMatchObject([
      { taken: true, duplicate: false, position: 2 },
      { taken: true, duplicate: true, position: 2 },
    ]);
    const late = await run.send({ type: 'REJECT', who: 'bob' }, { id: 'by-bob' });
    expect(late).toMatchObject({ taken: false, duplicate: false });
    await run.send({ type: 'CLOSE' });
    await first.close();

    const second = await open({ file, workflows, agents: {} });
    const before = committedPosition(file);
    expect(await approve(second, 'ann')).toMatchObject({ taken: true, duplicate: true, position: 2 });
    const repeated = await second.send('d', { type: 'REJECT', who: 'bob' } as { type: string }, {
      id: 'by-bob',
    });
    expect(repeated).toMatchObject({ taken: false, duplicate: true, position: late.position });
    // Who has never been heard is told that it is over.
    await refusal(
      second.send('d', { type: 'REJECT', who: 'cleo' } as { type: string }, { id: 'by-cleo' }),
      'RUN_ENDED',
    );
    expect(committedPosition(file)).toBe(before);
    expect(await decidersOf(second, 'd')).toMatchObject({ state: ['ann'], facts: ['ann', undefined] });
  });

  it('G15: settled() resolves when the wait begins, and again at the end', async () => {
    const runtime = await open({ file: temporaryFile(), workflows, agents: {} });
    const run = await runtime.start('decision');
    expect((await run.settled()).value).toBe('waiting');
    await run.send({ type: 'APPROVE', who: 'ann' });
    const ended = run.settled();
    await run.send({ type: 'CLOSE' });
    expect(await ended).toMatchObject({ value: 'closed', status: 'done' });
    expect(await run.settled()).toMatchObject({ value: 'closed' });
  });
});

/** An owner of the log in a process of its own, which is killed when the test has finished. */
const startOwner = async (file: string, ids: readonly string[], environment: Record<string, string> = {}) => {
  const owner = startWorker('decision-worker', { arguments: [file, ...ids], environment });
  await owner.line('START');
  return owner;
};

describe('G15: commands of a second process', () => {
  it('G15: deciders in this process, an owner in another that is killed at any moment', async () => {
    const random = createRandom(16);
    const file = temporaryFile();
    const inbox = openInbox(file);
    for (let kill = 0; kill < rounds(3, 200); kill += 1) {
      const ids = Array.from({ length: 10 }, (_, index) => `${kill}-${index}`);
      const owner = await startOwner(file, ids);
      const attempts = ids.map((id) =>
        Array.from({ length: 2 + random.below(5) }, (_, each) => {
          const who = `${id}-${each}`;
          return postTo(inbox, commandOf(id, who, random.below(2) === 0 ? 1 : undefined), who);
        }),
      );
      await sleep(random.below(120));
      owner.kill();
      await owner.ended;

      // Whatever the killed owner has left is done by the next one, and nothing is done twice.
      const second = await open({ file, workflows, agents: {} });
      for (const [index, id] of ids.entries()) {
        const told = await Promise.all(
          (attempts[index] ?? []).map(async ({ who, told: ask }) => ({ who, told: await ask() })),
        );
        expect(told.filter((each) => each.told === 'not heard')).toEqual([]);
        const deciders = told.filter((each) => each.told === 'decided').map(({ who }) => who);
        expect(deciders).toHaveLength(1);
        expect(await decidersOf(second, id)).toEqual({
          state: deciders,
          facts: deciders,
          messages: deciders,
        });
      }
      await second.close();
    }
    inbox.close();
    await expectReplays(file, workflows);
  });

  it('G15: a second process gives a command while the owner runs, and hears what became of it', async () => {
    const file = temporaryFile();
    const owner = await startOwner(file, ['d']);
    const send = (who: string, expectedVersion?: number) =>
      sendCommand(file, commandOf('d', who, expectedVersion), { id: who, by: who });
    expect(await send('ann', 1)).toEqual({ ok: true, taken: true, position: 2 });
    expect(await send('bob', 1)).toMatchObject({ ok: false, error: { code: 'STALE_VERSION' } });
    expect(await send('cleo')).toMatchObject({ ok: true, taken: false });
    // The same command again: only its outcome is told.
    expect(await send('ann', 1)).toEqual({ ok: true, taken: true, position: 2 });
    await refusal(
      sendCommand(`${file}.other`, commandOf('d', 'dan'), { timeoutMs: 50 }),
      'COMMAND_TIMED_OUT',
    );
    owner.kill();
    await owner.ended;

    // Without an owner the command is carried out by a runtime that is opened for it.
    const outcome = await sendCommand(
      file,
      { kind: 'send', to: 'd', message: { type: 'CLOSE' } },
      {
        open: () => open({ file, workflows, agents: {}, idle: true }),
      },
    );
    expect(outcome).toMatchObject({ ok: true, taken: true });
    const second = await open({ file, workflows, agents: {} });
    expect(await second.actor('d')).toMatchObject({ status: 'done', context: { decided: ['ann'] } });
    const audited = await second.audit({ run: 'd', kinds: ['message', 'undelivered'] });
    expect(audited.map(({ type, kind }) => [type, kind])).toEqual([
      ['APPROVE', 'message'],
      ['APPROVE', 'undelivered'],
      ['CLOSE', 'message'],
    ]);
  });

  // Method: a library that is loaded into the owner kills it at the first write (or sync) to the log, or to the inbox. The owner
  // has read the command then; it has not committed it, or has not written down what became of it.
  it.each([
    ['between reading a command and committing it', 'log.db-wal', 'write', 1],
    ['in the middle of the commit', 'log.db-wal', 'write', 2],
    ['before the commit is on the disk', 'log.db-wal', 'sync', 1],
    ['between the commit and writing the outcome', 'log.db.inbox', 'write', 1],
    ['in the middle of writing the outcome', 'log.db.inbox', 'write', 2],
    ['before the outcome is on the disk', 'log.db.inbox', 'sync', 1],
  ] as const)(
    'G15: an owner that is killed %s: each command is done exactly once',
    async (_when, match, operation, first) => {
      const file = temporaryFile('log.db');
      const planFile = join(dirname(file), 'plan');
      const plan = sharedPlan(planFile);
      plan.clear();
      const owner = await startOwner(file, ['d'], faultEnvironment(planFile, match));
      // The inbox is there, and its tables are made, before anything is counted.
      const inbox = openInbox(file);
      const before = committedPosition(file);
      plan.set({ operation, action: 'kill', first });
      const [ann, bob] = ['ann', 'bob'].map((who) => postTo(inbox, commandOf('d', who), who));
      expect((await owner.ended).signal).toBe('SIGKILL');
      expect(await ann?.told()).toBe('not heard');
      const isCommitted = committedPosition(file) > before;
      expect(isCommitted).toBe(match === 'log.db.inbox' || operation === 'sync');

      const second = await open({ file, workflows, agents: {} });
      expect([await ann?.told(), await bob?.told()]).toEqual(['decided', 'too late']);
      expect(await decidersOf(second, 'd')).toEqual({ state: ['ann'], facts: ['ann'], messages: ['ann'] });
      await second.close();
      inbox.close();
      await expectReplays(file, workflows);
    },
  );

  it('G15: whoever comes too late is told so, also if the owner was killed before it could say so', async () => {
    const file = temporaryFile('log.db');
    const planFile = join(dirname(file), 'plan');
    const plan = sharedPlan(planFile);
    plan.clear();
    const owner = await startOwner(file, ['d'], faultEnvironment(planFile, 'log.db.inbox'));
    const inbox = openInbox(file);
    const ann = postTo(inbox, commandOf('d', 'ann'), 'ann');
    await expect.poll(() => ann.told()).toBe('decided');
    plan.set({ operation: 'write', action: 'kill' });
    const bob = postTo(inbox, commandOf('d', 'bob'), 'bob');
    await owner.ended;
    expect(await bob.told()).toBe('not heard');

    const second = await open({ file, workflows, agents: {} });
    expect(await bob.told()).toBe('too late');
    expect(await decidersOf(second, 'd')).toEqual({ state: ['ann'], facts: ['ann'], messages: ['ann'] });
    inbox.close();
  });
});
