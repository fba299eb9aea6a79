import type { Executors } from '../../src/actors/executors.ts';
import type { Incoming } from '../../src/actors/host.ts';
import type { ClosedCall, OpenCall, Recorded } from '../../src/events/turn.ts';
import { callKey, idempotencyKey, type Ledger } from './ledger.ts';
import type { Random } from './random.ts';
import type { Fate, World } from './world.ts';

const FLOOD = 3;

interface Job {
  readonly call: Recorded<OpenCall>;
  readonly fate: Fate;
  stage: 'waiting' | 'announced' | 'running' | 'acted';
  /** When the shell gives it up. */
  limitMs: number;
  /** Nobody waits for it any more, but it does not care. */
  isWithdrawn: boolean;
}

export interface AgentPorts {
  readonly world: World;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly now: () => number;
  readonly newId: () => string;
  readonly enqueue: (incoming: Incoming) => void;
}

/**
 * The agents at work in one process, as hostile as they come, one small step at a time: a call waits for its place, is
 * announced, has its effect, answers. A crash may come between any two of these, and ends them all.
 */
export class Agents implements Executors {
  readonly #ports: AgentPorts;
  #jobs: Job[] = [];

  constructor(ports: AgentPorts) {
    this.#ports = ports;
  }

  get jobs(): readonly Readonly<Job>[] {
    return this.#jobs;
  }

  get size(): number {
    return this.#jobs.length;
  }

  start(call: Recorded<OpenCall>): void {
    const fate = this.#ports.random.pick(this.#ports.world.fates) ?? 'passes';
    this.#jobs.push({ call, fate, stage: 'waiting', limitMs: Number.POSITIVE_INFINITY, isWithdrawn: false });
  }

  abort({ actor, call, generation }: ClosedCall): void {
    const job = this.#find(callKey(actor, call, generation));
    if (!job) return;
    // Its answer may be on the way already, or it does not mind being told: then it comes late.
    const hasNotBegun = job.stage === 'announced' || (job.stage === 'waiting' && job.call.announce);
    if (hasNotBegun || job.fate === 'silent') this.#remove(job);
    else if (job.fate === 'late' || this.#ports.random.chance(0.5)) job.isWithdrawn = true;
    else this.#remove(job);
  }

  /** The announcement of a call was dealt with: it may run. */
  begun(actor: string, call: string, generation: number): void {
    const job = this.#find(callKey(actor, call, generation));
    if (job?.stage === 'announced') this.#run(job);
  }

  async ended(): Promise<void> {}

  stop(): void {
    this.#jobs = [];
  }

  /** Those that could take a step now. */
  ready(): readonly Job[] {
    const nowMs = this.#ports.now();
    return this.#jobs.filter((job) => {
      if (job.stage === 'announced') return false;
      const doesWait = job.fate === 'silent' || (job.fate === 'late' && !job.isWithdrawn);
      return job.stage !== 'acted' || !doesWait || job.limitMs <= nowMs;
    });
  }

  /** When the shell's limit for agents next strikes. */
  nextLimitMs(): number {
    return Math.min(...this.#jobs.filter(({ stage }) => stage === 'acted').map(({ limitMs }) => limitMs));
  }

  step(job: Job): string {
    const { call, stage } = job;
    const { actor, generation } = call;
    switch (stage) {
      case 'waiting':
        if (call.announce) {
          job.stage = 'announced';
          this.#ports.enqueue({ ...this.#header(call), kind: 'begun' });
        } else this.#run(job);
        break;
      case 'running':
        job.stage = 'acted';
        this.#ports.ledger.effect(idempotencyKey(call));
        break;
      default:
        this.#remove(job);
        for (const incoming of this.#answers(job)) this.#ports.enqueue(incoming);
    }
    return `${callKey(actor, call.call, generation)} (${job.fate}) ${stage} → ${job.stage}`;
  }

  #run(job: Job): void {
    job.stage = 'running';
    job.limitMs = this.#ports.now() + this.#ports.world.limitMs;
  }

  #header({ actor, call, generation, openedAt: cause }: Recorded<OpenCall>) {
    return { id: this.#ports.newId(), origin: 'agent' as const, by: null, cause, actor, call, generation };
  }

  #answers({ call, fate, isWithdrawn }: Job): readonly Incoming[] {
    const { world, random, ledger } = this.#ports;
    const answer = (): Incoming => {
      const outcome = world.outcomeOf(call, fate === 'late' && !isWithdrawn ? 'silent' : fate, random);
      const header = this.#header(call);
      ledger.answering(header.id, call);
      return { ...header, kind: 'answer', outcome };
    };
    const first = answer();
    if (fate === 'twice') return [first, answer()];
    if (fate === 'floods') return [first, ...Array.from({ length: FLOOD }, answer)];
    return fate === 'resent' ? [first, first] : [first];
  }

  #find(name: string): Job | undefined {
    return this.#jobs.find(({ call }) => callKey(call.actor, call.call, call.generation) === name);
  }

  #remove(job: Job): void {
    this.#jobs = this.#jobs.filter((other) => other !== job);
  }
}
