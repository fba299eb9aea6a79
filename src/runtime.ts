import { resolve } from 'node:path';
import { v7 as uuid } from 'uuid';
import { isStateMachine } from './actors/actor-logic.ts';
import { type Agent, type AgentFunction, agent } from './actors/agent.ts';
import type { Agents } from './actors/agent-finder.ts';
import { escalationsIn, escalationText } from './actors/escalations.ts';
import { createFeedback, type FeedbackApi } from './actors/feedback.ts';
import { createRegistry } from './actors/registry.ts';
import { replayLog } from './actors/replay.ts';
import { toActorState } from './actors/run-handle.ts';
import { SafeObservable } from './actors/safe-observable.ts';
import { Assembly, type Parts } from './assembly.ts';
import { RuntimeError } from './errors.ts';
import { runOf } from './events/address.ts';
import { createDoor } from './events/door.ts';
import { DEFAULT_LIMITS } from './events/encode.ts';
import type { Address, RecordedEvent } from './events/event.ts';
import { isReservedType } from './events/vocabulary.ts';
import { lookBack } from './looking-back.ts';
import { OWN_ACTORS } from './machines/own-actors.ts';
import type { Workflow } from './machines/workflow.ts';
import { worstCase } from './proofs/worst-case.ts';
import type { DeadLetter, Runtime } from './runtime-api.ts';
import type { AgentsOf, RuntimeLimits, RuntimeOptions } from './runtime-options.ts';
import type { EventLog, VerifyOptions } from './store/event-log.ts';
import { createMemoryLog } from './store/memory/memory-log.ts';
import { openSqliteLog } from './store/sqlite/sqlite-log.ts';
import { exportLog } from './store/transfer.ts';

export const LIMITS: RuntimeLimits = {
  deliveriesPerTurn: 1_000,
  turnsPerRun: 10_000,
  queue: 10_000,
  loaded: 50_000,
  unpacked: 10_000,
  idleMs: 5 * 60_000,
  payload: DEFAULT_LIMITS,
};

const IN_MEMORY = ':memory:';

/**
 * Opens a log, takes up what was open in it, and runs workflows on it.
 *
 * @throws {RuntimeError} LOG_LOCKED, NOT_A_LOG, NEWER_SCHEMA, LOG_CORRUPT, LOG_NOT_AS_LEFT, MACHINE_REFUSED, BAD_OPTION,
 *   LOG_NOT_FOUND if it is only to be read
 */
export const createRuntime = async <const Workflows extends Workflow>(
  given: RuntimeOptions<Workflows, AgentsOf<Workflows>>,
): Promise<Runtime<Workflows>> => {
  checkOptions(given);
  const options = given.readOnly ? { ...given, idle: true } : given;
  const limits = checkedLimits({ ...LIMITS, ...options.limits });
  const agents = toAgents(options.agents);
  const byWorkflow = Object.fromEntries(
    Object.entries(options.agentsByWorkflow ?? {}).map(([name, own]) => [name, toAgents(own)]),
  );
  const registry = createRegistry();
  registry.register(OWN_ACTORS);
  registry.register(checkedWorkflows(options.workflows));
  const door = createDoor({ limits: limits.payload, ...(options.secrets && { secrets: options.secrets }) });
  const log = options.log ?? (await openOwnLog(options));
  try {
    const { atMs: lastAtMs } = await log.head();
    const assembly = new Assembly({
      options,
      agents,
      agentsByWorkflow: byWorkflow,
      limits,
      registry,
      door,
      log,
      lastAtMs,
      runsFolder: runsFolderOf(options),
    });
    await assembly.start();
    const runtime = toRuntime(assembly);
    if (options.onQuestion) runtime.questions$.subscribe(options.onQuestion);
    tellEscalations(options, assembly);
    return runtime;
  } catch (error) {
    await log.close();
    throw error;
  }
};

const tellEscalations = (
  { onEscalation, printEscalations = true }: RuntimeOptions<Workflow, unknown>,
  { bus, onFault }: Assembly,
): void => {
  const escalations$ = SafeObservable.over(escalationsIn(bus.events$), onFault);
  if (printEscalations) escalations$.subscribe((escalation) => console.error(escalationText(escalation)));
  if (onEscalation) escalations$.subscribe(onEscalation);
};

/** Absolute, since agents that are told of it may run elsewhere. */
const runsFolderOf = ({ file, runsFolder }: RuntimeOptions<Workflow, unknown>): string | null => {
  if (runsFolder === null || (runsFolder === undefined && file === IN_MEMORY)) return null;
  return resolve(runsFolder ?? `${file}.runs`);
};

const refuse = (option: string, found: unknown, expected: string): never => {
  throw new RuntimeError('BAD_OPTION', { option, found: String(found), expected });
};

/** Types keep most of this out; options that are read from a file, and callers without types, are not kept by them. */
const checkOptions = ({ agents, durability, reserveBytes }: RuntimeOptions<Workflow, unknown>): void => {
  if (typeof agents !== 'object' || agents === null) refuse('agents', agents, 'an object of agents by name');
  if (durability !== undefined && durability !== 'full' && durability !== 'normal')
    refuse('durability', durability, '"full" or "normal"');
  if (reserveBytes !== undefined && !(reserveBytes >= 0))
    refuse('reserveBytes', reserveBytes, 'a number from 0');
};

const checkedLimits = (limits: RuntimeLimits): RuntimeLimits => {
  const { payload, ...counts } = limits;
  for (const [option, value] of Object.entries<unknown>({ ...counts, ...payload })) {
    if (typeof value !== 'number' || !(value >= 1)) refuse(`limits.${option}`, value, 'a number from 1');
  }
  return limits;
};

const checkedWorkflows = (workflows: readonly Workflow[]): readonly Workflow[] => {
  if (!Array.isArray(workflows)) refuse('workflows', workflows, 'a list of workflows');
  for (const { name, machine, options } of workflows) {
    if (isReservedType(name))
      refuse('workflows', `"${name}"`, 'names that do not begin with "lw." or "xstate."');
    if (!isStateMachine(machine)) refuse(`workflows: "${name}"`, 'without a machine', 'a machine of XState');
    const { turnsMax = 1 } = options;
    if (typeof turnsMax !== 'number' || !(turnsMax >= 1))
      refuse(`turnsMax of "${name}"`, turnsMax, 'a number from 1');
  }
  return workflows;
};

/** A function alone is an agent with the usual options. */
const toAgents = (agents: Readonly<Record<string, Agent | AgentFunction<never, unknown>>>): Agents =>
  Object.fromEntries(
    Object.entries(agents).map(([name, given]) => {
      const made = typeof given === 'function' ? agent(given) : given;
      if (typeof made?.run !== 'function')
        refuse(`agents.${name}`, made, 'a function, or what agent() gives');
      return [name, made];
    }),
  );

const openOwnLog = async ({
  file,
  durability,
  exclusive,
  reserveBytes,
  restored,
  readOnly = false,
}: RuntimeOptions<Workflow, unknown>): Promise<EventLog> =>
  file === IN_MEMORY
    ? createMemoryLog()
    : openSqliteLog({
        file,
        mode: readOnly ? 'read' : 'write',
        ...(durability && { durability }),
        ...(exclusive !== undefined && { exclusive }),
        ...(reserveBytes !== undefined && { reserveBytes }),
        ...(restored !== undefined && { restored }),
      });

/**
 * Opens a log for reading only, whoever is writing it: to look at what happened without a runtime.
 *
 * @throws {RuntimeError} LOG_NOT_FOUND, NOT_A_LOG, NEWER_SCHEMA, LOG_CORRUPT, LOG_LOCKED if its owner reads alone
 */
export const openLog = (file: string): Promise<EventLog> => openSqliteLog({ file, mode: 'read' });

/** What the host sees of an assembly. */
const toRuntime = (assembly: Assembly): Runtime => {
  const { bus, runs, questions, host, onFault, parts } = assembly;
  const { log, registry } = parts;
  const open = (action: string): void => {
    if (assembly.isClosed) throw new RuntimeError('RUNTIME_CLOSED', { action });
  };
  return {
    async start(workflow, ...[input, { id: given, by } = {}]) {
      const id = given === undefined ? uuid() : given;
      const options = { isFresh: given === undefined, ...(by !== undefined && { by }) };
      await assembly.execute({ kind: 'start', workflow, run: id, input }, options);
      return runs.handle(id) as never; // Typed by the caller's workflow: the machine that was started is that workflow's.
    },
    worstCase: (workflow, input, options = {}) =>
      worstCase(registry, { ...options, workflow, input }, parts.limits.turnsPerRun),
    async run(id: string) {
      if (!(await log.run(id))) throw new RuntimeError('UNKNOWN_RUN', { run: id });
      return runs.handle(id) as never; // Typed by the caller, who names the workflow.
    },
    runs: (filter = {}) => log.runs(filter),
    send: (to, message, options = {}) => {
      const { expectedVersion } = options;
      return assembly.execute(
        { kind: 'send', to, message, ...(expectedVersion !== undefined && { expectedVersion }) },
        options,
      );
    },
    async actor(address) {
      open('actor');
      const record = await host.memory.read(address);
      if (!record) throw new RuntimeError('UNKNOWN_ACTOR', { address });
      return toActorState(record);
    },
    questions: (filter = {}) => {
      open('questions');
      return questions.open(filter.run);
    },
    questions$: SafeObservable.over(questions.questions$, onFault),
    answer: (question, option, { by, id, ...said } = {}) =>
      assembly.execute(
        { kind: 'answer', question, option, ...said },
        { ...(by !== undefined && { by }), ...(id !== undefined && { id }) },
      ),
    feedback: feedbackOf(assembly),
    events$: bus.events$,
    progress$: SafeObservable.over(assembly.progress, onFault),
    warnings$: SafeObservable.over(assembly.warnings, () => undefined),
    fault$: SafeObservable.over(assembly.faults, onFault),
    audit: (query) => assembly.audit(query),
    deadLetters: (filter = {}) => deadLetters(log, filter),
    resend: (position, options = {}) => assembly.execute({ kind: 'resend', position }, options),
    ...readViews(assembly),
    register(...workflows) {
      open('register');
      registry.register(checkedWorkflows(workflows));
    },
    ...lookBack({ parts, mustBeOpen: open, open: openParts }),
    execute: (command, options = {}) => assembly.execute(command, options),
    verify: (options = {}) => verifyAll(parts, options),
    backup: (file) => log.backup(file),
    export: (write) => exportLog(log, write),
    close: () => assembly.close(),
  };
};

const verifyAll = async (
  { log, registry, options: { projections = [] } }: Parts,
  options: VerifyOptions,
): ReturnType<Runtime['verify']> => ({
  log: await log.verify(options),
  replay: await replayLog(log, registry, { ...options, projections }),
});

const feedbackOf = (assembly: Assembly): FeedbackApi => {
  const { bus, views, host, faults, clock, parts } = assembly;
  return createFeedback({
    actor: (address) => host.memory.read(address),
    execute: (command, given) => assembly.execute(command, given),
    events: ({ run, after }) => parts.log.events({ run, after, limit: Number.POSITIVE_INFINITY }),
    read: (projection, run) => views.read(projection, run),
    events$: bus.events$,
    fault$: faults,
    clock,
  });
};

const readViews = ({
  views,
  onFault,
}: Assembly): Pick<Runtime, 'read' | 'view$' | 'watch' | 'rebuildViews'> => ({
  rebuildViews: () => views.rebuildAll(),
  read: (projection, run) => views.read(projection, run),
  view$: (projection, run) => SafeObservable.over(views.state$(projection, run), onFault),
  watch: (projection, run, pattern) => SafeObservable.over(views.watch(projection, run, pattern), onFault),
});

/** A runtime on parts that are there already: those of a branch. */
const openParts = async (parts: Parts): Promise<Runtime> => {
  const assembly = new Assembly(parts);
  await assembly.start();
  return toRuntime(assembly);
};

const deadLetters = async (
  log: EventLog,
  filter: Parameters<Runtime['deadLetters']>[0],
): Promise<readonly DeadLetter[]> => {
  const letters = await log.events({ ...filter, kinds: ['undelivered'] });
  return Promise.all(
    letters.map(async (letter) => ({
      position: letter.position,
      run: letter.run,
      to: receiverOf(letter),
      type: letter.type,
      message: letter.data.message,
      reason: typeof letter.data.reason === 'string' ? letter.data.reason : '',
      atMs: letter.atMs,
      resent: await isResent(log, letter),
    })),
  );
};

const receiverOf = ({ data }: RecordedEvent): Address => (typeof data.to === 'string' ? data.to : '');

/** Whether a later turn was caused by the letter. In its own turn it may have been the end of its run. */
const isResent = async (log: EventLog, letter: RecordedEvent): Promise<boolean> => {
  const { position, turn } = letter;
  const effects = await log.events({ cause: position });
  if (effects.some((event) => event.turn > turn)) return true;
  // The log finds effects in the letter's own run; it may have been for an actor of another.
  const run = runOf(receiverOf(letter));
  if (run === letter.run) return false;
  const later = await log.events({ run, after: position, limit: Number.POSITIVE_INFINITY });
  return later.some(({ cause }) => cause === position);
};
