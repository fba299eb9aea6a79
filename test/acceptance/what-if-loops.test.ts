import { readFileSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  createRuntime,
  openLog,
  type RecordedEvent,
  type Runtime,
  recordedCalls,
  storyLoop,
  type Workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { LIMIT_CASES } from '../support/limit-cases.ts';
import { rowsOf } from '../support/past-runs.ts';
import {
  agentsOf,
  type Chances,
  RANDOM_LOOPS,
  type RandomLoop,
  someChances,
} from '../support/random-loops.ts';
import { createFakeClock, open, refusal, rounds } from '../support/runtimes.ts';

const statesOf = async (runtime: Pick<Runtime, 'verify'>): Promise<string> => {
  const { log, replay } = await runtime.verify();
  expect([log.problem, replay.problem]).toEqual([undefined, undefined]);
  return replay.states;
};

const eventsOf = (runtime: Pick<Runtime, 'audit'>): Promise<readonly RecordedEvent[]> =>
  runtime.audit({ run: 'r', limit: Number.POSITIVE_INFINITY });

/** Plays a loop until it ends or asks, and gives the open runtime. */
const played = async (loop: RandomLoop, chances: Chances) => {
  const file = temporaryFile();
  const runtime: Runtime = await createRuntime({
    file,
    workflows: [loop.workflow],
    agents: agentsOf(loop, chances),
    printEscalations: false,
    runsFolder: null,
  });
  const run = await runtime.start(loop.workflow.name, loop.input, { id: 'r' });
  await run.settled();
  return { file, runtime };
};

/** How often each agent was asked the same. */
const askedIn = async (file: string, workflow: Workflow): Promise<ReadonlyMap<string, number>> => {
  const log = await openLog(file);
  try {
    const asked = new Map<string, number>();
    for (const { agent, work } of await recordedCalls(log, { run: 'r', workflows: [workflow] })) {
      const key = JSON.stringify([agent, work]);
      asked.set(key, (asked.get(key) ?? 0) + 1);
    }
    return asked;
  } finally {
    await log.close();
  }
};

const sum = (counts: Iterable<number>): number => [...counts].reduce((all, count) => all + count, 0);

const loopNamed = (name: string): RandomLoop => {
  const loop = RANDOM_LOOPS[name];
  if (!loop) throw new Error('There is no such loop.');
  return loop;
};

/** Chances with which every loop finds something wrong at first. */
const EVERY_THIRD: Chances = Array.from({ length: 17 }, (_, index) => index * 3 + 1);

const NAMES = Object.keys(RANDOM_LOOPS);
const RUNS = { numRuns: rounds(4, 200) };

describe('X10: a branch of every loop', () => {
  it.each(NAMES)(
    'X10: %s: without a change has byte-identical states to the end, and makes no call',
    async (name) => {
      const loop = loopNamed(name);
      await fc.assert(
        fc.asyncProperty(someChances, async (chances) => {
          const { runtime } = await played(loop, chances);
          const branch = await runtime.whatIf('r', { calls: 'make' });
          expect([branch.difference, branch.calls, branch.made()]).toEqual([null, [], []]);
          expect(await rowsOf(branch.runtime, 'r')).toEqual(await rowsOf(runtime, 'r'));
          expect(await statesOf(branch.runtime)).toBe(await statesOf(runtime));
          await branch.close();
          await runtime.close();
        }),
        RUNS,
      );
    },
  );

  it.each(NAMES)(
    'X10: %s: one changed answer changes nothing before it, and no call is made that was answered already',
    async (name) => {
      const loop = loopNamed(name);
      await fc.assert(
        fc.asyncProperty(someChances, fc.nat(), fc.nat(99), async (chances, which, chance) => {
          const { file, runtime } = await played(loop, chances);
          const answers = await runtime.audit({ run: 'r', types: ['lw.call.done'], limit: 1_000 });
          const changed = answers[which % answers.length];
          const role = changed?.actor.slice(changed.actor.lastIndexOf(':') + 1) ?? '';
          const output = loop.works[role]?.(chance, { feedback: [] });
          const into = temporaryFile();
          const branch = await runtime.whatIf('r', {
            answers: [{ at: changed?.position ?? 0, output }],
            calls: 'make',
            file: into,
          });
          await branch.run.settled();
          const upTo = (await eventsOf(runtime)).findIndex(({ position }) => position === changed?.position);
          expect((await rowsOf(branch.runtime, 'r')).slice(0, upTo)).toEqual(
            (await rowsOf(runtime, 'r')).slice(0, upTo),
          );
          // Made is only what was asked more often than it was answered in the log, and all of that.
          const made = branch.made().length;
          await statesOf(branch.runtime);
          await branch.close();
          await runtime.close();
          const [before, after] = [await askedIn(file, loop.workflow), await askedIn(into, loop.workflow)];
          const anew = [...after].map(([work, count]) => Math.max(0, count - (before.get(work) ?? 0)));
          expect(made).toBe(sum(anew));
        }),
        RUNS,
      );
    },
  );

  it.each(NAMES)('X10: %s: a lower limit is felt at its first use, and nowhere before', async (name) => {
    const loop = loopNamed(name);
    let parted = 0;
    await fc.assert(
      fc.asyncProperty(someChances, fc.constantFrom(...loop.bounds), async (chances, bound) => {
        const { runtime } = await played(loop, chances);
        const events = await eventsOf(runtime);
        const used = loop.firstUse(events, bound);
        const goesOn = used !== undefined && events.some(({ turn }) => turn > used.turn);
        const branch = await runtime.whatIf('r', { limits: loop.limits(bound) });
        const upTo = goesOn ? events.findIndex(({ turn }) => turn === used.turn) : events.length;
        const [was, is] = [await rowsOf(runtime, 'r'), await rowsOf(branch.runtime, 'r')];
        const paths = (rows: typeof was) =>
          rows
            .slice(0, upTo)
            .map(({ actor, kind, type, from, state, atMs }) => [actor, kind, type, from, state, atMs]);
        expect(paths(is)).toEqual(paths(was));
        if (goesOn) {
          parted += 1;
          const turn = events.find(({ position }) => position === branch.difference?.position)?.turn;
          expect(turn).toBe(used.turn);
          expect(branch.calls).toEqual([]);
        } else expect([branch.difference, is.length]).toEqual([null, was.length]);
        await statesOf(branch.runtime);
        await branch.close();
        await runtime.close();
      }),
      { ...RUNS, numRuns: rounds(6, 200), examples: [[EVERY_THIRD, loop.bounds[0] ?? 0]] },
    );
    expect(parted).toBeGreaterThan(0);
  });
});

describe('X10: limits of stories', () => {
  /** Two stories that are sent back again and again: `a` has no limit of its own, `b` one of 2. */
  const play = async () => {
    const loop = loopNamed('stories');
    const workflow: Workflow = storyLoop('p', { mode: 'auto' });
    const input = { stories: [{ id: 'a' }, { id: 'b', max_refinement_attempts: 2 }] };
    const runtime: Runtime = await open({
      file: temporaryFile(),
      workflows: [workflow],
      agents: agentsOf(loop, EVERY_THIRD),
      printEscalations: false,
      runsFolder: null,
    });
    await (await runtime.start('p', input, { id: 'r' })).settled();
    return runtime;
  };
  /** The limits that stories stand at, by their addresses. */
  const limitsMet = async (runtime: Pick<Runtime, 'audit'>) =>
    Object.fromEntries(
      (await runtime.audit({ run: 'r', types: ['story.halted'] })).map(({ actor, data }) => [
        actor,
        data['met'],
      ]),
    );

  it('X10: those of a run hold for stories that set none; those of a story for it alone, whatever it sets', async () => {
    const runtime = await play();
    const [started] = await runtime.audit({ run: 'r', types: ['stories.started'] });
    const at = started?.position ?? 0;
    const reworks = (bound: number) => ({ limit: 'reworks', bound, used: bound });
    expect(await limitsMet(runtime)).toMatchObject({ 'r/story:a': reworks(3), 'r/story:b': reworks(2) });
    for (const [options, a, b] of [
      [{ limits: { reworks: 1 } }, 1, 2],
      [{ limits: { reworks: 1 }, of: 'r/story:a' }, 1, 2],
      [{ limits: { reworks: 1 }, of: 'r/story:b' }, 3, 1],
      [{ limits: { reworks: 0 }, of: 'r/story:b', at }, 3, 0],
    ] as const) {
      const branch = await runtime.whatIf('r', options);
      expect(await limitsMet(branch.runtime)).toMatchObject({
        'r/story:a': reworks(a),
        'r/story:b': reworks(b),
      });
      expect(branch.calls).toEqual([]);
      await statesOf(branch.runtime);
      await branch.close();
    }
    // Budgets are of each story. As a run that has begun is told, those that have begun are told as well.
    const calls = (bound: number) => ({ limit: 'calls', bound, used: bound });
    for (const options of [{ limits: { calls: 3 } }, { limits: { calls: 3 }, at }]) {
      const branch = await runtime.whatIf('r', options);
      expect(await limitsMet(branch.runtime)).toMatchObject({ 'r/story:a': calls(3), 'r/story:b': calls(3) });
      await statesOf(branch.runtime);
      await branch.close();
    }
  });

  it('X10: a higher one uses every answer that is known, and then calls', async () => {
    const runtime = await play();
    const known = (await runtime.audit({ run: 'r', types: ['lw.call.done'], limit: 1_000 })).length;
    const branch = await runtime.whatIf('r', { limits: { reworks: 4 }, of: 'r/story:b', calls: 'make' });
    expect(branch.reused).toBe(known);
    await branch.run.settled();
    expect(branch.made().length).toBeGreaterThan(0);
    expect(await limitsMet(branch.runtime)).toMatchObject({
      'r/story:a': { bound: 3 },
      'r/story:b': { limit: 'reworks', bound: 4, used: 4 },
    });
    await branch.close();
  });

  it('X10: what cannot be limited is refused', async () => {
    const runtime = await play();
    for (const options of [
      { limits: { timeMs: 1_000 } },
      { limits: { reworks: 1 }, of: 'r/story:c' },
      { limits: { reworks: 1 }, of: 'r/story:a/agent:review' },
      { limits: { passes: 1 }, of: 'r/phase:look' },
      { limits: { turns: 0 } },
    ])
      expect((await refusal(runtime.whatIf('r', options), 'BAD_BRANCH')).fields.problems).not.toEqual([]);
    await refusal(runtime.whatIf('r', { limits: { reworks: -1 } }), 'BAD_OPTION');
  });

  it('X10: a story with a file is given another limit when it has been read', async () => {
    const file = temporaryFile();
    const story = `${file}.md`;
    writeFileSync(story, '---\nid: csv\nmax_refinement_attempts: 2\n---\n\nPeople want their data.\n');
    const workflow: Workflow = storyLoop('p', {
      mode: 'auto',
      refinement: { escalateOnMaxAttempts: 'error' },
    });
    const runtime: Runtime = await open({
      file,
      workflows: [workflow],
      agents: agentsOf(loopNamed('stories'), EVERY_THIRD),
      printEscalations: false,
      runsFolder: null,
    });
    await (await runtime.start('p', { stories: [story] }, { id: 'r' })).settled();
    const [halted] = await runtime.audit({ run: 'r', types: ['story.halted'] });
    expect(halted?.data['met']).toMatchObject({ limit: 'reworks', bound: 2 });
    const of = halted?.actor ?? '';
    const lower = { limits: { reworks: 1 }, of };
    const listed = await runtime.whatIf('r', lower);
    // Its file would say something else now: nobody has looked at it since.
    expect(listed.calls).toMatchObject([
      { agent: 'lw.story-look', input: { own: { fields: { refinement_count: 1 } } } },
    ]);
    await listed.close();
    const branch = await runtime.whatIf('r', { ...lower, calls: 'make' });
    await branch.run.settled();
    expect(await limitsMet(branch.runtime)).toMatchObject({ [of]: { bound: 1, used: 1 } });
    expect(branch.made().filter(({ agent }) => !agent.startsWith('lw.'))).toEqual([]);
    await branch.close();
    const before = readFileSync(story, 'utf8');
    const goingOn = await runtime.whatIf('r', (await runtime.why('r')).branch ?? {});
    await goingOn.run.settled();
    expect(goingOn.made().map(({ agent }) => agent)).toContain('implement');
    expect(await limitsMet(goingOn.runtime)).toMatchObject({ [of]: { bound: 5, used: 5 } });
    await goingOn.close();
    expect(readFileSync(story, 'utf8')).toBe(before);
  });
});

describe('X10: bounds of a part of a run', () => {
  it.each(['passes of one phase', 'repeats of a node that has a bound of its own'])(
    'X10: %s: a lower one, from the start or later, and no other limit',
    async (name) => {
      const about = LIMIT_CASES[name];
      if (!about) throw new Error('There is no such case.');
      const workflow = about.workflow('stop');
      const runtime: Runtime = await open({
        file: temporaryFile(),
        workflows: [workflow],
        agents: about.agents(createFakeClock()),
        runsFolder: null,
      });
      await (await runtime.start('p', about.input ?? 'x', { id: 'r' })).result();
      const of = (await runtime.why('r')).branch?.of;
      for (const at of [undefined, 1]) {
        const branch = await runtime.whatIf('r', {
          limits: { [about.limit]: 1 },
          ...(of !== undefined && { of }),
          ...(at !== undefined && { at }),
        });
        expect(branch.difference).not.toBeNull();
        expect((await branch.runtime.why('r')).limit).toMatchObject({
          limit: about.limit,
          bound: 1,
          used: 1,
        });
        await branch.close();
      }
      const other = await refusal(
        runtime.whatIf('r', { limits: { calls: 1 }, ...(of !== undefined && { of }) }),
        'BAD_BRANCH',
      );
      expect(other.fields.problems).toEqual([expect.stringContaining('no limit of its own on calls')]);
    },
  );
});
