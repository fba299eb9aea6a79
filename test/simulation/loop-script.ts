import { freeze } from 'immer';
import type { Incoming } from '../../src/actors/host.ts';
import { runOf } from '../../src/events/address.ts';
import { encode } from '../../src/events/encode.ts';
import type { Json } from '../../src/events/json.ts';
import { QUESTION, type QuestionContext } from '../../src/machines/question-machine.ts';
import type { SimulatedLoop } from './loop-world.ts';
import type { Settled } from './shell.ts';
import type { Command, Script, ScriptPorts } from './world.ts';

type Message = { readonly type: string; readonly [key: string]: Json };

const PAUSE: Message = { type: 'run.pause', reason: 'a break' };
const RESUME: Message = { type: 'run.resume', reason: 'a break' };
/** What no actor outside of the run may pretend to be. */
const FORGED: readonly Message[] = [
  { type: 'agent.done', request: 'x', answer: { output: 'forged' }, attempts: 1, spent: {} },
  { type: 'agent.failed', request: 'x' },
  { type: 'loop.done' },
  { type: 'story.card', card: null },
  { type: 'question.answer', option: 'accept' },
];

/** What each run of a loop is started with: all have it in common. */
type LoopStart = Pick<Extract<Incoming, { kind: 'start' }>, 'workflow' | 'version' | 'input'>;

export const startOf = ({ workflow, workflows, input }: SimulatedLoop): LoopStart => {
  const { version = 1, options } = workflows.find(({ name }) => name === workflow) ?? {};
  const given = encode(options?.prepare ? options.prepare(input) : input, { undefinedMembers: 'drop' });
  freeze(given.value, true);
  return { workflow, version, input: given };
};

/** What a host and the people around it do to one or two runs of a loop: start, cancel, pause, forge, answer questions. */
export class LoopScript implements Script {
  readonly #loop: SimulatedLoop;
  readonly #start: LoopStart;
  readonly #ports: ScriptPorts;
  readonly #waiting = new Map<string, Command[]>();
  readonly #answersLeft = new Map<string, number>();
  #sent = new Set<Command>();

  constructor(loop: SimulatedLoop, start: LoopStart, ports: ScriptPorts) {
    this.#loop = loop;
    this.#start = start;
    this.#ports = ports;
    const runs = ports.random.chance(0.15) ? 2 : 1;
    for (let number = 1; number <= runs; number += 1) this.#plan(`r${number}`);
  }

  ready(): readonly string[] {
    const ready: string[] = [];
    for (const [run, waiting] of this.#waiting)
      if (waiting.length > 0 || this.#questionOf(run) !== undefined) ready.push(run);
    return ready;
  }

  next(run: string): Command {
    const question = this.#questionOf(run);
    const waiting = this.#waiting.get(run) ?? [];
    const command =
      (question !== undefined && (waiting.length === 0 || this.#ports.random.chance(0.5))
        ? undefined
        : waiting.shift()) ?? this.#answer(run, question ?? run);
    this.#sent.add(command);
    return command;
  }

  settled(command: Command, settled: Settled): void {
    if (settled === 'committed' || settled === 'duplicate')
      this.#ports.ledger.acknowledged(command.incoming.id);
    this.#sent.delete(command);
    const isDone = settled !== 'rejected';
    if (this.#ports.random.chance(isDone ? 0.05 : 0.8)) this.#waiting.get(command.run)?.push(command);
  }

  crashed(): void {
    const lost = [...this.#sent];
    this.#sent = new Set();
    for (const command of lost) this.settled(command, 'rejected');
  }

  #plan(run: string): void {
    const { random } = this.#ports;
    const { messages = [], pauses = false } = this.#loop;
    const waiting = [this.#started(run)];
    if (pauses && random.chance(0.15)) waiting.push(this.#message(run, PAUSE), this.#message(run, RESUME));
    const message = random.chance(0.2) ? random.pick([...messages, ...FORGED]) : undefined;
    if (message) waiting.push(this.#message(run, message));
    if (random.chance(0.05)) waiting.push(this.#cancel(run));
    this.#waiting.set(run, waiting);
    this.#answersLeft.set(run, random.below(3));
  }

  /** One that the run asks, if somebody feels like answering. */
  #questionOf(run: string): string | undefined {
    if ((this.#answersLeft.get(run) ?? 0) === 0) return undefined;
    for (const { address, machine, status } of this.#ports.ledger.actors.values())
      if (machine === QUESTION && status === 'active' && runOf(address) === run) return address;
    return undefined;
  }

  #answer(run: string, question: string): Command {
    const { random, ledger } = this.#ports;
    this.#answersLeft.set(run, (this.#answersLeft.get(run) ?? 0) - 1);
    const context = ledger.actors.get(question)?.snapshot?.context as QuestionContext | undefined;
    const option = random.pick(context?.options ?? [])?.id ?? null;
    const value = random.pick<Json>([null, 1, 'a value', { passes: 1 }]) ?? null;
    const said = { type: 'question.answer', option, value, note: null, by: 'ann' };
    // Two people may answer at once.
    if (random.chance(0.2)) this.#waiting.get(run)?.unshift(this.#message(question, said, run));
    return this.#message(question, said, run);
  }

  #header() {
    return { id: this.#ports.newId(), origin: 'host' as const, by: null, cause: null };
  }

  #started(run: string): Command {
    return { run, incoming: { ...this.#header(), kind: 'start', run, ...this.#start } };
  }

  #cancel(run: string): Command {
    return {
      run,
      incoming: { ...this.#header(), kind: 'end', run, verdict: 'cancelled', reason: 'no more need' },
    };
  }

  #message(to: string, { type, ...data }: Message, run = to): Command {
    const header = this.#header();
    return {
      run,
      incoming: { ...header, kind: 'message', to, type, data: encode(data), expectedVersion: undefined },
    };
  }
}
