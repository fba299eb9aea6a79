import { setImmediate as nextTick } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { type Agent, agent, planRun, type StepInput } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { notComparable } from '../support/compared-logs.ts';
import { changeFile, open, readFile, rounds } from '../support/runtimes.ts';

const ROLES = ['plan', 'write', 'draw', 'check', 'print'] as const;
type Role = (typeof ROLES)[number];

const book = planRun('book', {
  steps: [
    { id: 'plan' },
    { id: 'write', needs: ['plan'], group: 'parts' },
    { id: 'draw', needs: ['plan'], group: 'parts' },
    { id: 'review', needs: ['parts'], gate: { reviewers: ['check'], corrects: 'write' } },
    { id: 'print', needs: ['review', 'parts'] },
  ],
});

/** How many calls of each agent were at work at once, at most, as they saw it themselves. */
const createCrew = (concurrency: number) => {
  const most = new Map<Role, number>();
  const atWork = new Map<Role, number>();
  const calls = new Map<string, number>();
  const count = (role: Role, by: number): void => {
    const now = (atWork.get(role) ?? 0) + by;
    atWork.set(role, now);
    most.set(role, Math.max(most.get(role) ?? 0, now));
  };
  const worker = (role: Role, work: (feedback: number) => unknown): Agent<StepInput> =>
    agent(
      async ({ feedback, idempotencyKey }) => {
        calls.set(idempotencyKey, (calls.get(idempotencyKey) ?? 0) + 1);
        count(role, 1);
        // Long enough for others to come in.
        for (let tick = 0; tick < 3; tick += 1) await nextTick();
        count(role, -1);
        return work(feedback.length);
      },
      { concurrency },
    );
  let reviews = 0;
  const agents = {
    plan: worker('plan', () => 'p'),
    write: worker('write', (feedback) => `w${feedback}`),
    draw: worker('draw', () => 'd'),
    // Every tenth is sent back once, or more often if it has bad luck.
    check: worker('check', () => ({ passed: (reviews += 1) % 10 !== 0, issues: [] })),
    print: worker('print', () => 'b'),
  };
  return { agents, most, atWork, calls };
};

const start = async (runs: number, concurrency: number) => {
  const file = temporaryFile();
  const { agents, most, atWork, calls } = createCrew(concurrency);
  const runtime = await open({ file, durability: 'normal', workflows: [book], agents });
  const results = await Promise.all(
    Array.from({ length: runs }, async (_, index) => {
      const run = await runtime.start('book', index, { id: `r${index}` });
      return run.result();
    }),
  );
  return { file, runtime, results, most, atWork, calls };
};

/** Requests that were not asked once and answered once, by a query on the rows of the log; and how many there are in all. */
const auditRequests = (file: string): { readonly requests: number; readonly wrong: readonly unknown[] } =>
  readFile(file, (db) => {
    const asked = `select a.address || '#' || json_extract(e.data, '$.request.id') as request, 1 as asked, 0 as answered
      from events e join actors a on a.id = e.actor where e.kind = 'message' and e.type = 'agent.request'`;
    const answered = `select a.address || '#' || json_extract(e.data, '$.request') as request, 0 as asked, 1 as answered
      from events e join actors a on a.id = e.sender where e.kind = 'message' and e.type in ('agent.done', 'agent.failed')`;
    const counted = `select request, sum(asked) as asked, sum(answered) as answered
      from (${asked} union all ${answered}) group by request`;
    return {
      requests: Number(db.prepare(`select count(*) from (${counted})`).pluck().get()),
      wrong: db.prepare(`select * from (${counted}) where asked <> 1 or answered <> 1`).all(),
    };
  });

const CONCURRENCY = 4;
const RUNS = rounds(1_000, 10_000);

describe('many runs at once', () => {
  it('none starves, no agent has more calls than it may, and each request is answered once', async () => {
    const { file, runtime, results, most, atWork, calls } = await start(RUNS, CONCURRENCY);
    expect(results.filter(({ verdict }) => verdict !== 'verified')).toEqual([]);
    expect([...most]).toEqual(ROLES.map((role) => [role, CONCURRENCY]));
    expect([...atWork.values()].every((count) => count === 0)).toBe(true);
    expect([...calls.values()].filter((count) => count !== 1)).toEqual([]);
    expect(await runtime.deadLetters()).toEqual([]);

    const { requests, wrong } = auditRequests(file);
    expect(wrong).toEqual([]);
    expect(requests).toBe(calls.size);
    expect(results.reduce((sum, { output }) => sum + (output?.spent.calls ?? 0), 0)).toBe(requests);
    // Some were sent back, so that steps had more than one request.
    expect(requests).toBeGreaterThan(RUNS * ROLES.length);
  });

  it('control: an agent that may have more calls is seen with more, and a lost answer is found', async () => {
    const { file, runtime, most } = await start(50, CONCURRENCY + 2);
    expect([...most.values()].every((count) => count > CONCURRENCY)).toBe(true);
    expect(auditRequests(file).wrong).toEqual([]);
    await runtime.close();
    changeFile(
      file,
      "delete from events where position = (select max(position) from events where type = 'agent.done')",
    );
    notComparable(file);
    expect(auditRequests(file).wrong).toHaveLength(1);
  });
});
