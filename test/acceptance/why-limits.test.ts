import { describe, expect, it } from 'vitest';
import { LIMITS, type Runtime, type Why } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { LIMIT_CASES, type LimitCase, NO_CASE, SUMS } from '../support/limit-cases.ts';
import { createFakeClock, expectReplays, open } from '../support/runtimes.ts';

/** One of each kind of loop is looked at by another process, and replayed afterwards. */
const REOPENED = [
  'passes of a gate',
  'passes of a tight loop',
  'rounds of feedback',
  'reworks of a story',
  'passes of one phase',
  'rounds between two nodes',
];

/** Plays a case until it stands. */
const standing = async (name: string, onLimit: 'ask' | 'stop') => {
  const about = LIMIT_CASES[name];
  if (!about) throw new Error('There is no such case.');
  const { input = 'x', sends = [] } = about;
  const clock = createFakeClock();
  const file = temporaryFile();
  const workflow = about.workflow(onLimit);
  const options = {
    file,
    workflows: [workflow],
    agents: about.agents(clock),
    printEscalations: false,
    runsFolder: null,
    // Time passes only where it is counted: what waits before it tries again waits for real.
    ...(about.limit === 'timeMs' && { clock }),
  };
  let runtime: Runtime = await open(options);
  const run = await runtime.start(workflow.name, input, { id: 'r', by: 'owner' });
  for (const message of sends) await run.send(message, { by: 'owner' }).catch(() => undefined);
  if (sends.length === 0) await run.settled();
  if (REOPENED.includes(name)) {
    await runtime.close();
    runtime = await open(options);
  }
  return { about, runtime, file, workflow, why: await runtime.why('r') };
};

/** The limit, its value, and exactly those events that it counted. */
const expectCounted = async (
  runtime: Runtime,
  why: Why,
  { limit, bound, used = bound, counted }: LimitCase,
): Promise<void> => {
  expect(why.limit).toMatchObject({ limit, bound, used });
  const positions = why.counted.map(({ position }) => position);
  const events = await runtime.audit({ run: 'r', limit: 10_000 });
  const types = positions.map((each) => events.find(({ position }) => position === each)?.type);
  expect(types).toEqual(counted);
  if (!SUMS.includes(limit)) expect(why.counted).toHaveLength(used);
  expect(positions).toEqual([...new Set(positions)].sort((one, other) => one - other));
  expect(why.text).toContain(`"${limit}"`);
  expect(why.text).toContain(`is ${bound}, and ${used} was used: ${positions.join(', ')}.`);
  expect(why.causes.at(-1)).toMatchObject({ who: 'owner' });
};

const answered = async (runtime: Runtime): Promise<number> =>
  (await runtime.audit({ run: 'r', types: ['lw.call.done', 'lw.call.failed'], limit: 10_000 })).length;

/** The cap on turns ends a run, whatever else it is told to do. */
const asking = Object.keys(LIMIT_CASES).filter((name) => LIMIT_CASES[name]?.limit !== 'turns');

describe('X7: every limit', () => {
  it.each(asking)(
    'X7: %s: a run that waits names limit, value, counted events, and the command that lets it go on, which does',
    async (name) => {
      const { about, runtime, file, workflow, why } = await standing(name, 'ask');
      expect(why).toMatchObject({ standing: 'waiting', branch: null });
      await expectCounted(runtime, why, about);
      expect(why.causes[0]?.what).toContain('asked: ');
      expect(why.causes.at(-1)?.what).toContain('(a run)');
      const before = await answered(runtime);
      expect(why.commands).toHaveLength(1);
      for (const command of why.commands) {
        expect(command).toMatchObject({
          kind: 'answer',
          option: expect.stringMatching(/^(continue|retry)$/),
        });
        expect(await runtime.execute(command, { by: 'ada' })).toMatchObject({ taken: true });
      }
      await (await runtime.run('r')).settled();
      // Agents were called again before it came to the same limit, or to another one.
      expect(await answered(runtime)).toBeGreaterThan(before);
      await runtime.close();
      if (REOPENED.includes(name)) await expectReplays(file, [workflow]);
    },
  );

  it.each(Object.keys(LIMIT_CASES))(
    'X7: %s: a run that has ended names limit, value, counted events, and the branch in which it goes on, which does',
    async (name) => {
      const { about, runtime, why } = await standing(name, 'stop');
      expect(why).toMatchObject({ standing: 'ended', commands: [] });
      expect(why.text).toMatch(/has ended (exhausted|stalled|failed)/);
      await expectCounted(runtime, why, about);
      if (!why.branch) throw new Error('There is no branch.');
      const branch = await runtime.whatIf('r', why.branch);
      expect(branch.difference).not.toBeNull();
      // What ended it then does not now.
      expect(branch.verdict).toBeNull();
      if (about.limit === 'turns') {
        // What was not delivered then is now, and so is what comes next.
        await branch.run.send({ type: 'ADD' });
        expect((await branch.run.state()).context).toEqual({ count: about.bound + 1 });
      } else {
        await branch.run.settled();
        expect(branch.made().length).toBeGreaterThan(0);
      }
      expect((await branch.runtime.verify()).replay.problem).toBeUndefined();
      await branch.close();
    },
  );

  it('X7: there is a case for every limit that a run can stand at', () => {
    const named = new Set(Object.values(LIMIT_CASES).map(({ limit }) => limit));
    expect([...named, ...Object.keys(NO_CASE)].sort()).toEqual([...Object.keys(LIMITS), 'turns'].sort());
  });
});
