import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { lastValueFrom, toArray } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setup } from 'xstate';
import {
  agent,
  createRuntime,
  type ErrorCode,
  isRuntimeError,
  projection,
  type Run,
  type Runtime,
  runSummary,
  workflow,
} from '../../src/index.ts';
import { openInbox } from '../../src/store/inbox.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { notComparable } from '../support/compared-logs.ts';
import { callOnce, decision, tally } from '../support/machines.ts';
import { changeFile, headOf, open, refusal } from '../support/runtimes.ts';

/** Takes whatever it is sent. */
const sink = workflow(
  'sink',
  setup({ types: { events: {} as { type: string } } }).createMachine({ on: { '*': { reenter: true } } }),
);

const nested = (depth: number): unknown => (depth === 0 ? 0 : { a: nested(depth - 1) });

const cyclic = (): unknown => {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
};

class Box {
  readonly content = 1;
}

const throwing = (): unknown =>
  Object.defineProperty({}, 'trap', {
    enumerable: true,
    get() {
      throw new Error('sprung');
    },
  });

/** Half of a surrogate pair: a string that no database can store as it is. */
const HALF = '\ud800';

/** The runtime as a caller without types sees it. */
interface LooseRuntime extends Omit<Runtime, 'start'> {
  start(workflow: string, input?: unknown, options?: { readonly id?: string }): Promise<Run>;
}

interface World {
  readonly runtime: LooseRuntime;
  readonly run: Run;
}

interface Case {
  readonly name: string;
  readonly code: ErrorCode;
  /** What the message must say. */
  readonly says: RegExp;
  readonly act: (world: World) => unknown;
}

const add = (value: unknown) => ({ type: 'ADD', value }) as const;

const CASES: readonly Case[] = [
  // Who and what there is not.
  {
    name: 'a message to an actor that does not exist',
    code: 'UNKNOWN_ACTOR',
    says: /"nobody"/,
    act: ({ runtime }) => runtime.send('nobody', add(1)),
  },
  {
    name: 'a message to a child that does not exist',
    code: 'UNKNOWN_ACTOR',
    says: /"t\/child"/,
    act: ({ runtime }) => runtime.send('t/child', add(1)),
  },
  {
    name: 'the state of an actor that does not exist',
    code: 'UNKNOWN_ACTOR',
    says: /"nobody"/,
    act: ({ runtime }) => runtime.actor('nobody'),
  },
  {
    name: 'a run that does not exist',
    code: 'UNKNOWN_RUN',
    says: /runtime\.runs\(\)/,
    act: ({ runtime }) => runtime.run('nobody'),
  },
  {
    name: 'a workflow that is not registered',
    code: 'UNKNOWN_WORKFLOW',
    says: /"tallly".*tally, decision/,
    act: ({ runtime }) => runtime.start('tallly'),
  },
  {
    name: 'an event that the machine takes in no state',
    code: 'UNKNOWN_EVENT',
    says: /"ADDD".*ADD, STOP, RESUME/,
    act: ({ run }) => run.send({ type: 'ADDD' }),
  },
  {
    name: 'a projection that is not registered',
    code: 'UNKNOWN_PROJECTION',
    says: /"other".*run-summary/,
    act: ({ runtime }) =>
      runtime.read(projection({ name: 'other', version: 1, partition: 'log', initial: {}, on: {} })),
  },
  {
    name: 'another version of a projection',
    code: 'UNKNOWN_PROJECTION',
    says: /run-summary/,
    act: ({ runtime }) => runtime.read({ ...runSummary, version: 2 }, 't'),
  },
  {
    name: 'a projection of runs without a run',
    code: 'BAD_OPTION',
    says: /the id of a run/,
    act: ({ runtime }) => runtime.read(runSummary),
  },
  ...['', 'a..b', '.a', 'a.', 'a.__proto__', 'a***', 'x'.repeat(1_001)].map(
    (pattern): Case => ({
      name: `the pattern "${pattern.slice(0, 12)}"`,
      code: 'BAD_PATTERN',
      says: /agents\.\*\.status/,
      act: ({ runtime }) => runtime.watch(runSummary, 't', pattern),
    }),
  ),
  // Messages that are none.
  ...[null, undefined, 'ADD', 5, [{ type: 'ADD' }], {}, { type: 5 }, { type: '' }, () => undefined].map(
    (message): Case => ({
      name: `the message ${typeof message === 'function' ? 'of a function' : JSON.stringify(message)}`,
      code: 'BAD_MESSAGE',
      says: /\{ type: "TASK_ADDED"/,
      act: ({ run }) => run.send(message as never),
    }),
  ),
  ...[
    'xstate.stop',
    'xstate.done.actor.work',
    'xstate.after.100.t',
    '@xstate.init',
    'lw.started',
    'lw.run.ended',
  ].flatMap((type): Case[] => [
    {
      name: `the reserved type ${type}, by run.send`,
      code: 'RESERVED_EVENT',
      says: new RegExp(`"${type}".*does not begin with`),
      act: ({ run }) => run.send({ type }),
    },
    {
      name: `the reserved type ${type}, by runtime.send to a machine that takes all`,
      code: 'RESERVED_EVENT',
      says: /made by the runtime only/,
      act: ({ runtime }) => runtime.send('sink', { type }),
    },
  ]),
  ...[HALF, `A${HALF}`, 'x'.repeat(1_000)].map(
    (type): Case => ({
      name: `a type of ${JSON.stringify(type.slice(0, 10))}`,
      code: 'BAD_MESSAGE',
      says: /type/,
      act: ({ runtime }) => runtime.send('sink', { type }),
    }),
  ),
  // Payloads.
  ...(
    [
      ['undefined', undefined, 'ADD.value'],
      ['NaN', Number.NaN, 'ADD.value'],
      ['-0', -0, 'ADD.value'],
      ['a bigint', { big: [1n] }, 'ADD.value.big[0]'],
      ['a date', { at: new Date(0) }, 'ADD.value.at'],
      ['a map', { 'my map': new Map() }, 'ADD.value["my map"]'],
      ['a function', { f: () => undefined }, 'ADD.value.f'],
      ['a symbol', [Symbol('x')], 'ADD.value[0]'],
      ['a hole', Array(2), 'ADD.value[0]'],
      ['half a surrogate pair', { text: HALF }, 'ADD.value.text'],
      ['a cycle', cyclic(), 'ADD.value.self'],
      ['a getter that throws', throwing(), 'ADD.value.trap'],
      ['an instance of a class', { box: new Box() }, 'ADD.value.box'],
      ['a key that reaches a prototype', JSON.parse('{"__proto__":1}'), 'ADD.value.__proto__'],
    ] as const
  ).map(
    ([name, value, path]): Case => ({
      name: `a payload with ${name}`,
      code: 'PAYLOAD_UNSUPPORTED',
      says: new RegExp(`${path.replaceAll(/[[\].]/g, '\\$&')}[ \\[]`),
      act: ({ run }) => run.send(add(value)),
    }),
  ),
  {
    name: 'a payload of more than a megabyte',
    code: 'PAYLOAD_TOO_LARGE',
    says: /1048576 bytes/,
    act: ({ run }) => run.send(add(Array.from({ length: 400_000 }, () => 'abcd'))),
  },
  {
    name: 'a payload of 100 levels',
    code: 'PAYLOAD_TOO_LARGE',
    says: /64 depth/,
    act: ({ run }) => run.send(add(nested(100))),
  },
  {
    name: 'a payload of 20,000 keys',
    code: 'PAYLOAD_TOO_LARGE',
    says: /10000 keys/,
    act: ({ run }) =>
      run.send(add(Object.fromEntries(Array.from({ length: 20_000 }, (_, key) => [`k${key}`, 1])))),
  },
  {
    name: 'an input with a date',
    code: 'PAYLOAD_UNSUPPORTED',
    says: /input\.at/,
    act: ({ runtime }) => runtime.start('tally', { at: new Date(0) }),
  },
  // Ids and addresses.
  {
    name: 'a run id that is taken',
    code: 'RUN_EXISTS',
    says: /"t".*runtime\.run/,
    act: ({ runtime }) => runtime.start('tally', null, { id: 't' }),
  },
  ...['', 'a/b', '../etc', 'a b', '\u0000', 'ä', HALF, '-x', 'x'.repeat(201), 5, null, {}].map(
    (id): Case => ({
      name: `the run id ${JSON.stringify(id)?.slice(0, 20)}`,
      code: 'BAD_ADDRESS',
      says: /letters, digits/,
      act: ({ runtime }) => runtime.start('tally', null, { id: id as never }),
    }),
  ),
  ...[5, null, undefined, {}, ''].map(
    (address): Case => ({
      name: `the address ${JSON.stringify(address)}`,
      code: 'BAD_ADDRESS',
      says: /letters, digits/,
      act: ({ runtime }) => runtime.send(address as never, add(1)),
    }),
  ),
  ...[5, '', HALF, 'x'.repeat(1_000), {}].flatMap((name): Case[] => [
    {
      name: `a sender called ${JSON.stringify(name).slice(0, 12)}`,
      code: 'BAD_OPTION',
      says: /"by"/,
      act: ({ run }) => run.send(add(1), { by: name as never }),
    },
    {
      name: `a command with the id ${JSON.stringify(name).slice(0, 12)}`,
      code: 'BAD_OPTION',
      says: /"id"/,
      act: ({ run }) => run.send(add(1), { id: name as never }),
    },
  ]),
  ...[5, HALF, 'x'.repeat(100_000), {}].map(
    (reason): Case => ({
      name: `a cancellation with the reason ${JSON.stringify(reason).slice(0, 12)}`,
      code: 'BAD_OPTION',
      says: /"reason"/,
      act: ({ run }) => run.cancel({ reason: reason as never }),
    }),
  ),
  // Versions and ends.
  ...[0, 1, 10_000, -1, 0.5, Number.NaN].map(
    (expectedVersion): Case => ({
      name: `an expected version of ${expectedVersion}`,
      code: 'STALE_VERSION',
      says: /someone else was first.*decide anew/,
      act: ({ run }) => run.send(add(1), { expectedVersion }),
    }),
  ),
  {
    name: 'a message to a run that has ended',
    code: 'RUN_ENDED',
    says: /"ended".*cancelled/,
    act: ({ runtime }) => runtime.send('ended', add(1)),
  },
  {
    name: 'a second end of a run',
    code: 'RUN_ENDED',
    says: /"ended"/,
    act: async ({ runtime }) => (await runtime.run('ended')).cancel(),
  },
  // Reading.
  ...[-1, 0.5, Number.NaN, '5'].flatMap((limit): Case[] => [
    {
      name: `an audit of ${limit} events`,
      code: 'BAD_OPTION',
      says: /"limit"/,
      act: ({ runtime }) => runtime.audit({ limit: limit as never }),
    },
    {
      name: `a list of ${limit} runs`,
      code: 'BAD_OPTION',
      says: /"limit"/,
      act: ({ runtime }) => runtime.runs({ limit: limit as never }),
    },
  ]),
  // Registering.
  {
    name: 'a workflow that is registered already',
    code: 'BAD_OPTION',
    says: /a second "tally" of version 1/,
    act: ({ runtime }) => runtime.register(tally),
  },
  {
    name: 'a machine that cannot be made durable',
    code: 'MACHINE_REFUSED',
    says: /- the entry of the root is a function of its own/,
    act: ({ runtime }) =>
      runtime.register(workflow('loud', setup({}).createMachine({ entry: () => console.log('hi') }))),
  },
  ...[0, -1, 1.5, Number.NaN, '1'].map(
    (version): Case => ({
      name: `a workflow of version ${version}`,
      code: 'BAD_OPTION',
      says: /version of "new"/,
      act: ({ runtime }) => runtime.register(workflow('new', tally.machine, { version: version as never })),
    }),
  ),
  ...[0, -1, Number.NaN, '10'].map(
    (turnsMax): Case => ({
      name: `a workflow with at most ${turnsMax} turns`,
      code: 'BAD_OPTION',
      says: /turnsMax/,
      act: ({ runtime }) => runtime.register(workflow('new', tally.machine, { turnsMax: turnsMax as never })),
    }),
  ),
  {
    name: 'a workflow whose name is no id',
    code: 'BAD_ADDRESS',
    says: /letters, digits/,
    act: ({ runtime }) => runtime.register(workflow('my workflow', tally.machine)),
  },
];

describe('wrong use is refused with a code and advice; nothing is written, and the runtime goes on', () => {
  const folder = mkdtempSync(join(tmpdir(), 'loopwright-'));
  const file = join(folder, 'log.db');
  const workflows = [tally, decision, sink];
  let runtime: LooseRuntime;
  let run: Run;
  let sum = 0;

  beforeAll(async () => {
    const typed = await createRuntime({ file, workflows, agents: {} });
    runtime = typed as unknown as LooseRuntime; // Wrong use is what the types keep from happening.
    run = await runtime.start('tally', null, { id: 't' });
    await runtime.start('sink', null, { id: 'sink' });
    await (await runtime.start('tally', null, { id: 'ended' })).cancel();
  });
  afterAll(async () => {
    await runtime.close();
    rmSync(folder, { recursive: true, force: true });
  });

  it.each(CASES)('$code: $name', async ({ code, says, act }) => {
    const before = await headOf(runtime);
    const attempt = (async () => act({ runtime, run }))();
    const error = await refusal(attempt, code);
    expect(error.message.length).toBeLessThan(1_000);
    expect(error.message.replaceAll('\n', ' ')).toMatch(says);
    expect(await headOf(runtime)).toBe(before);

    sum += 1;
    expect(await run.send(add(1))).toMatchObject({ taken: true });
  });

  it('a second runtime finds what was right, and nothing of what was wrong', async () => {
    await runtime.close();
    const second = await open({ file, workflows, agents: {} });
    const { log, replay } = await second.verify();
    expect([log.problem, replay.problem]).toEqual([undefined, undefined]);
    expect((await second.actor('t')).context).toEqual({ sum, added: sum });
    expect(await second.audit({ kinds: ['undelivered', 'failed', 'late'] })).toEqual([]);
  });
});

describe('QUEUE_FULL: more than can be taken', () => {
  it('calls beyond the limit are refused at once; the others are done, and it goes on', async () => {
    const file = temporaryFile();
    const first = await open({ file, workflows: [tally], agents: {}, limits: { queue: 10 } });
    const full = await first.start('tally', null, { id: 't' });
    const sends = await Promise.allSettled(
      Array.from({ length: 50 }, () => full.send({ type: 'ADD', value: 1 })),
    );
    const refused = sends.flatMap((sent) => (sent.status === 'rejected' ? [sent.reason as unknown] : []));
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.every((error) => isRuntimeError(error, 'QUEUE_FULL'))).toBe(true);
    expect(await full.send({ type: 'ADD', value: 1 })).toMatchObject({ taken: true });
    await first.close();
    const second = await open({ file, workflows: [tally], agents: {} });
    expect((await second.actor('t')).context).toMatchObject({ sum: 50 - refused.length + 1 });
  });
});

describe('commands of other processes are refused like those of the host', () => {
  const commands: readonly (readonly [ErrorCode, unknown])[] = [
    ['RESERVED_EVENT', { kind: 'send', to: 't', message: { type: 'xstate.stop' } }],
    ['RESERVED_EVENT', { kind: 'send', to: 't', message: { type: 'lw.stopped' } }],
    ['UNKNOWN_EVENT', { kind: 'send', to: 't', message: { type: 'ADDD' } }],
    ['UNKNOWN_ACTOR', { kind: 'send', to: 'nobody', message: { type: 'ADD' } }],
    ['BAD_ADDRESS', { kind: 'send', to: '', message: { type: 'ADD' } }],
    ['BAD_MESSAGE', { kind: 'send', to: 't', message: null }],
    ['BAD_MESSAGE', { kind: 'send', to: 't' }],
    ['BAD_MESSAGE', { kind: 'send', to: 5 }],
    ['BAD_MESSAGE', { kind: 'dance' }],
    ['BAD_MESSAGE', 'dance'],
    ['PAYLOAD_TOO_LARGE', { kind: 'send', to: 't', message: { type: 'ADD', value: nested(100) } }],
    ['STALE_VERSION', { kind: 'send', to: 't', message: { type: 'ADD', value: 1 }, expectedVersion: 0 }],
    ['STALE_VERSION', { kind: 'send', to: 't', message: { type: 'ADD', value: 1 }, expectedVersion: '1' }],
    ['UNKNOWN_WORKFLOW', { kind: 'start', workflow: 'tallly', run: 'x' }],
    ['RUN_EXISTS', { kind: 'start', workflow: 'tally', run: 't' }],
    ['BAD_ADDRESS', { kind: 'start', workflow: 'tally', run: 'a/b' }],
    ['UNKNOWN_RUN', { kind: 'cancel', run: 'nobody' }],
    ['BAD_OPTION', { kind: 'cancel', run: 't', reason: { deep: true } }],
    ['BAD_OPTION', { kind: 'resend', position: 1 }],
  ];

  it('each is told its error; nothing is written, and the next command is carried out', async () => {
    const file = temporaryFile();
    const first = await open({ file, workflows: [tally], agents: {} });
    await first.start('tally', null, { id: 't' });
    await first.close();
    const inbox = openInbox(file);
    const post = (id: string, body: string) =>
      inbox.post({ id, kind: 'command', body, by: 'someone', atMs: 1 });
    for (const [index, [, command]] of commands.entries()) post(`bad-${index}`, JSON.stringify(command));
    post('no JSON', '{');
    post('good', JSON.stringify({ kind: 'send', to: 't', message: { type: 'ADD', value: 1 } }));

    const second = await open({ file, workflows: [tally], agents: {} });
    const outcome = (id: string): unknown => JSON.parse(inbox.outcome(id) ?? 'null');
    for (const [index, [code]] of commands.entries()) {
      expect(outcome(`bad-${index}`)).toMatchObject({ ok: false, error: { code } });
    }
    expect(outcome('no JSON')).toMatchObject({ ok: false });
    expect(outcome('good')).toEqual({ ok: true, taken: true, position: 2 });
    inbox.close();
    expect(await headOf(second)).toBe(2);
  });
});

describe('RUNTIME_CLOSED: a closed runtime refuses everything', () => {
  const methods: Record<string, (runtime: LooseRuntime, run: Run) => unknown> = {
    start: (runtime) => runtime.start('tally'),
    run: (runtime) => runtime.run('t'),
    runs: (runtime) => runtime.runs(),
    send: (runtime) => runtime.send('t', add(1)),
    actor: (runtime) => runtime.actor('t'),
    audit: (runtime) => runtime.audit({}),
    deadLetters: (runtime) => runtime.deadLetters(),
    resend: (runtime) => runtime.resend(1),
    read: (runtime) => runtime.read(runSummary, 't'),
    register: (runtime) => runtime.register(decision),
    verify: (runtime) => runtime.verify(),
    backup: (runtime) => runtime.backup(temporaryFile('copy.db')),
    export: (runtime) => runtime.export(() => undefined),
    'run.state': (_, run) => run.state(),
    'run.send': (_, run) => run.send(add(1)),
    'run.result': (_, run) => run.result(),
    'run.settled': (_, run) => run.settled(),
    'run.cancel': (_, run) => run.cancel(),
  };

  it('every method', async () => {
    const file = temporaryFile();
    const typed = await open({ file, workflows: [tally], agents: {} });
    const runtime = typed as unknown as LooseRuntime; // See above.
    const run = await runtime.start('tally', null, { id: 't' });
    await runtime.close();
    for (const method of Object.values(methods)) {
      await refusal((async () => method(runtime, run))(), 'RUNTIME_CLOSED');
    }
    const second = await open({ file, workflows: [tally], agents: {} });
    expect(await headOf(second)).toBe(1);
  });

  it('its observables are complete', async () => {
    const runtime = await open({ file: temporaryFile(), workflows: [tally], agents: {} });
    const run = await runtime.start('tally', null, { id: 't' });
    await runtime.close();
    const all = [
      lastValueFrom(runtime.events$.pipe(toArray())),
      lastValueFrom(run.events$.pipe(toArray())),
      lastValueFrom(runtime.view$(runSummary, 't').pipe(toArray())),
      lastValueFrom(runtime.watch(runSummary, 't', '**').pipe(toArray())),
      lastValueFrom(runtime.progress$.pipe(toArray())),
      lastValueFrom(run.state$.pipe(toArray())),
    ];
    expect(await Promise.all<readonly unknown[]>(all)).toEqual([[], [], [], [], [], []]);
  });
});

describe('BAD_OPTION: a runtime is not opened with options that make no sense', () => {
  const limits = ['deliveriesPerTurn', 'turnsPerRun', 'queue', 'loaded', 'unpacked', 'idleMs'];
  const cases: readonly (readonly [string, object])[] = [
    ...limits.flatMap((name) =>
      [-1, 0, Number.NaN, '5', null].map(
        (value) => [`limits.${name}`, { limits: { [name]: value } }] as const,
      ),
    ),
    ...['bytes', 'depth', 'keys'].map(
      (name) =>
        [`limits.${name}`, { limits: { payload: { bytes: 1, depth: 1, keys: 1, [name]: -1 } } }] as const,
    ),
    ['file', { file: '' }],
    ['file', { file: undefined }],
    ['file', { file: 5 }],
    ['durability', { durability: 'sometimes' }],
    ['reserveBytes', { reserveBytes: -1 }],
    ['reserveBytes', { reserveBytes: Number.NaN }],
    ['secrets.values', { secrets: { values: ['abc'] } }],
    ['secrets.names', { secrets: { names: [''] } }],
    ['projections', { projections: [runSummary] }],
    ['workflows', { workflows: [tally, tally] }],
    ['workflows', { workflows: [{ ...tally, machine: {} }] }],
    ['workflows', { workflows: undefined }],
    ['agents', { agents: { worker: 5 } }],
    ['agents', { agents: undefined }],
  ];

  it.each(cases)('%s: %o', async (option, given) => {
    const file = temporaryFile();
    const options = { file, workflows: [tally], agents: {}, ...given };
    const opened = createRuntime(options as unknown as Parameters<typeof createRuntime>[0]);
    const error = await refusal(opened, 'BAD_OPTION');
    expect(error.fields.option).toContain(option);
    // Nothing is held: the log could be opened with the right options.
    expect(existsSync(`${file}.owner`)).toBe(false);
  });

  it.each([
    ['concurrency', { concurrency: 0 }],
    ['concurrency', { concurrency: -1 }],
    ['concurrency', { concurrency: 1.5 }],
    ['concurrency', { concurrency: Number.NaN }],
    ['concurrency', { concurrency: Number.POSITIVE_INFINITY }],
    ['timeoutMs', { timeoutMs: 0 }],
    ['timeoutMs', { timeoutMs: -1 }],
    ['timeoutMs', { timeoutMs: Number.NaN }],
    ['quarantine', { quarantine: { failures: 0, forMs: 1 } }],
    ['quarantine', { quarantine: { failures: 1, forMs: Number.NaN } }],
    ['quarantine', { quarantine: { failures: 1, forMs: -1 } }],
  ])('an agent with a %s of %o', (option, given) => {
    let thrown: unknown;
    try {
      agent(() => null, given);
    } catch (error) {
      thrown = error;
    }
    expect(isRuntimeError(thrown, 'BAD_OPTION') && thrown.fields.option).toContain(option);
  });
});

describe('files that are no logs are left as they are', () => {
  const openFile = (file: string) => createRuntime({ file, workflows: [tally], agents: {} });
  const leaveLog = async (file: string, messages = 10): Promise<void> => {
    const runtime = await openFile(file);
    const run = await runtime.start('tally', null, { id: 't' });
    await Promise.all(Array.from({ length: messages }, (_, value) => run.send({ type: 'ADD', value })));
    await runtime.close();
  };

  it('NOT_A_LOG: a text file', async () => {
    const file = temporaryFile('notes.txt');
    writeFileSync(file, 'Dear diary,\n'.repeat(1_000));
    const { fields } = await refusal(openFile(file), 'NOT_A_LOG');
    expect(fields.problem).toContain('not a SQLite database');
  });

  it('NOT_A_LOG: a SQLite database of another program', async () => {
    const file = temporaryFile('other.db');
    changeFile(file, 'create table songs (title text)', `insert into songs values ('Yesterday')`);
    const { fields } = await refusal(openFile(file), 'NOT_A_LOG');
    expect(fields.problem).toContain('another program');
    const db = new Database(file, { readonly: true });
    expect(db.prepare('select title from songs').pluck().all()).toEqual(['Yesterday']);
    db.close();
  });

  it('a directory', async () => {
    const file = temporaryFile('folder');
    mkdirSync(file);
    const error: unknown = await openFile(file).catch((reason: unknown) => reason);
    expect(isRuntimeError(error, 'NOT_A_LOG')).toBe(true);
  });

  it('NEWER_SCHEMA: a log of a newer version of this package', async () => {
    const file = temporaryFile();
    await leaveLog(file);
    changeFile(file, 'pragma user_version = 99');
    const error = await refusal(openFile(file), 'NEWER_SCHEMA');
    expect(error.fields).toMatchObject({ found: 99, supported: 1 });
    changeFile(file, 'pragma user_version = 1');
    await (await openFile(file)).close();
  });

  it('LOG_LOCKED: a second writer, with the process that is the first', async () => {
    const file = temporaryFile();
    const first = await open({ file, workflows: [tally], agents: {} });
    const startedMs = performance.now();
    const error = await refusal(openFile(file), 'LOG_LOCKED');
    expect(performance.now() - startedMs).toBeLessThan(2_000);
    expect(error.fields.owner).toContain(`process ${process.pid}`);
    expect(await (await first.start('tally')).send({ type: 'ADD', value: 1 })).toMatchObject({ taken: true });
    await first.close();
    await (await openFile(file)).close();
  });

  // Method: alter one row, as a bad disk or a hand would. The last 50 turns are looked at when a log is opened, the others
  // when they are read.
  it('LOG_CORRUPT: an altered log, with the first position that is wrong', async () => {
    const file = temporaryFile();
    await leaveLog(file, 100);
    changeFile(file, `update events set data = '{"value":99}' where position = 5`);
    notComparable(file);
    const runtime = await open({ file, workflows: [tally], agents: {} });
    const { log, replay } = await runtime.verify();
    expect(log).toMatchObject({ ok: false, problem: { position: 5 } });
    expect(replay).toMatchObject({ ok: false, problem: { position: 5 } });
    const error = await refusal(runtime.audit({ run: 't' }), 'LOG_CORRUPT');
    expect(error.fields.position).toBe(5);
    // What is whole goes on.
    expect(await (await runtime.start('tally')).send({ type: 'ADD', value: 1 })).toMatchObject({
      taken: true,
    });
  });

  it('LOG_CORRUPT: a damaged end is found when the log is opened', async () => {
    const file = temporaryFile();
    await leaveLog(file);
    changeFile(file, 'delete from events where position = 11');
    notComparable(file);
    const error = await refusal(openFile(file), 'LOG_CORRUPT');
    expect(error.fields.position).toBe(11);
  });

  it('FILE_EXISTS: a backup overwrites nothing', async () => {
    const file = temporaryFile();
    const runtime = await open({ file, workflows: [tally], agents: {} });
    await runtime.start('tally', null, { id: 't' });
    for (const path of [file, `${file}.lock`]) await refusal(runtime.backup(path), 'FILE_EXISTS');
    await runtime.backup(`${file}.copy`);
    await refusal(runtime.backup(`${file}.copy`), 'FILE_EXISTS');
    await runtime.close();
    for (const path of [file, `${file}.copy`]) {
      const second = await open({ file: path, workflows: [tally], agents: {} });
      expect(await headOf(second)).toBe(1);
    }
  });

  it('MACHINE_REFUSED and AGENT options: nothing is created for a runtime that cannot be opened', async () => {
    const file = temporaryFile();
    const loud = workflow('loud', setup({}).createMachine({ entry: () => console.log('hi') }));
    await refusal(createRuntime({ file, workflows: [loud], agents: {} }), 'MACHINE_REFUSED');
    await open({ file, workflows: [callOnce], agents: { worker: () => null } });
  });
});
