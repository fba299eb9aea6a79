import type { Encoded } from '../../src/events/encode.ts';
import { encodeOwn } from '../../src/events/encode-own.ts';
import type { Ledger } from './ledger.ts';
import type { Random } from './random.ts';
import type { Settled } from './shell.ts';
import { must } from './violation.ts';
import type { Command, Script, ScriptPorts } from './world.ts';

interface Message {
  readonly type: string;
  readonly data: Encoded;
  readonly expectedVersion?: number | undefined;
}

const ONE_ROUND = encodeOwn({ roundsMax: 1 }, 'input');
const TWO_ROUNDS = encodeOwn({ roundsMax: 2 }, 'input');
const NOTHING = encodeOwn({}, 'NOTE');
const ACCEPT = encodeOwn({ accept: true }, 'DECIDE');
const GO_ON = encodeOwn({ accept: false }, 'DECIDE');
const GOOD_POINT = encodeOwn({ with: { point: 5 } }, 'POKE');
const BAD_POINT = encodeOwn({ with: null }, 'POKE');

/** What the host application and the people around it do in one schedule. It outlives crashes, and repeats itself. */
export class HostScript implements Script {
  readonly #random: Random;
  readonly #ledger: Ledger;
  readonly #newId: () => string;
  readonly #waiting = new Map<string, Command[]>();
  readonly #decisionsLeft = new Map<string, number>();
  #sent = new Set<Command>();

  constructor(ports: ScriptPorts) {
    this.#random = ports.random;
    this.#ledger = ports.ledger;
    this.#newId = ports.newId;
    const runs = [1, 1, 1, 2, 2, 3][this.#random.below(6)] ?? 1;
    for (let number = 1; number <= runs; number += 1) this.#plan(`r${number}`);
  }

  /** What can be asked for now: commands that wait, and decisions of people who see a run that waits for them. */
  ready(): readonly string[] {
    return [...this.#waiting.keys()].filter(
      (run) => (this.#waiting.get(run)?.length ?? 0) > 0 || this.#canDecide(run),
    );
  }

  next(run: string): Command {
    const waiting = this.#waiting.get(run) ?? [];
    const command = (this.#canDecide(run) ? undefined : waiting.shift()) ?? this.#decide(run);
    this.#sent.add(command);
    return command;
  }

  settled(command: Command, settled: Settled): void {
    if (settled === 'committed' || settled === 'duplicate') this.#acknowledged(command);
    this.#sent.delete(command);
    const isDone = settled !== 'rejected';
    if (this.#random.chance(isDone ? 0.1 : 0.8)) this.#waiting.get(command.run)?.push(command);
  }

  /** Nobody knows what became of the commands under way: most are sent again, with the id that they had. */
  crashed(): void {
    const lost = [...this.#sent];
    this.#sent = new Set();
    for (const command of lost) this.settled(command, 'rejected');
  }

  #acknowledged({ incoming }: Command): void {
    this.#ledger.acknowledged(incoming.id);
    if (incoming.kind !== 'message' || incoming.expectedVersion === undefined) return;
    const version = this.#ledger.turns.get(incoming.id)?.events[0]?.version;
    const seen = incoming.expectedVersion;
    must(version === seen + 1, 'a decision is about what its maker has seen', () => [
      incoming.id,
      version,
      seen,
    ]);
  }

  #plan(run: string): void {
    const start = this.#start(run);
    const others: Command[] = [];
    for (let left = this.#random.below(3); left > 0; left -= 1)
      others.push(this.#message(run, run, { type: 'NOTE', data: NOTHING }));
    if (this.#random.chance(0.1)) others.push(this.#cancel(run));
    if (this.#random.chance(0.1)) {
      const data = this.#random.chance(0.5) ? BAD_POINT : GOOD_POINT;
      others.push(this.#message(run, `${run}/worker`, { type: 'POKE', data }));
    }
    this.#waiting.set(run, [start, ...others]);
    this.#decisionsLeft.set(run, this.#random.below(3));
  }

  #canDecide(run: string): boolean {
    const isAsking = this.#ledger.actors.get(run)?.snapshot?.value === 'asking';
    return isAsking && (this.#decisionsLeft.get(run) ?? 0) > 0;
  }

  #decide(run: string): Command {
    this.#decisionsLeft.set(run, (this.#decisionsLeft.get(run) ?? 0) - 1);
    const seen = this.#ledger.actors.get(run)?.version;
    const decide = () =>
      this.#message(run, run, {
        type: 'DECIDE',
        data: this.#random.chance(0.5) ? ACCEPT : GO_ON,
        expectedVersion: this.#random.chance(0.5) ? seen : undefined,
      });
    // Two people may decide on what they have both seen.
    if (this.#random.chance(0.2)) this.#waiting.get(run)?.unshift(decide());
    return decide();
  }

  #header() {
    return { id: this.#newId(), origin: 'host' as const, by: null, cause: null };
  }

  #start(run: string): Command {
    const input = this.#random.chance(0.5) ? ONE_ROUND : TWO_ROUNDS;
    return { run, incoming: { ...this.#header(), kind: 'start', run, workflow: 'loop', version: 1, input } };
  }

  #cancel(run: string): Command {
    return {
      run,
      incoming: { ...this.#header(), kind: 'end', run, verdict: 'cancelled', reason: 'no more need' },
    };
  }

  #message(run: string, to: string, { type, data, expectedVersion }: Message): Command {
    return { run, incoming: { ...this.#header(), kind: 'message', to, type, data, expectedVersion } };
  }
}
