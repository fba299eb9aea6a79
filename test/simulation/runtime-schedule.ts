import { replayLog } from '../../src/actors/replay.ts';
import { isRuntimeError, RuntimeError } from '../../src/errors.ts';
import type { RecordedTurn } from '../../src/events/turn.ts';
import type { Batch } from '../../src/store/event-log.ts';
import { createMemoryLog } from '../../src/store/memory/memory-log.ts';
import { recordTurn } from '../../src/store/record-turn.ts';
import { GatedLog, type PendingCommit } from './gated-log.ts';
import { checkOpenWork } from './invariants.ts';
import type { Ledger } from './ledger.ts';
import { Random } from './random.ts';
import { RuntimeProcess } from './runtime-process.ts';
import { plainRuntimeWorld, type RuntimeWorld } from './runtime-world.ts';
import type { ScheduleReport } from './schedule.ts';
import { isForSafety, SAFETY_STEPS } from './seeds.ts';
import { must } from './violation.ts';
import { VirtualClock } from './virtual-clock.ts';
import type { Command, Script } from './world.ts';

const CRASHES_MAX = 4;
const FAULTS_STEPS_MAX = 150;
const QUIET_STEPS_MAX = 3_000;
const SWEEP_MS = 30_000;

export interface RuntimeScheduleOptions {
  /** What it is about; the plain world unless set. */
  readonly world?: RuntimeWorld;
  /** Never let faults stop: see `isForSafety`. */
  readonly isForSafety?: boolean;
  readonly trace?: (line: string) => void;
  /** A control: a log that says now and then that it has committed what it has not. */
  readonly isLying?: boolean;
  /** Let a restart bring another version of a workflow now and then. */
  readonly hasUpgrades?: boolean;
  /** Lets the timers of Node, which are faked, pass. */
  readonly passTimers: (ms: number) => void;
  /** How many timers of Node wait, besides the one that recurs. */
  readonly timers: () => number;
  /** The timers of Node die with their process. */
  readonly dropTimers: () => void;
}

/** Runs the schedule of this seed on a real runtime, with its promises, queue, executors and timers. */
export const runRuntimeSchedule = async (
  seed: number,
  options: RuntimeScheduleOptions,
): Promise<ScheduleReport> => {
  const schedule = new RuntimeSchedule(seed, options);
  try {
    return await schedule.run();
  } finally {
    schedule.drop();
  }
};

class RuntimeSchedule {
  readonly #random: Random;
  readonly #options: RuntimeScheduleOptions;
  readonly #log = createMemoryLog();
  readonly #world: RuntimeWorld;
  readonly #isForSafety: boolean;
  readonly #ledger: Ledger;
  readonly #script: Script;
  readonly #marks: string[] = [];
  #process: RuntimeProcess | undefined;
  #nowMs = 1_000;
  #steps = 0;
  #crashes = 0;
  #ids = 0;
  #isFaulty = true;
  #isUpgraded = false;
  #broken: unknown;

  constructor(seed: number, options: RuntimeScheduleOptions) {
    this.#random = new Random(seed);
    this.#options = options;
    const { world = plainRuntimeWorld } = options;
    this.#world = world;
    this.#isForSafety = options.isForSafety ?? isForSafety(seed);
    this.#ledger = world.createLedger();
    const newId = () => {
      this.#ids += 1;
      return `c${this.#ids}`;
    };
    this.#script = world.createScript({ random: this.#random, ledger: this.#ledger, newId });
  }

  drop(): void {
    this.#process?.die();
    this.#options.dropTimers();
  }

  async run(): Promise<ScheduleReport> {
    const faultsUntil = this.#isForSafety ? SAFETY_STEPS : this.#random.below(FAULTS_STEPS_MAX);
    for (;;) {
      if (this.#isForSafety && this.#steps === SAFETY_STEPS) break;
      this.#steps += 1;
      this.#isFaulty = this.#steps <= faultsUntil;
      must(this.#steps <= faultsUntil + QUIET_STEPS_MAX, 'all comes to an end once faults stop');
      const process = await this.#alive();
      const done = await this.#next(process);
      if (this.#broken !== undefined) throw this.#broken;
      if (done === undefined) break;
      this.#trace(done);
      for (let ticks = this.#random.below(4); ticks > 0; ticks -= 1) await tick();
    }
    await this.#end();
    return { steps: this.#steps, marks: this.#marks, ledger: this.#ledger, log: this.#log };
  }

  async #end(): Promise<void> {
    this.#isFaulty = false;
    // It is left in the middle of something, which whoever takes over does not need.
    if (this.#isForSafety) this.#crash('the schedule is left');
    const process = await this.#alive();
    const { runtime } = process;
    await process.check();
    const { log } = await runtime.verify();
    const replay = await replayLog(this.#log, this.#world.registry);
    must(log.ok && replay.ok, 'the log is whole and replays', () => [log, replay]);
    this.#world.checkSafety(this.#ledger, this.#crashes);
    if (this.#isForSafety)
      this.#marks.push('faults never stop', ...(this.#crashes > CRASHES_MAX + 1 ? ['many crashes'] : []));
    else await this.#world.checkEnd(this.#ledger, this.#log);
    for (const { id, verdict, turns } of await this.#log.runs({ status: 'ended' })) {
      const result = await (await runtime.run(id)).result();
      must(result.verdict === verdict && result.turns === turns, 'a run tells its result', () => [
        id,
        result,
        turns,
      ]);
    }
    if (this.#broken !== undefined) throw this.#broken;
  }

  get #mayCrash(): boolean {
    return this.#isForSafety || this.#crashes < CRASHES_MAX;
  }

  #trace(line: string): void {
    this.#options.trace?.(`${this.#steps} at ${this.#nowMs}: ${line}`);
  }

  /** The process at work; a new one if the last is gone. */
  async #alive(): Promise<RuntimeProcess> {
    const { state, fault } = this.#process ?? { state: 'closed' };
    if (fault) {
      this.#marks.push('fault');
      this.#crash('the log is at fault');
    } else if (state === 'closed') this.drop();
    if (this.#process && this.#process.state !== 'closed') return this.#process;
    if (this.#options.hasUpgrades && this.#crashes > 0 && this.#random.chance(0.3)) this.#isUpgraded = true;
    const log: GatedLog = new GatedLog(this.#log, () => this.#loadFault());
    this.#process = await RuntimeProcess.boot({
      world: this.#world,
      random: this.#random,
      ledger: this.#ledger,
      log,
      clock: new VirtualClock(this.#nowMs, this.#random),
      isUpgraded: this.#isUpgraded,
      broken: (violation) => {
        this.#broken ??= violation;
      },
    });
    return this.#process;
  }

  #loadFault(): Error | undefined {
    if (!this.#isFaulty || !this.#random.chance(0.02)) return undefined;
    this.#marks.push('load fails');
    this.#trace('a reading fails');
    return new RuntimeError('LOG_READ_FAILED', { file: 'memory', problem: 'simulated' });
  }

  #crash(why: string): string {
    this.#crashes += 1;
    this.#marks.push('crash');
    this.drop();
    this.#process = undefined;
    this.#script.crashed();
    if (this.#random.chance(0.2)) this.#nowMs -= this.#random.below(50);
    return `CRASH: ${why}`;
  }

  /** One of the things that could happen now, or undefined if nothing ever will. */
  async #next(process: RuntimeProcess): Promise<string | undefined> {
    const random = this.#random;
    const { jobs, log } = process;
    const runs = process.state === 'open' ? this.#script.ready() : [];
    const canCrash = this.#isFaulty && this.#mayCrash;
    if (canCrash && random.chance(0.02)) return this.#crash('out of the blue');
    if (canCrash && process.state === 'open' && random.chance(0.01)) {
      process.close();
      this.#marks.push('close');
      this.#crashes += 1;
      this.#script.crashed();
      return 'the process closes';
    }
    if (random.chance(0.06)) return this.#pass(random.below(40));
    if (random.chance(0.01)) return this.#pass(SWEEP_MS);
    const weights = [log.pending.length > 0 ? 6 : 0, jobs.length > 0 ? 4 : 0, runs.length > 0 ? 2 : 0];
    const choice = random.next() * weights.reduce((total, weight) => total + weight, 0);
    const [commits = 0, work = 0] = weights;
    const [pending] = log.pending;
    if (pending && choice < commits) return this.#commit(process, pending);
    const job = random.pick(jobs);
    if (job && choice < commits + work) return process.step(job);
    const run = random.pick(runs);
    if (run !== undefined) return this.#ask(process, run);
    return (await this.#isBusy(process)) ? 'the process is busy' : this.#sleep(process);
  }

  /** Whether the process gets anywhere by itself. */
  async #isBusy({ log }: RuntimeProcess): Promise<boolean> {
    const before = log.calls + log.pending.length;
    for (let ticks = 0; ticks < 5; ticks += 1) await tick();
    return log.calls + log.pending.length !== before;
  }

  async #commit(process: RuntimeProcess, pending: PendingCommit): Promise<string> {
    const { log } = process;
    const random = this.#random;
    const ids = pending.batch.turns.map(({ id }) => id).join(' ');
    if (this.#isFaulty && random.chance(0.08)) {
      log.pending.shift();
      this.#marks.push('commit fails');
      pending.reject(new RuntimeError('DISK_FULL', { file: 'memory' }));
      return `commit of ${ids} fails`;
    }
    const canCrash = this.#isFaulty && this.#mayCrash;
    if (canCrash && random.chance(0.02)) return this.#crash(`before the commit of ${ids}`);
    log.pending.shift();
    if (this.#options.isLying && random.chance(0.1)) {
      pending.resolve(this.#asIfRecorded(pending.batch));
      return `commit of ${ids} is told to have been made`;
    }
    const isFault = canCrash && random.chance(0.02);
    if (!isFault || random.chance(0.5)) {
      try {
        const recorded = await this.#log.commit(pending.batch);
        this.#ledger.recorded(recorded);
        checkOpenWork(this.#ledger, await this.#log.openWork());
        this.#world.checkCommit(this.#ledger);
        if (canCrash && random.chance(0.03)) return this.#crash(`after the commit of ${ids}`);
        if (!isFault) pending.resolve(recorded);
      } catch (error) {
        if (!isRuntimeError(error, 'DUPLICATE_TURN')) throw error;
        this.#marks.push('duplicate');
        pending.reject(error);
        return `commit of ${ids} fails: ${error.fields.id} is in the log already`;
      }
    }
    if (isFault) {
      const fault = new RuntimeError('LOG_FAULT', { file: 'memory', problem: 'simulated' });
      pending.reject(fault);
      log.fail(fault);
      await this.#isBusy(process);
      must(
        process.fault !== undefined || process.state !== 'open',
        'the host is told that the log is at fault',
      );
    }
    return `commit of ${ids}${isFault ? ': nobody knows whether it is there' : ''}`;
  }

  #asIfRecorded({ turns }: Batch): readonly RecordedTurn[] {
    let first = this.#ledger.position + 1;
    return turns.map((turn, index) => {
      const recorded = recordTurn(turn, { turn: this.#ledger.turns.size + 1 + index, first });
      first += turn.events.length;
      return recorded;
    });
  }

  #ask(process: RuntimeProcess, run: string): string {
    const command = this.#script.next(run);
    const times = this.#random.chance(0.1) ? 2 : 1;
    for (let left = times; left > 0; left -= 1) {
      this.#tell(process, command).then(
        () => this.#answered(process, command, undefined),
        (error: unknown) => this.#answered(process, command, error),
      );
    }
    return `host asks for ${command.incoming.kind} of ${run} (${command.incoming.id})${times > 1 ? ', twice' : ''}`;
  }

  /** The runtime told the host what became of its command. */
  #answered(process: RuntimeProcess, command: Command, error: unknown): void {
    if (process !== this.#process) return;
    try {
      const { incoming, run } = command;
      const message = error instanceof Error ? error.message : 'done';
      this.#trace(`host is told of ${incoming.id}: ${message.slice(0, 60)}`);
      if (error === undefined) {
        must(this.#ledger.actors.has(run), 'what is acknowledged is in the log', () => incoming);
        // The runtime makes ids of its own for what has none of the host's.
        this.#script.settled(command, incoming.kind === 'message' ? 'committed' : 'nothing');
        return;
      }
      const isRefused = isRuntimeError(
        error,
        'STALE_VERSION',
        'RUN_ENDED',
        'UNKNOWN_RUN',
        'UNKNOWN_ACTOR',
        'RUN_EXISTS',
        'UNKNOWN_EVENT',
      );
      const isRejected = isRuntimeError(error, 'DISK_FULL', 'LOG_FAULT', 'RUNTIME_CLOSED', 'LOG_READ_FAILED');
      must(isRefused || isRejected, 'an error is one that the host knows', () => message);
      if (isRefused) this.#marks.push(`refused: ${error.code}`);
      this.#script.settled(command, isRefused ? 'refused' : 'rejected');
    } catch (violation) {
      this.#broken ??= violation;
    }
  }

  #pass(ms: number): string {
    this.#nowMs += ms;
    this.#process?.clock.pass(ms);
    this.#options.passTimers(ms);
    return `${ms} ms pass`;
  }

  /** Nothing can happen before some time has passed. */
  #sleep(process: RuntimeProcess): string | undefined {
    if (this.#options.timers() > 0) return this.#pass(50);
    const { nextMs } = process.clock;
    return nextMs === Number.POSITIVE_INFINITY
      ? undefined
      : this.#pass(Math.max(0, nextMs - process.clock.now()));
  }

  /** Does what the host wants done, as a host does it. */
  async #tell({ runtime }: RuntimeProcess, command: Command): Promise<void> {
    const { incoming, run } = command;
    switch (incoming.kind) {
      case 'start': {
        const { workflow, input } = this.#world.started(command);
        await runtime.start(workflow, input, { id: run });
        return;
      }
      case 'message': {
        const { to, type, data, id, expectedVersion } = incoming;
        const options = { id, ...(expectedVersion !== undefined && { expectedVersion }) };
        await runtime.send(to, { ...(data.value as object), type }, options);
        return;
      }
      case 'end':
        await (await runtime.run(run)).cancel({ reason: incoming.reason });
        return;
      default:
        throw new Error(`The host does not ask for "${incoming.kind}".`);
    }
  }
}

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
