import { describe, expect, it } from 'vitest';
import { enqueueActions, setup } from 'xstate';
import { hashText } from '../../src/events/blob.ts';
import { encode } from '../../src/events/encode.ts';
import { createRuntime, projection, runSummary, type Workflow, workflow } from '../../src/index.ts';
import { openSqliteLog } from '../../src/store/sqlite/sqlite-log.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { open } from '../support/runtimes.ts';

type Rated = { type: string; n?: number };

/** A machine that counts, and states at each count what it is given to say. */
const rating = (says: (n: number) => readonly Rated[]): Workflow =>
  workflow(
    'rating',
    setup({
      types: { context: {} as { n: number }, events: {} as { type: 'GO' }, emitted: {} as Rated },
    }).createMachine({
      context: { n: 0 },
      on: {
        GO: {
          actions: enqueueActions(({ context, enqueue }) => {
            const n = context.n + 1;
            enqueue.assign({ n });
            for (const fact of says(n)) enqueue.emit(fact);
          }),
        },
      },
    }),
  );

const rated = rating((n) => [{ type: 'rated', n }, { type: 'noted' }]);

/** How often something was rated: a projection of the host's. */
const ratings = projection({
  name: 'ratings',
  version: 1,
  partition: 'run',
  initial: { count: 0 },
  on: {
    rated: (state) => {
      state.count += 1;
    },
  },
});

const GOES = 3;

const leaveLog = async (): Promise<string> => {
  const file = temporaryFile();
  const runtime = await createRuntime({ file, workflows: [rated], agents: {}, projections: [ratings] });
  const run = await runtime.start('rating', undefined, { id: 'r' });
  for (let each = 1; each <= GOES; each += 1) await run.send({ type: 'GO' });
  await runtime.read(runSummary, 'r');
  await runtime.read(ratings, 'r');
  await runtime.close();
  return file;
};

const verified = async (file: string, workflows: readonly Workflow[] = [rated]) => {
  const runtime = await open({ file, workflows, agents: {}, projections: [ratings], idle: true });
  const { log, replay } = await runtime.verify();
  await runtime.close();
  // The digests are right, whatever they are of.
  expect(log.ok).toBe(true);
  return replay;
};

describe('K4: verify folds everything once more', () => {
  it('K4: and finds nothing in a log that is as it was made', async () => {
    expect(await verified(await leaveLog())).toMatchObject({ ok: true, problem: undefined });
  });

  it('K4: a stored view that is not what its events come to, be it our own or the host’s', async () => {
    for (const [view, state] of [
      [runSummary, { ...runSummary.initial, verdict: 'verified' }],
      [ratings, { count: 7 }],
    ] as const) {
      const file = await leaveLog();
      const log = await openSqliteLog({ file });
      const { position } = await log.head();
      const { name, version } = view;
      const key = { projection: name, version, partition: 'r' };
      await log.saveViews([{ ...key, position, state: JSON.stringify(state) }]);
      await log.close();
      expect(await verified(file)).toMatchObject({
        ok: false,
        problem: { position, what: expect.stringContaining(`the view "${name}" of "r"`) },
      });
    }
  });

  it('K4: a view that is stored for an earlier position is compared with what it was there', async () => {
    for (const [count, isRight] of [
      [1, true],
      [2, false],
    ] as const) {
      const file = await leaveLog();
      const log = await openSqliteLog({ file });
      // Of the first GO the row, and then its two facts.
      const [first] = await log.events({ types: ['rated'] });
      const position = (first?.position ?? 0) + 1;
      const key = { projection: ratings.name, version: ratings.version, partition: 'r' };
      await log.saveViews([{ ...key, position, state: JSON.stringify({ count }) }]);
      await log.close();
      expect((await verified(file)).ok).toBe(isRight);
    }
  });

  it('K4: a snapshot that is not what its events come to', async () => {
    const file = await leaveLog();
    const log = await openSqliteLog({ file });
    const snapshot = (await log.load(['r'])).actors.get('r')?.snapshot;
    if (!snapshot) throw new Error('Nothing was stored when the runtime was closed.');
    const state = snapshot.state.replace(`"n":${GOES}`, '"n":9');
    expect(state).not.toBe(snapshot.state);
    const hash = hashText(encode(JSON.parse(state)).json);
    await log.commit({ turns: [], snapshots: [{ ...snapshot, state, hash }] });
    await log.close();
    expect(await verified(file)).toMatchObject({
      ok: false,
      problem: { what: expect.stringContaining('the snapshot of "r"') },
    });
  });

  it.each([
    ['another type', rating((n) => [{ type: 'scored', n }, { type: 'noted' }]), 3, 'now it states "scored"'],
    ['other data', rating((n) => [{ type: 'rated', n: n + 1 }, { type: 'noted' }]), 3, 'other data'],
    ['another order', rating((n) => [{ type: 'noted' }, { type: 'rated', n }]), 3, '"noted"'],
  ])('K4: a machine that states facts of %s now', async (_name, other, position, words) => {
    const { ok, problem } = await verified(await leaveLog(), [other]);
    expect(ok).toBe(false);
    expect(problem).toMatchObject({ position, what: expect.stringContaining(words) });
  });

  it('K4: a machine that states less than it did, or more', async () => {
    const less = rating((n) => [{ type: 'rated', n }]);
    const more = rating((n) => [{ type: 'rated', n }, { type: 'noted' }, { type: 'third' }]);
    const file = await leaveLog();
    expect((await verified(file, [less])).problem).toMatchObject({
      position: 4,
      what: expect.stringContaining('"noted"; now it states nothing'),
    });
    expect((await verified(file, [more])).problem).toMatchObject({
      position: 2,
      what: expect.stringContaining('states "third" there now'),
    });
  });
});
