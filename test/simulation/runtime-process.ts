import { type AgentRequest, agent } from '../../src/actors/agent.ts';
import type { RuntimeError } from '../../src/errors.ts';
import { encode } from '../../src/events/encode.ts';
import type { RecordedEvent } from '../../src/events/event.ts';
import { createRuntime } from '../../src/runtime.ts';
import type { Runtime } from '../../src/runtime-api.ts';
import type { GatedLog } from './gated-log.ts';
import { AGENT_FAILURE, type Ledger } from './ledger.ts';
import type { Random } from './random.ts';
import type { RuntimeJob, RuntimeWorld } from './runtime-world.ts';
import { must, Violation } from './violation.ts';
import type { VirtualClock } from './virtual-clock.ts';

const canonical = (value: unknown): string => encode(value).json;

export interface ProcessPorts {
  readonly world: RuntimeWorld;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly log: GatedLog;
  readonly clock: VirtualClock;
  /** Whether the application was upgraded: see `upgradedWorkflows`. */
  readonly isUpgraded: boolean;
  /** Told of what must not be. It may come up in a callback of the runtime's, which would swallow it. */
  readonly broken: (violation: unknown) => void;
}

/** A runtime as an application has it, with agents whose every step is the scheduler's. A crash is that it is let go of. */
export class RuntimeProcess {
  readonly log: GatedLog;
  readonly clock: VirtualClock;
  fault: RuntimeError | undefined;
  state: 'open' | 'closing' | 'closed' = 'open';
  readonly #runtime: Runtime;
  readonly #ports: ProcessPorts;
  readonly #jobs: RuntimeJob[];

  static async boot(ports: ProcessPorts): Promise<RuntimeProcess> {
    const { world, random, log, clock } = ports;
    const jobs: RuntimeJob[] = [];
    const work = (name: string) =>
      agent(
        (request: AgentRequest<unknown>) =>
          new Promise<never>((resolve, reject) => {
            if (!world.isWhole(request))
              ports.broken(new Violation(`an agent is given its call: ${JSON.stringify(request)}`));
            const fate = random.pick(world.fates) ?? 'passes';
            log.calls += 1;
            if (!log.isDead)
              jobs.push({ agent: name, request, fate, resolve: resolve as never, reject, hasActed: false });
          }),
        {
          concurrency: 1 + random.below(3),
          timeoutMs: world.limitMs,
          quarantine: { failures: 4, forMs: 300 },
        },
      );
    const runtime = await createRuntime({
      file: ':memory:',
      workflows: world.workflows(ports.isUpgraded),
      agents: Object.fromEntries(world.agents.map((name) => [name, work(name)])),
      printEscalations: false,
      log,
      clock,
      limits: { loaded: 1 + random.below(12), unpacked: 1 + random.below(4), idleMs: 20_000 },
      onWarning: (warning) => {
        if (/in the kernel|at fault|subscriber failed|projection/.test(warning))
          ports.broken(new Violation(warning));
      },
    });
    return new RuntimeProcess(runtime, ports, jobs);
  }

  private constructor(runtime: Runtime, ports: ProcessPorts, jobs: RuntimeJob[]) {
    this.#runtime = runtime;
    this.#ports = ports;
    this.#jobs = jobs;
    this.log = ports.log;
    this.clock = ports.clock;
    runtime.events$.subscribe((event) => this.#published(event));
    runtime.fault$.subscribe((fault) => {
      this.fault = fault;
    });
  }

  get runtime(): Runtime {
    return this.#runtime;
  }

  /** Nothing of it is left but what it told the log and the world. */
  die(): void {
    this.log.die();
    this.#jobs.length = 0;
  }

  close(): void {
    this.state = 'closing';
    this.#runtime.close().then(
      () => {
        this.state = 'closed';
      },
      (error: unknown) => this.#ports.broken(error),
    );
  }

  /** Those that could take a step now. */
  get jobs(): readonly RuntimeJob[] {
    return this.#jobs.filter(
      ({ fate, hasActed, request }) =>
        !hasActed || (fate !== 'silent' && fate !== 'late') || (fate === 'late' && request.signal.aborted),
    );
  }

  step(job: RuntimeJob): string {
    const { world, ledger, random } = this.#ports;
    const { agent: name, request, fate } = job;
    const { idempotencyKey } = request;
    if (!job.hasActed) {
      job.hasActed = true;
      ledger.effect(idempotencyKey);
      return `${name} ${idempotencyKey} (${fate}) acts`;
    }
    this.#jobs.splice(this.#jobs.indexOf(job), 1);
    if (fate === 'fails') {
      job.reject(Object.assign(new Error(idempotencyKey), { name: AGENT_FAILURE }));
      return `${name} ${idempotencyKey} fails`;
    }
    job.resolve(world.returned(job, ledger, random));
    return `${name} ${idempotencyKey} (${fate}) answers`;
  }

  /** What anyone may ask about an actor is what the log leads to. */
  async check(): Promise<void> {
    for (const [address, record] of this.#ports.ledger.actors) {
      const state = await this.#runtime.actor(address);
      const { snapshot, status, version } = record;
      const expected = canonical([snapshot?.value ?? '', snapshot?.context, status, version]);
      const found = canonical([state.value, state.context, state.status, state.version]);
      must(found === expected, 'memory equals the log', () => [address, found, expected]);
    }
  }

  #published(event: RecordedEvent): void {
    try {
      if (!this.log.isDead) this.#ports.ledger.published(event);
    } catch (violation) {
      this.#ports.broken(violation);
    }
  }
}
