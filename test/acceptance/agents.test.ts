import { firstValueFrom, take, toArray } from 'rxjs';
import { describe, expect, it } from 'vitest';
import { assign, emit, fromPromise, setup } from 'xstate';
import {
  type Agent,
  type AgentRequest,
  agent,
  agentCall,
  type Failure,
  type RunRecord,
  runSummary,
  type Verdict,
  workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { callOnce, tally } from '../support/machines.ts';
import { createFakeClock, expectReplays, open, readFile, rounds } from '../support/runtimes.ts';

const ATTEMPTS_MAX = 2;

interface Task {
  readonly name: string;
  readonly isFaulty: boolean;
  readonly attempt: number;
}

/** Has a task done, and tries again if that fails; its guard throws on an answer that it cannot digest. */
const job = workflow(
  'job',
  setup({
    types: {
      context: {} as {
        name: string;
        isFaulty: boolean;
        attempt: number;
        answer: unknown;
        failure: Failure | null;
      },
      input: {} as { name: string; isFaulty: boolean },
      output: {} as { verdict: Verdict; answer: unknown; failure: Failure | null },
    },
    actors: {
      worker: agentCall<Task, unknown>({
        request: ({ name, attempt }) => ({ callId: `task:${name}`, attempt }),
      }),
    },
    guards: {
      hasAttemptsLeft: ({ context }) => context.attempt < ATTEMPTS_MAX,
      isGood: (_, { answer }: { answer: unknown }) => {
        if (answer === 'poison') throw new TypeError('cannot digest poison');
        return true;
      },
    },
  }).createMachine({
    context: ({ input }) => ({ ...input, attempt: 1, answer: null, failure: null }),
    initial: 'working',
    states: {
      working: {
        invoke: {
          id: 'work',
          src: 'worker',
          input: ({ context: { name, isFaulty, attempt } }) => ({ name, isFaulty, attempt }),
          onDone: {
            guard: { type: 'isGood', params: ({ event }) => ({ answer: event.output }) },
            target: 'done',
            actions: assign({ answer: ({ event }) => event.output, failure: null }),
          },
          onError: [
            {
              guard: 'hasAttemptsLeft',
              target: 'working',
              reenter: true,
              actions: assign({ attempt: ({ context }) => context.attempt + 1 }),
            },
            // What the runtime gives as an error is a failure: name, message and perhaps a code.
            { target: 'failed', actions: assign({ failure: ({ event }) => event.error as Failure }) },
          ],
        },
      },
      done: { type: 'final', output: 'verified' },
      failed: { type: 'final', output: 'failed' },
    },
    output: ({ context, event }) => ({
      verdict: event.output as Verdict,
      answer: context.answer,
      failure: context.failure,
    }),
  }),
);

const never = () => new Promise<never>(() => undefined);

const block = (forMs: number): void => {
  for (const untilMs = performance.now() + forMs; performance.now() < untilMs; );
};

const cycle = (): unknown => {
  const value: Record<string, unknown> = { fine: true };
  value.self = [value];
  return value;
};

const withTrap = (key: string): object =>
  Object.defineProperty({}, key, {
    enumerable: true,
    get() {
      throw new Error('sprung');
    },
  });

const hostileProxy = (): object => {
  const spring = () => {
    throw new Error('sprung');
  };
  return new Proxy({}, { get: spring, has: spring, ownKeys: spring, getPrototypeOf: spring });
};

/** An error that cannot even be looked at. */
const hostileError = (): Error => {
  const error = new Error('fine');
  for (const key of ['name', 'message', 'code', 'stack']) {
    Object.defineProperty(error, key, {
      get() {
        throw new Error('sprung');
      },
    });
  }
  return error;
};

type Request = AgentRequest<Task>;
type Failing = Partial<Record<keyof Failure, unknown>>;

interface Fault {
  readonly name: string;
  /** What the agent does in one of 100 runs. */
  readonly work: (request: Request, round: number) => unknown;
  /** What the run says of it at its end; what the agent answered, if it is no failure. */
  readonly failure?: Failing;
  readonly answer?: unknown;
}

const thrown = (value: unknown) => () => {
  throw value;
};

const FIVE_MEGABYTES = Array.from({ length: 500_000 }, (_, index) => `line ${index}`);

const TIMEOUT_MS = 40;

const FAULTS: readonly Fault[] = [
  {
    name: 'throws at once',
    work: thrown(new RangeError('no')),
    failure: { name: 'RangeError', message: 'no' },
  },
  {
    name: 'rejects',
    work: async () => Promise.reject(Object.assign(new Error('nope'), { code: 'E_NOPE' })),
    failure: { name: 'Error', message: 'nope', code: 'E_NOPE' },
  },
  {
    name: 'throws something that is no error',
    work: (_, round) =>
      thrown(['text', 5, null, undefined, Symbol('s'), { odd: 1 }, 10n, withTrap('name')][round % 8])(),
    failure: { name: 'Thrown', message: expect.any(String) },
  },
  {
    name: 'throws what cannot be looked at',
    work: (_, round) => thrown(round % 2 === 0 ? hostileError() : hostileProxy())(),
    failure: { name: expect.any(String), message: expect.any(String) },
  },
  {
    name: 'throws an error of a megabyte',
    work: thrown(new Error('x'.repeat(1_000_000))),
    failure: { name: 'Error', message: expect.stringMatching(/^x{1000,5000}…$/) },
  },
  {
    name: 'hangs until it is aborted',
    work: ({ signal }) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
      }),
    failure: { name: 'RuntimeError', code: 'AGENT_TIMED_OUT' },
  },
  { name: 'never settles', work: never, failure: { name: 'RuntimeError', code: 'AGENT_TIMED_OUT' } },
  {
    name: 'answers garbage',
    work: (_, round) =>
      [new Date(0), 5n, cycle(), () => 1, Number.NaN, [new Map()], '\ud800', Symbol('s')][round % 8],
    failure: {
      name: 'RuntimeError',
      code: 'PAYLOAD_UNSUPPORTED',
      message: expect.stringContaining('answer'),
    },
  },
  {
    name: 'answers an object of 5 MB',
    work: () => FIVE_MEGABYTES,
    failure: { name: 'RuntimeError', code: 'PAYLOAD_TOO_LARGE' },
  },
  {
    name: 'answers with a getter that throws',
    work: () => withTrap('trap'),
    failure: { name: 'RuntimeError', code: 'PAYLOAD_UNSUPPORTED' },
  },
  {
    name: 'answers with a then that throws',
    work: () => withTrap('then'),
    failure: { name: 'Error', message: 'sprung' },
  },
  {
    name: 'floods with progress',
    work: ({ progress }) => {
      for (let index = 0; index < 5_000; index += 1) progress({ index });
      return 'flooded';
    },
    answer: 'flooded',
  },
  {
    name: 'changes its input',
    work: ({ input }) => {
      const mine = input as { name: unknown; extra?: unknown };
      mine.name = 'stolen';
      mine.extra = cycle();
      return 'changed';
    },
    answer: 'changed',
  },
  {
    name: 'blocks the thread for 200 ms',
    work: (_, round) => {
      block(round === 0 ? 200 : 10);
      return 'slow';
    },
    answer: 'slow',
  },
  {
    name: 'answers what makes a guard throw',
    work: () => 'poison',
    failure: { name: 'AnswerRefused', message: expect.stringContaining('cannot digest poison') },
  },
];

const resultOf = ({ verdict, result }: RunRecord): unknown => ({
  verdict,
  ...JSON.parse(result ?? 'null')?.output,
});

// Method: 100 runs at once, of which one has a faulty agent, again and again. A second runtime reads how they ended.
describe('G16: a faulty agent in one of 100 runs', () => {
  const ROUNDS = rounds(20, 1_000);

  it.each(FAULTS)('G16: one that $name harms no other run', async ({ work, failure, answer }) => {
    const file = temporaryFile();
    const calls = new Map<string, number>();
    const worker = agent<Task, unknown>(
      (request) => {
        const { name, isFaulty } = request.input;
        calls.set(name, (calls.get(name) ?? 0) + 1);
        return isFaulty ? work(request, Number(name.split('-')[0])) : `did ${name}`;
      },
      { timeoutMs: TIMEOUT_MS, concurrency: 16 },
    );
    const warnings: string[] = [];
    const runtime = await open({
      file,
      workflows: [job],
      agents: { worker },
      onWarning: (text) => warnings.push(text),
    });
    for (let round = 0; round < ROUNDS; round += 1) {
      const faulty = (round * 37) % 100;
      const runs = await Promise.all(
        Array.from({ length: 100 }, (_, index) => {
          const name = `${round}-${index}`;
          return runtime.start('job', { name, isFaulty: index === faulty }, { id: name });
        }),
      );
      await Promise.all(runs.map((run) => run.result()));
    }
    await runtime.close();
    expect(warnings).toEqual([]);

    const second = await open({ file, workflows: [job], agents: { worker: () => 'not called' } });
    const records = await second.runs({});
    expect(records).toHaveLength(100 * ROUNDS);
    for (const record of records) {
      const [round = 0, index] = record.id.split('-').map(Number);
      const isFaulty = index === (round * 37) % 100;
      if (isFaulty && failure) {
        expect(resultOf(record)).toMatchObject({ verdict: 'failed', failure });
        expect(calls.get(record.id)).toBe(ATTEMPTS_MAX);
      } else {
        expect(resultOf(record)).toEqual({
          verdict: 'verified',
          answer: isFaulty ? answer : `did ${record.id}`,
          failure: null,
        });
        expect(calls.get(record.id)).toBe(1);
      }
    }
    const { log, replay } = await second.verify();
    expect(log.problem).toBeUndefined();
    expect(replay).toMatchObject({ problem: undefined, actors: 100 * ROUNDS });
  });

  it('G16: one that answers after its run was cancelled is told so by its signal, and changes nothing', async () => {
    const file = temporaryFile();
    const late: (() => void)[] = [];
    const reasons: unknown[] = [];
    const worker = agent<Task, unknown>(
      ({ input, signal }) =>
        input.isFaulty
          ? new Promise((resolve) => {
              signal.addEventListener('abort', () => reasons.push(signal.reason.name));
              late.push(() => resolve('too late'));
            })
          : `did ${input.name}`,
      { concurrency: 2 },
    );
    const runtime = await open({ file, workflows: [job], agents: { worker } });
    const runs = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        runtime.start('job', { name: `${index}`, isFaulty: index === 0 }, { id: `${index}` }),
      ),
    );
    const [first, ...others] = runs;
    await Promise.all(others.map((run) => run.result()));
    await first?.cancel({ by: 'ann' });
    expect(reasons).toEqual(['AbortError']);
    for (const answer of late) answer();
    await new Promise((resolve) => setTimeout(resolve, 20));
    await runtime.close();

    const second = await open({ file, workflows: [job], agents: { worker } });
    expect(await (await second.run('0')).result()).toMatchObject({ verdict: 'cancelled', output: undefined });
    expect(await second.audit({ run: '0', kinds: ['message'] })).toEqual([]);
    // It cost money, so that it is kept.
    expect(await second.audit({ run: '0', kinds: ['late'] })).toMatchObject([
      { data: { output: 'too late' } },
    ]);
    expect((await second.read(runSummary, '0')).calls).toEqual({ done: 0, failed: 0, late: 1 });
    expect(
      (await second.runs({ status: 'ended' })).filter(({ verdict }) => verdict === 'verified'),
    ).toHaveLength(99);
    await second.close();
    await expectReplays(file, [job]);
  });
});

describe('G16: quarantine', () => {
  it('G16: after so many failures in a row an agent is not called for a while, then once to see', async () => {
    const file = temporaryFile();
    const clock = createFakeClock();
    let calls = 0;
    let isWell = false;
    const worker = agent<{ task: string }, unknown>(
      () => {
        calls += 1;
        if (!isWell) throw new Error('ill');
        return 'well';
      },
      { quarantine: { failures: 3, forMs: 1_000 } },
    );
    const healthy = agent<{ task: string }, unknown>(() => 'fine');
    const other = workflow('other', callOnce.machine);
    const runtime = await open({ file, workflows: [callOnce, other], agents: { worker }, clock });
    const attempt = async () => {
      const { output } = await (await runtime.start('call-once', { task: 'x' })).result();
      const { answer, failure } = output ?? {};
      return answer ?? failure;
    };
    for (let each = 0; each < 3; each += 1) expect(await attempt()).toMatchObject({ message: 'ill' });
    const refused = { name: 'RuntimeError', code: 'AGENT_QUARANTINED' };
    expect(await attempt()).toMatchObject(refused);
    clock.advance(999);
    expect(await attempt()).toMatchObject(refused);
    expect(calls).toBe(3);

    // One call goes through, fails, and closes the door again.
    clock.advance(1);
    expect(await attempt()).toMatchObject({ message: 'ill' });
    expect(await attempt()).toMatchObject(refused);
    expect(calls).toBe(4);

    // While one is let through to see, the others are not.
    clock.advance(1_000);
    isWell = true;
    const many = await Promise.all(Array.from({ length: 10 }, attempt));
    expect(many.filter((answer) => answer === 'well').length).toBeGreaterThanOrEqual(1);
    expect(await attempt()).toBe('well');
    expect(await attempt()).toBe('well');
    await runtime.close();
    const second = await open({ file, workflows: [callOnce], agents: { worker: healthy } });
    const refusals = await second.audit({ types: ['lw.call.failed'] });
    expect(refusals.length).toBeGreaterThanOrEqual(7);
    await second.close();
    await expectReplays(file, [callOnce]);
  });

  it('G16: a success in between keeps an agent out of quarantine, and one agent does not answer for another', async () => {
    const clock = createFakeClock();
    let calls = 0;
    const options = { quarantine: { failures: 3, forMs: 1_000 } };
    const worker = agent<{ task: string }, unknown>(({ input }) => {
      calls += 1;
      if (input.task === 'fail') throw new Error('ill');
      return 'well';
    }, options);
    const runtime = await open({ file: temporaryFile(), workflows: [callOnce], agents: { worker }, clock });
    for (const task of ['fail', 'fail', 'pass', 'fail', 'fail', 'pass', 'fail', 'fail', 'pass']) {
      await (await runtime.start('call-once', { task })).result();
    }
    expect(calls).toBe(9);
  });
});

describe('G16: places', () => {
  it('G16: the concurrency of an agent holds over two runtimes of one process', async () => {
    let running = 0;
    let most = 0;
    const worker = agent<{ task: string }, unknown>(
      async ({ input }) => {
        running += 1;
        most = Math.max(most, running);
        await new Promise((resolve) => setTimeout(resolve, 2));
        running -= 1;
        if (input.task.endsWith('3')) throw new Error('sometimes');
        return input.task;
      },
      { concurrency: 3 },
    );
    const files = [temporaryFile(), temporaryFile()];
    const runtimes = await Promise.all(
      files.map((file) => open({ file, workflows: [callOnce], agents: { worker } })),
    );
    const runs = await Promise.all(
      runtimes.flatMap((runtime) =>
        Array.from({ length: 20 }, (_, index) => runtime.start('call-once', { task: `task ${index}` })),
      ),
    );
    await Promise.all(runs.map((run) => run.result()));
    expect(most).toBe(3);
    // The places of calls that a close has aborted are free again.
    await runtimes[0]?.start('call-once', { task: 'more' });
    await runtimes[0]?.close();
    const last = await runtimes[1]?.start('call-once', { task: 'last' });
    expect((await last?.result())?.output?.answer).toBe('last');
  });

  it('G16: an agent that ignores its signal does not keep its place', async () => {
    const file = temporaryFile();
    const worker = agent<{ task: string }, unknown>(
      ({ input }) => (input.task === 'hang' ? never() : input.task),
      {
        concurrency: 1,
        timeoutMs: 20,
      },
    );
    const runtime = await open({ file, workflows: [callOnce], agents: { worker } });
    const hanging = await runtime.start('call-once', { task: 'hang' });
    const next = await runtime.start('call-once', { task: 'next' });
    expect((await next.result()).output?.answer).toBe('next');
    expect((await hanging.result()).output?.failure).toMatchObject({ code: 'AGENT_TIMED_OUT' });
    const withdrawn = await runtime.start('call-once', { task: 'hang' });
    await withdrawn.cancel();
    expect((await (await runtime.start('call-once', { task: 'last' })).result()).output?.answer).toBe('last');
  });

  it('a machine that leaves the state of a call withdraws it: the signal is aborted, and the answer is not heard', async () => {
    const file = temporaryFile();
    const impatient = workflow(
      'impatient',
      setup({
        types: { context: {} as { answer: unknown }, events: {} as { type: 'SKIP' } },
        actors: { worker: agentCall<null, unknown>() },
      }).createMachine({
        context: { answer: null },
        initial: 'working',
        states: {
          working: {
            invoke: {
              id: 'work',
              src: 'worker',
              input: null,
              onDone: { actions: assign({ answer: ({ event }) => event.output }) },
            },
            on: { SKIP: 'skipped' },
          },
          skipped: {},
        },
      }),
    );
    let signal: AbortSignal | undefined;
    let resolve: (answer: string) => void = () => undefined;
    const worker = (request: AgentRequest<null>) => {
      signal = request.signal;
      return new Promise<unknown>((done) => {
        resolve = done;
      });
    };
    const runtime = await open({ file, workflows: [impatient], agents: { worker } });
    const run = await runtime.start('impatient', null, { id: 'i' });
    await expect.poll(() => signal).toBeDefined();
    expect(signal?.aborted).toBe(false);
    await run.send({ type: 'SKIP' });
    expect(signal?.aborted).toBe(true);
    resolve('late');
    await runtime.close();

    const second = await open({ file, workflows: [impatient], agents: { worker: () => 'not called' } });
    expect(await second.actor('i')).toMatchObject({ value: 'skipped', context: { answer: null } });
    expect(readFile(file, (db) => db.prepare('select count(*) from calls').pluck().get())).toBe(0);
    await second.close();
    await expectReplays(file, [impatient]);
  });
});

// Method: what a machine says of a call or a message is stored in columns of the log. Whatever cannot be must fail the actor that
// said it; if it came as far as the database, every run in the same commit would suffer, or the log could not be read again.
describe('G16: a machine that says what cannot be stored fails alone', () => {
  const HALF = '\ud800';
  const makeBad = ({ request, name, fact }: { request?: unknown; name?: unknown; fact?: string }) =>
    workflow(
      'bad',
      setup({
        types: { events: {} as { type: 'GO' }, emitted: {} as { type: string } },
        actors: {
          // What the types keep from happening.
          worker: agentCall<null, unknown>({
            ...(request !== undefined && { request: () => request as never }),
            ...(name !== undefined && { agent: () => name as never }),
          }),
        },
      }).createMachine({
        initial: 'idle',
        states: {
          idle: {
            on: { GO: { target: 'working', actions: fact === undefined ? [] : emit({ type: fact }) } },
          },
          working: { invoke: { id: 'work', src: 'worker', input: null } },
        },
      }),
    );

  it.each([
    { request: { callId: 'x', attempt: undefined } },
    { request: { callId: undefined, attempt: 1 } },
    { request: { callId: 5, attempt: 1 } },
    { request: { callId: '', attempt: 1 } },
    { request: { callId: HALF, attempt: 1 } },
    { request: { callId: 'x'.repeat(100_000), attempt: 1 } },
    { request: { callId: 'x', attempt: 1.5 } },
    { request: { callId: 'x', attempt: 0 } },
    { request: { callId: 'x', attempt: Number.NaN } },
    { request: { callId: 'x', attempt: '1' } },
    { name: 5 },
    { name: '' },
    { name: HALF },
    { fact: `half${HALF}` },
    { fact: 'x'.repeat(100_000) },
  ])('%o', async (given) => {
    const file = temporaryFile();
    const bad = makeBad(given);
    const agents = { worker: never };
    const runtime = await open({ file, workflows: [bad, tally], agents });
    await runtime.start('bad', undefined, { id: 'b' });
    const other = await runtime.start('tally', null, { id: 't' });
    const [failed, taken] = await Promise.all([
      runtime.send('b', { type: 'GO' }),
      other.send({ type: 'ADD', value: 1 }),
    ]);
    expect(failed).toMatchObject({ taken: false, delivered: 'failed' });
    expect(taken).toMatchObject({ taken: true });
    await runtime.close();

    const second = await open({ file, workflows: [bad, tally], agents });
    expect(await (await second.run('b')).result()).toMatchObject({ verdict: 'failed' });
    expect((await second.actor('t')).context).toMatchObject({ sum: 1 });
    await second.close();
    await expectReplays(file, [bad, tally]);
  });
});

describe('agents and their calls', () => {
  it('a call of an agent that is not registered waits with a warning, and runs once it is', async () => {
    const file = temporaryFile();
    const warnings: string[] = [];
    const nobody = {} as { worker: Agent<{ task: string }> }; // What the types keep from happening.
    const first = await open({
      file,
      workflows: [callOnce],
      agents: nobody,
      onWarning: (warning) => warnings.push(warning),
    });
    await first.start('call-once', { task: 'wait' }, { id: 'w' });
    expect(warnings).toEqual([
      expect.stringMatching(/"w#work\.1" waits.*No agent "worker".*createRuntime\(\{ agents/),
    ]);
    await first.close();

    const second = await open({
      file,
      workflows: [callOnce],
      agents: { worker: ({ idempotencyKey }) => idempotencyKey },
    });
    expect((await (await second.run('w', 'call-once')).result()).output?.answer).toBe('w#work.1/1');
    await second.close();
    await expectReplays(file, [callOnce]);
  });

  it('a plain XState machine with fromPromise runs durable, without any agent registered', async () => {
    const file = temporaryFile();
    const started: number[] = [];
    let isHanging = true;
    const plain = workflow(
      'plain',
      setup({
        types: { context: {} as { doubled: number }, output: {} as { doubled: number } },
        actors: {
          double: fromPromise<number, { n: number }>(async ({ input, signal }) => {
            started.push(input.n);
            if (isHanging)
              await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
            return input.n * 2;
          }),
        },
      }).createMachine({
        context: { doubled: 0 },
        initial: 'doubling',
        states: {
          doubling: {
            invoke: {
              src: 'double',
              input: { n: 21 },
              onDone: { target: 'done', actions: assign({ doubled: ({ event }) => event.output }) },
            },
          },
          done: { type: 'final' },
        },
        output: ({ context }) => context,
      }),
    );
    const first = await open({ file, workflows: [plain], agents: {} });
    await first.start('plain', null, { id: 'p' });
    await expect.poll(() => started).toEqual([21]);
    await first.close();

    isHanging = false;
    const second = await open({ file, workflows: [plain], agents: {} });
    expect(await (await second.run('p')).result()).toMatchObject({
      verdict: 'verified',
      output: { doubled: 42 },
    });
    expect(started).toEqual([21, 21]);
    await second.close();
    await expectReplays(file, [plain]);
  });

  it('call.begun tells a call that is queued from one that runs', async () => {
    const file = temporaryFile();
    const announced = workflow(
      'announced',
      setup({
        types: { events: {} as { type: 'call.begun'; call: string } },
        actors: { worker: agentCall<null, unknown>({ announce: true }) },
      }).createMachine({
        initial: 'working',
        states: {
          working: {
            initial: 'queued',
            invoke: { id: 'work', src: 'worker', input: null, onDone: 'done' },
            states: { queued: { on: { 'call.begun': 'running' } }, running: {} },
          },
          done: { type: 'final' },
        },
      }),
    );
    const release: (() => void)[] = [];
    const worker = agent<null, unknown>(() => new Promise((resolve) => release.push(() => resolve(null))), {
      concurrency: 1,
    });
    const first = await open({ file, workflows: [announced], agents: { worker } });
    const a = await first.start('announced', null, { id: 'a' });
    const b = await first.start('announced', null, { id: 'b' });
    await expect.poll(async () => (await a.state()).value).toEqual({ working: 'running' });
    expect((await b.state()).value).toEqual({ working: 'queued' });
    const states = firstValueFrom(b.state$.pipe(take(3), toArray()));
    await expect.poll(() => release.length).toBe(1);
    release[0]?.();
    await a.result();
    await expect.poll(() => release.length).toBe(2);
    release[1]?.();
    await b.result();
    expect((await states).map(({ value }) => value)).toEqual([
      { working: 'queued' },
      { working: 'running' },
      'done',
    ]);
    await first.close();

    const second = await open({ file, workflows: [announced], agents: { worker } });
    const events = await second.audit({ run: 'b' });
    expect(events.map(({ type }) => type)).toEqual([
      'lw.started',
      'lw.call.begun',
      'lw.call.done',
      'lw.run.ended',
    ]);
    await second.close();
    await expectReplays(file, [announced]);
  });

  it('G13: callId is the same over retries and restarts, the key of an attempt over restarts', async () => {
    const file = temporaryFile();
    const seen: string[] = [];
    const effects = new Set<string>();
    const note = ({ callId, idempotencyKey, attempt }: Request) => {
      seen.push(`${callId} ${idempotencyKey} ${attempt}`);
      effects.add(idempotencyKey);
    };
    const hang = agent<Task, unknown>((request) => {
      note(request);
      return never();
    });
    // Attempt 1 is begun by three runtimes, and answered by the fourth; attempt 2 is begun by two.
    for (let round = 0; round < 3; round += 1) {
      const runtime = await open({ file, workflows: [job], agents: { worker: hang } });
      if (round === 0) await runtime.start('job', { name: 'x', isFaulty: false }, { id: 'x' });
      await expect.poll(() => seen.length).toBe(round + 1);
      await runtime.close();
    }
    const fourth = await open({
      file,
      workflows: [job],
      agents: {
        worker: (request) => {
          note(request);
          return request.attempt === 1 ? Promise.reject(new Error('once')) : never();
        },
      },
    });
    await expect.poll(() => seen.length).toBe(5);
    await fourth.close();
    const last = await open({
      file,
      workflows: [job],
      agents: {
        worker: (request) => {
          note(request);
          return 'done';
        },
      },
    });
    expect((await (await last.run('x')).result()).verdict).toBe('verified');
    expect(seen).toEqual([
      ...Array.from({ length: 4 }, () => 'task:x task:x/1 1'),
      ...Array.from({ length: 2 }, () => 'task:x task:x/2 2'),
    ]);
    // The effect of an agent that uses its key happened once for each attempt; each answer is in the log once.
    expect([...effects]).toEqual(['task:x/1', 'task:x/2']);
    const answers = await last.audit({ run: 'x', types: ['lw.call.done', 'lw.call.failed'] });
    expect(answers.map(({ type }) => type)).toEqual(['lw.call.failed', 'lw.call.done']);
    expect((await last.read(runSummary, 'x')).calls).toEqual({ done: 1, failed: 1, late: 0 });
    await last.close();
    await expectReplays(file, [job]);
  });

  it('large texts of an answer are stored once, and given whole to whoever reads them', async () => {
    const file = temporaryFile();
    const text = 'large '.repeat(20_000);
    const heard: unknown[] = [];
    const relay = workflow(
      'relay',
      setup({
        types: { context: {} as { text: unknown } },
        actors: { writer: agentCall<null, unknown>(), reader: agentCall<{ text: unknown }, unknown>() },
      }).createMachine({
        context: { text: null },
        initial: 'writing',
        states: {
          writing: {
            invoke: {
              src: 'writer',
              input: null,
              onDone: { target: 'reading', actions: assign({ text: ({ event }) => event.output }) },
            },
          },
          reading: {
            invoke: { src: 'reader', input: ({ context }) => ({ text: context.text }), onDone: 'done' },
          },
          done: { type: 'final' },
        },
      }),
    );
    const runtime = await open({
      file,
      workflows: [relay],
      agents: { writer: () => text, reader: ({ input }) => heard.push(input.text) },
    });
    await (await runtime.start('relay', null, { id: 'r' })).result();
    expect(heard).toEqual([text]);
    await runtime.close();

    const second = await open({ file, workflows: [relay], agents: { writer: () => '', reader: () => 0 } });
    const events = await second.audit({ run: 'r' });
    expect(JSON.stringify(events).length).toBeLessThan(10_000);
    expect(readFile(file, (db) => db.prepare('select text from blobs').pluck().all())).toEqual([text]);
    await second.close();
    await expectReplays(file, [relay]);
  });

  it('secrets in answers and errors of agents do not reach the log', async () => {
    const file = temporaryFile();
    const secret = 'hunter2-hunter2';
    const runtime = await open({
      file,
      workflows: [callOnce],
      secrets: { values: [secret] },
      agents: {
        worker: ({ input }) => {
          if (input.task === 'leak')
            throw Object.assign(new Error(`wrong password ${secret}`), { code: secret });
          return { told: `the password is ${secret}` };
        },
      },
    });
    for (const task of ['leak', 'tell', secret]) await (await runtime.start('call-once', { task })).result();
    await (await runtime.start('call-once', { task: 'x' }))
      .cancel({ reason: `it was ${secret}` })
      .catch(() => undefined);
    const lines: string[] = [];
    await runtime.export((line) => void lines.push(line));
    await runtime.close();
    expect(lines.join('\n')).toContain('wrong password [redacted]');
    expect(lines.filter((line) => line.includes(secret))).toEqual([]);
    const raw = readFile(file, (db) => db.serialize().toString('latin1'));
    expect(raw.includes(secret)).toBe(false);
  });
});
