import type { Incoming } from '../../src/actors/host.ts';
import type { Batch, EventLog } from '../../src/store/event-log.ts';
import { createMemoryLog } from '../../src/store/memory/memory-log.ts';
import { Agents } from './agents.ts';
import { checkMemory, checkOpenWork } from './invariants.ts';
import type { Ledger } from './ledger.ts';
import { PendingTimers } from './pending-timers.ts';
import { plainWorld } from './plain-world.ts';
import { Random } from './random.ts';
import { isForSafety, SAFETY_STEPS } from './seeds.ts';
import { Shell, type ShellPorts, type Variant } from './shell.ts';
import { must } from './violation.ts';
import type { Script, World } from './world.ts';

/** In schedules about liveness, faults stop within so many steps, and then everything must come to an end within so many more. */
const CRASHES_MAX = 3;
const FAULTS_STEPS_MAX = 120;
const QUIET_STEPS_MAX = 3_000;

export interface ScheduleOptions {
  /** What it is about; the plain world unless set. */
  readonly world?: World;
  readonly variant?: Variant;
  /** Compute each step of each machine anew. */
  readonly isPlain?: boolean;
  readonly trace?: (line: string) => void;
  /** Never let faults stop: see `isForSafety`. */
  readonly isForSafety?: boolean;
}

/** What happened in a schedule that kept all laws. */
export interface ScheduleReport {
  readonly steps: number;
  /** Noteworthy things that happened: see `Coverage`. */
  readonly marks: readonly string[];
  readonly ledger: Ledger;
  readonly log: EventLog;
}

/** Runs the schedule that this seed stands for: every choice in it is the seed's. Throws if a law does not hold. */
export const runSchedule = (seed: number, options: ScheduleOptions = {}): Promise<ScheduleReport> =>
  new Schedule(seed, options).run();

class Schedule {
  readonly #world: World;
  readonly #random: Random;
  readonly #variant: Variant;
  readonly #trace: ScheduleOptions['trace'];
  readonly #log = createMemoryLog();
  readonly #core: Pick<ShellPorts, 'registry' | 'kernel'>;
  readonly #ledger: Ledger;
  readonly #script: Script;
  readonly #marks: string[] = [];
  readonly #isForSafety: boolean;
  #nowMs = 1_000;
  #steps = 0;
  #crashes = 0;
  #ids = 0;
  #agents: Agents;
  #timers: PendingTimers;
  #shell: Shell;

  constructor(seed: number, options: ScheduleOptions) {
    const { world = plainWorld, variant = 'sound', isPlain = false, trace } = options;
    this.#isForSafety = options.isForSafety ?? isForSafety(seed);
    this.#world = world;
    this.#random = new Random(seed);
    const core = isPlain ? world.plainCore : world.core;
    this.#core = { registry: core.registry, kernel: this.#random.chance(0.1) ? core.hasty : core.patient };
    this.#ledger = world.createLedger(this.#core.registry);
    this.#variant = variant;
    this.#trace = trace;
    this.#script = world.createScript({
      random: this.#random,
      ledger: this.#ledger,
      newId: this.#newId,
    });
    [this.#agents, this.#timers, this.#shell] = this.#boot();
  }

  async run(): Promise<ScheduleReport> {
    const faultsUntil = this.#isForSafety ? SAFETY_STEPS : this.#random.below(FAULTS_STEPS_MAX);
    for (;;) {
      if (this.#isForSafety && this.#steps === SAFETY_STEPS) break;
      this.#steps += 1;
      const isFaulty = this.#steps <= faultsUntil;
      must(this.#steps <= faultsUntil + QUIET_STEPS_MAX, 'all comes to an end once faults stop');
      const next = isFaulty && this.#mayCrash() ? this.#crash() : this.#next(isFaulty);
      // Most steps need not be waited for, and there are many.
      const done = next instanceof Promise ? await next : next;
      if (done === undefined) break;
      this.#trace?.(`${this.#steps} at ${this.#nowMs}: ${done}`);
    }
    await this.#checkEnd();
    return { steps: this.#steps, marks: this.#marks, ledger: this.#ledger, log: this.#log };
  }

  async #checkEnd(): Promise<void> {
    if (this.#shell.isBetweenCommits) await checkMemory(this.#ledger, this.#shell.cache, this.#log);
    this.#world.checkSafety(this.#ledger, this.#crashes);
    if (this.#isForSafety)
      this.#marks.push('faults never stop', ...(this.#crashes > CRASHES_MAX ? ['many crashes'] : []));
    else await this.#world.checkEnd(this.#ledger, this.#log);
  }

  readonly #newId = (): string => {
    this.#ids += 1;
    return `s${this.#ids}`;
  };

  #boot(): [Agents, PendingTimers, Shell] {
    const now = () => this.#nowMs;
    const timers = new PendingTimers();
    const agents: Agents = new Agents({
      world: this.#world,
      random: this.#random,
      ledger: this.#ledger,
      now,
      newId: this.#newId,
      enqueue: (incoming) =>
        shell.enqueue({
          incoming,
          isKept: true,
          settle: () => {
            if (incoming.kind === 'begun') agents.begun(incoming.actor, incoming.call, incoming.generation);
          },
        }),
    });
    const { atMs, position, turns } = this.#ledger;
    const shell: Shell = new Shell(
      {
        log: this.#log,
        ...this.#core,
        executors: agents,
        timers,
        now,
        commit: (batch) => this.#commit(batch),
        publish: ({ events }) => {
          for (const event of events) this.#ledger.published(event);
        },
        loaded: (record) => {
          if (record) this.#ledger.matches(record);
        },
        mark: (what) => this.#marks.push(what),
      },
      { atMs, turn: turns.size, position, variant: this.#variant },
    );
    return [agents, timers, shell];
  }

  async #commit(batch: Batch) {
    const recorded = await this.#log.commit(batch);
    this.#ledger.recorded(recorded);
    checkOpenWork(this.#ledger, await this.#log.openWork());
    this.#world.checkCommit(this.#ledger);
    return recorded;
  }

  #mayCrash(): boolean {
    return (this.#isForSafety || this.#crashes < CRASHES_MAX) && this.#random.chance(0.03);
  }

  /** Everything in memory is gone; a new process takes up what the log has. */
  async #crash(): Promise<string> {
    this.#crashes += 1;
    this.#marks.push(`crash ${this.#shell.phase}`);
    for (const { stage } of this.#agents.jobs) this.#marks.push(`crash while a call is ${stage}`);
    if (this.#shell.isBetweenCommits) await checkMemory(this.#ledger, this.#shell.cache, this.#log);
    this.#script.crashed();
    // The wall clock may have been set back meanwhile; the time of turns goes on from the log's.
    if (this.#random.chance(0.2)) this.#nowMs -= this.#random.below(50);
    [this.#agents, this.#timers, this.#shell] = this.#boot();
    await this.#shell.recover();
    return 'CRASH: all that was in memory is gone';
  }

  /** One of the things that could happen now, or undefined if nothing ever will. */
  #next(isFaulty: boolean): string | undefined | Promise<string> {
    const random = this.#random;
    const jobs = this.#agents.ready();
    const due = this.#timers.due(this.#nowMs);
    const runs = this.#script.ready();
    const weights = [
      this.#shell.canStep ? 8 : 0,
      jobs.length > 0 ? 4 : 0,
      due.length * 2,
      runs.length > 0 ? 2 : 0,
    ];
    const sum = weights.reduce((total, weight) => total + weight, 0);
    if (sum === 0) return this.#sleep();
    if (random.chance(this.#world.passes)) return this.#pass(random.below(40));
    if (this.#shell.isBetweenCommits && random.chance(0.03)) {
      return this.#shell.letGo(random.below(8), random.chance(0.2));
    }
    let choice = random.next() * sum;
    for (const [index, weight] of weights.entries()) {
      choice -= weight;
      if (choice >= 0) continue;
      if (index === 0) {
        const doesCommitFail = isFaulty && random.chance(0.08);
        return this.#shell.step({ isBatchClosed: random.chance(0.5), doesCommitFail });
      }
      if (index === 1) return this.#stepJob(jobs);
      return index === 2 ? this.#fire(due) : this.#ask(runs);
    }
    return this.#pass(1);
  }

  #stepJob(jobs: ReturnType<Agents['ready']>): string {
    const job = this.#random.pick(jobs);
    return job ? this.#agents.step(job) : 'no job';
  }

  #fire(due: ReturnType<PendingTimers['due']>): string {
    const timer = this.#random.pick(due);
    if (!timer) return 'no timer';
    this.#timers.close(timer);
    const { actor, generation, openedAt: cause } = timer;
    // A timer that is told of twice is told of in two stimuli: the second comes too late.
    for (let times = this.#random.chance(0.1) ? 2 : 1; times > 0; times -= 1) {
      const header = { id: this.#newId(), origin: 'timer' as const, by: null, cause };
      const incoming: Incoming = { ...header, kind: 'fired', actor, timer: timer.timer, generation };
      this.#shell.enqueue({ incoming, isKept: true, settle: () => undefined });
    }
    return `timer ${actor}@${timer.timer}.${generation} fires`;
  }

  #ask(runs: readonly string[]): string {
    const run = this.#random.pick(runs);
    if (run === undefined) return 'no run';
    const command = this.#script.next(run);
    const shell = this.#shell;
    shell.enqueue({
      incoming: command.incoming,
      isKept: false,
      settle: (settled) => this.#script.settled(command, settled),
    });
    return `host asks for ${command.incoming.kind} of ${run} (${command.incoming.id})`;
  }

  #pass(ms: number): string {
    this.#nowMs += ms;
    return `${ms} ms pass`;
  }

  /** Nothing can happen before some time has passed. */
  #sleep(): string | undefined {
    const untilMs = Math.min(this.#timers.nextDueMs(), this.#agents.nextLimitMs());
    return untilMs === Number.POSITIVE_INFINITY ? undefined : this.#pass(Math.max(0, untilMs - this.#nowMs));
  }
}
