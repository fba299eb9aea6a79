import { Subject } from 'rxjs';
import type { AnyStateMachine } from 'xstate';
import { type AgentFinder, type Agents, createAgentFinder } from './actors/agent-finder.ts';
import type { BranchParts } from './actors/branch-parts.ts';
import { type Bus, createBus } from './actors/bus.ts';
import type { Progress } from './actors/call-runner.ts';
import { type Clock, createSystemClock } from './actors/clock.ts';
import { type Command, type CommandHeader, toStimulus } from './actors/commands.ts';
import { createExecutors, type Executors } from './actors/executors.ts';
import { Host, type Incoming, type Receipt } from './actors/host.ts';
import { createIds } from './actors/ids.ts';
import { createInboxDrain, type InboxDrain } from './actors/inbox-drain.ts';
import { logTag, reapOrphans } from './actors/orphans.ts';
import { ownAgents } from './actors/own-agents.ts';
import { createQuestions, type Questions } from './actors/questions.ts';
import { recover } from './actors/recovery.ts';
import type { Registry } from './actors/registry.ts';
import { createRunFiles, type RunFiles } from './actors/run-files.ts';
import type { SendOptions } from './actors/run-handle.ts';
import { createRuns, type Runs } from './actors/runs.ts';
import { SafeObservable } from './actors/safe-observable.ts';
import { createTimers, type Timers } from './actors/timers.ts';
import { createKernel } from './actors/turn.ts';
import { createUpcast } from './actors/upcast.ts';
import { isRuntimeError, RuntimeError } from './errors.ts';
import type { Door } from './events/door.ts';
import type { EventKind, RecordedEvent } from './events/event.ts';
import type { RecordedTurn } from './events/turn.ts';
import { TYPE } from './events/vocabulary.ts';
import { tightMachine } from './machines/tight-machine.ts';
import type { Workflow } from './machines/workflow.ts';
import type { ProjectionEngine } from './projections/engine.ts';
import { tightFiles, tightProgress } from './projections/tight-progress.ts';
import type { RuntimeLimits, RuntimeOptions } from './runtime-options.ts';
import type { EventLog, EventQuery } from './store/event-log.ts';
import { openInbox } from './store/inbox.ts';
import { createViews } from './views.ts';

export interface Parts {
  readonly options: RuntimeOptions<Workflow, unknown>;
  readonly agents: Agents;
  readonly agentsByWorkflow: Readonly<Record<string, Agents>>;
  readonly limits: RuntimeLimits;
  readonly registry: Registry;
  readonly door: Door;
  readonly log: EventLog;
  readonly runsFolder: string | null;
  /** Time of the last turn in the log. */
  readonly lastAtMs: number;
  /** Set for a branch of another log's run. */
  readonly branch?: BranchParts;
}

const SWEEP_MS = 30_000;
/** More than a commit ever has: files are written right after each. */
const EVENTS_OF_A_COMMIT_MAX = 10_000;
const RETRY_MS_MIN = 50;
const RETRY_MS_MAX = 2_000;

/** How the parts of a runtime are joined: who is told what, and in which order. */
export class Assembly {
  readonly parts: Parts;
  readonly bus: Bus;
  readonly views: ProjectionEngine;
  readonly runs: Runs;
  readonly questions: Questions;
  readonly host: Host;
  readonly warnings = new Subject<string>();
  readonly faults = new Subject<RuntimeError>();
  readonly progress = new Subject<Progress>();
  readonly clock: Clock;
  readonly #finder: AgentFinder;
  readonly #executors: Executors;
  readonly #timers: Timers;
  readonly #inbox: InboxDrain | undefined;
  readonly #files: RunFiles;
  readonly #upcast: (event: RecordedEvent) => RecordedEvent;
  readonly #nextId: () => string;
  readonly #logTag: string;
  #sweeping: NodeJS.Timeout | undefined;
  #closing: Promise<void> | undefined;

  constructor(parts: Parts) {
    const { options, limits, registry, log } = parts;
    this.parts = parts;
    this.clock = options.clock ?? createSystemClock(parts.lastAtMs);
    this.#upcast = createUpcast(registry);
    this.#nextId = createIds(this.clock.now());
    this.#logTag = logTag(log.file);
    this.bus = createBus({ onFault: this.onFault });
    this.views = createViews({
      log,
      projections: options.projections ?? [],
      upcast: this.#upcast,
      isReadOnly: this.#isReadOnly,
      warn: this.warn,
    });
    this.#files = createRunFiles(
      {
        projection: tightProgress,
        folder: ({ folder }) => (parts.branch ? parts.branch.folder(folder) : folder),
        files: tightFiles,
      },
      { read: (projection, run) => this.views.read(projection, run), warn: this.warn },
    );
    const told = {
      publish: (turn: RecordedTurn) => this.#publish(turn),
      act: (turn: RecordedTurn) => this.#act(turn),
      parked: (_run: string, error: RuntimeError) => this.warn(error.message),
      fault: (error: RuntimeError) => this.#faulted(error),
      warn: this.warn,
    };
    const within = { log, registry, kernel: createKernel({ registry, limits }), clock: this.clock };
    this.host = new Host({ ...within, ...told }, limits, parts.lastAtMs);
    this.#finder = finderOf(parts);
    this.#executors = this.#createExecutors();
    this.#timers = createTimers(this.clock, ({ actor, timer, generation, openedAt }) =>
      this.#keep({
        kind: 'fired',
        id: this.#nextId(),
        origin: 'timer',
        by: null,
        cause: openedAt,
        actor,
        timer,
        generation,
      }),
    );
    this.runs = createRuns({
      actor: (address) => this.host.memory.read(address),
      peek: (address) => this.host.memory.cache.actor(address),
      find: async (id) => this.host.memory.cache.run(id) ?? (await log.run(id)),
      events: (id) => this.bus.run$(id),
      execute: (command, given) => this.execute(command, given),
      read: (projection, run) => this.views.read(projection, run),
      watch: (projection, run, pattern) =>
        SafeObservable.over(this.views.watch(projection, run, pattern), this.onFault),
      onFault: this.onFault,
    });
    this.questions = createQuestions({
      actor: (address) => this.host.memory.read(address),
      send: (command, given, origin) => this.execute(command, given, origin),
      read: (projection) => this.views.read(projection),
      events$: this.bus.events$,
    });
    this.#inbox = this.#createInbox();
  }

  /** Takes up what is open in the log, and what waits in the inbox. */
  async start(): Promise<void> {
    const { options, log, registry } = this.parts;
    this.#sweeping = setInterval(() => void this.host.sweep().catch(this.onFault), SWEEP_MS).unref();
    let orphans: readonly string[] = [];
    if (!options.idle) {
      if (log.file !== null) orphans = await reapOrphans(this.#logTag);
      await this.#files.restore(await this.#runsWithFiles(tightMachine));
      if (this.#finder.isByWorkflow) this.#finder.note(await log.runs({ status: 'open' }));
      await recover({
        log,
        registry,
        executors: this.#executors,
        timers: this.#timers,
        warn: this.warn,
        ...(options.takesUp && { takesUp: options.takesUp }),
      });
    }
    await this.#inbox?.start();
    // Told when the host has the runtime in hand and can have subscribed.
    setImmediate(() => orphans.forEach(this.warn));
  }

  /** Runs whose files a crash may have left behind: those that are open, and those that ended in the last commit. */
  async #runsWithFiles(machine: AnyStateMachine): Promise<readonly string[]> {
    const { log, registry } = this.parts;
    const names = registry.names().filter((name) => registry.newest(name)?.workflow.machine === machine);
    if (names.length === 0) return [];
    const limit = Number.POSITIVE_INFINITY;
    const open = await Promise.all(names.map((workflow) => log.runs({ status: 'open', workflow, limit })));
    const { position } = await log.head();
    const after = Math.max(0, position - EVENTS_OF_A_COMMIT_MAX);
    const ended = await log.events({ types: [TYPE.runEnded], after, limit });
    const endedHere = ended.filter(({ machine: name }) => names.includes(name));
    return [...open.flat().map(({ id }) => id), ...new Set(endedHere.map(({ run }) => run))];
  }

  /** Carries out a command of the host's, or of another process's. Resolves once it is in the log. */
  async execute(
    command: Command,
    { by, id, isFresh = false }: SendOptions & Pick<CommandHeader, 'isFresh'> = {},
    origin: 'host' | 'inbox' = 'host',
  ): Promise<Receipt> {
    if (this.#closing && origin === 'host')
      throw new RuntimeError('RUNTIME_CLOSED', { action: command.kind });
    if (command.kind === 'answer')
      return this.questions.answer(command, { ...(by && { by }), ...(id && { id }) }, origin);
    const header = { id: id ?? this.#nextId(), origin, by: by ?? null, isFresh };
    const made = toStimulus(this.parts, command, header);
    const submitted = this.host.submit(made instanceof Promise ? await made : made);
    return id === undefined ? submitted : this.#onceOnly(id, submitted);
  }

  /** Whoever gives a command again under its id is told what became of it then, whatever has happened since. */
  async #onceOnly(id: string, submitted: Promise<Receipt>): Promise<Receipt> {
    const done = () => findDone(this.parts.log, id);
    try {
      const receipt = await submitted;
      return receipt.duplicate ? ((await done()) ?? receipt) : receipt;
    } catch (error) {
      const earlier = await done().catch(() => undefined);
      if (earlier) return earlier;
      throw error;
    }
  }

  /** Events of the log, older versions of them as the newest code wants to see them. */
  async audit(query: EventQuery): Promise<readonly RecordedEvent[]> {
    return (await this.parts.log.events(query)).map(this.#upcast);
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** A branch has a log of its own, which it writes. */
  get #isReadOnly(): boolean {
    return this.parts.options.readOnly === true && !this.parts.branch;
  }

  get isClosed(): boolean {
    return this.#closing !== undefined;
  }

  readonly warn = (warning: string): void => {
    try {
      this.parts.options.onWarning?.(warning);
    } catch {
      // Whoever wants to hear of warnings cannot: nobody is left to be told.
    }
    this.warnings.next(warning);
  };

  readonly onFault = (error: unknown): void => this.warn(`A subscriber failed: ${String(error)}`);

  async #close(): Promise<void> {
    clearInterval(this.#sweeping);
    await this.#inbox?.stop();
    this.#executors.stop();
    this.#timers.stop();
    await this.host.close();
    await this.views.close();
    await this.#executors.ended();
    this.runs.fail(new RuntimeError('RUNTIME_CLOSED', { action: 'waiting for a run' }));
    this.bus.complete();
    for (const subject of [this.progress, this.faults, this.warnings]) subject.complete();
    await this.parts.log.close();
  }

  #publish(turn: RecordedTurn): void {
    this.views.committed(turn.events);
    this.#files.committed(turn);
    this.bus.publish(turn);
    this.runs.committed(turn);
    for (const { id, verdict } of turn.runs) if (verdict !== null) this.views.runEnded(id);
  }

  #act(turn: RecordedTurn): void {
    for (const call of turn.closedCalls) this.#executors.abort(call);
    for (const timer of turn.closedTimers) this.#timers.close(timer);
    if (this.parts.options.idle) return;
    this.#finder.note(turn.runs);
    const { takesUp = () => true } = this.parts.options;
    for (const call of turn.openedCalls) if (takesUp(call.run)) this.#executors.start(call);
    for (const timer of turn.openedTimers) if (takesUp(timer.run)) this.#timers.open(timer);
  }

  #faulted(error: RuntimeError): void {
    this.#executors.stop();
    this.#timers.stop();
    this.runs.fail(error);
    // Nothing will be published any more: whoever waits for the next event waits in vain.
    this.bus.complete();
    this.faults.next(error);
    this.warn(error.message);
  }

  /** For what came from agents and timers: nobody waits for it, so that nobody would hear of its failure. */
  #keep(incoming: Incoming): void {
    this.host.post(incoming, (error) => {
      // Of a run that is parked the host has warned.
      if (!isRuntimeError(error, 'RUN_PARKED'))
        this.warn(`A stimulus (${incoming.kind}) was refused: ${String(error)}`);
    });
  }

  #createExecutors(): Executors {
    const { door, log, branch } = this.parts;
    return createExecutors({
      clock: this.clock,
      door,
      logTag: this.#logTag,
      find: (call) => {
        const found = this.#finder.find(call);
        return found && branch ? branch.calling(found, call) : found;
      },
      ...(branch && { recorded: branch.recorded }),
      known: (call) => this.#finder.known(call),
      loadBlobs: (hashes) => this.#patiently(() => log.blobs(hashes)),
      putBlobs: (blobs) => this.#patiently(() => log.putBlobs(blobs)),
      begun: async ({ actor, call, generation, openedAt: cause }) => {
        await this.host.keep({
          kind: 'begun',
          id: this.#nextId(),
          origin: 'agent',
          by: null,
          cause,
          actor,
          call,
          generation,
        });
      },
      answered: ({ actor, call, generation, openedAt: cause }, outcome) =>
        this.#keep({
          kind: 'answer',
          id: this.#nextId(),
          origin: 'agent',
          by: null,
          cause,
          actor,
          call,
          generation,
          outcome,
        }),
      progress: (update) => this.progress.next(update),
      warn: this.warn,
    });
  }

  /** A disk that is full, or fails for a while, is no failure of the agent's: what it needs or brings waits like any answer. */
  async #patiently<Result>(work: () => Promise<Result>): Promise<Result> {
    for (let waitMs = RETRY_MS_MIN; ; waitMs = Math.min(2 * waitMs, RETRY_MS_MAX)) {
      try {
        return await work();
      } catch (error) {
        if (!isRuntimeError(error, 'DISK_FULL', 'DISK_LOW', 'LOG_WRITE_FAILED', 'LOG_READ_FAILED'))
          throw error;
        this.warn(`A call waits for the disk: ${error.message}`);
        await new Promise<void>((resolve) => this.clock.after(waitMs, resolve));
      }
    }
  }

  #createInbox(): InboxDrain | undefined {
    const { log } = this.parts;
    if (log.file === null || this.#isReadOnly) return undefined;
    return createInboxDrain({
      inbox: openInbox(log.file),
      clock: this.clock,
      findDone: (id) => findDone(log, id),
      execute: (command, { id, by }) => this.execute(command, { id, ...(by !== null && { by }) }, 'inbox'),
      warn: this.warn,
    });
  }
}

const finderOf = ({ agents, agentsByWorkflow: byWorkflow, registry, branch }: Parts): AgentFinder =>
  createAgentFinder({
    agents: { ...agents, ...ownAgents(branch !== undefined) },
    byWorkflow,
    registry,
  });

/** The receipt of a stimulus that is in the log. */
const findDone = async (log: EventLog, id: string): Promise<Receipt | undefined> => {
  const found = await log.findTurn(id);
  if (!found) return undefined;
  const [first, ...rest] = await log.events({ turn: found.turn });
  const hasFailed = rest.some(({ kind, cause }) => kind === 'failed' && cause === first?.position);
  const delivered = hasFailed ? 'failed' : deliveredAs(first?.kind);
  const { position, version } = first ?? { position: undefined, version: undefined };
  return { taken: delivered === 'taken', delivered, position, version, duplicate: true };
};

/** What the first row of a turn says of its stimulus. */
const deliveredAs = (kind: EventKind | undefined): Receipt['delivered'] => {
  if (kind === 'undelivered' || kind === 'failed') return kind;
  return kind === undefined || kind === 'late' ? 'dropped' : 'taken';
};
