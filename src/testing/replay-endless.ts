import {
  type AgentRequest,
  agent,
  answer,
  createRuntime,
  type Endless,
  type Json,
  type Proof,
  type Runtime,
  type WayStep,
  type Workflow,
} from '../index.ts';
import { earlierOutputs, saidIn } from '../proofs/outcomes.ts';
import { FREE_ANSWER } from '../proofs/stepper.ts';
import { createVirtualClock } from './virtual-clock.ts';

export interface EndlessOptions {
  /** Where its log is written: a path at which there is no log yet. */
  readonly file: string;
  /** What the run is started with: what it was explored with. */
  readonly input?: unknown;
  /** Other workflows that it runs as its steps or children. */
  readonly workflows?: readonly Workflow[];
  /** How often it goes around; 2 unless set. */
  readonly times?: number;
}

/** What a log shows of a way that need not end. */
export interface EndlessReplay {
  readonly run: string;
  /** How many events the log has before the first time around, and after each. */
  readonly events: readonly number[];
  /** Where all actors of the run were then, by their addresses: the same each time. */
  readonly states: readonly Readonly<Record<string, Json>>[];
}

const RUN = 'endless';
/** The run under which the explorer knows it. */
const EXPLORED_RUN = 'run';
const CONCURRENCY = 100;
/** How long a step may take before it is clear that it does not come. */
const PATIENCE_MS = 20_000;
const QUIET_TIMES = 5;
const QUIET_MS = 3;

/**
 * Plays the endless way that was found through a runtime on a file, with agents that answer as it says: so many times around. The
 * log is left with the run open, to be verified, replayed and looked at like any other.
 *
 * @throws if there is no such way, or if the run does not take it
 */
export const replayEndless = async (
  workflow: Workflow,
  { endless }: Pick<Proof, 'endless'>,
  { file, input = null, workflows = [], times = 2 }: EndlessOptions,
): Promise<EndlessReplay> => {
  if (!endless) throw new Error(`Nothing was found that repeats in "${workflow.name}".`);
  const stage = createStage(endless);
  const clock = createVirtualClock();
  const all: readonly Workflow[] = [workflow, ...workflows];
  const runtime: Runtime = await createRuntime({ file, workflows: all, agents: stage.agents, clock });
  try {
    let count = 0;
    const where: Record<string, Json> = {};
    runtime.events$.subscribe(({ actor, state }) => {
      count += 1;
      where[actor] = state;
    });
    await runtime.start(workflow.name, input, { id: RUN });
    const events: number[] = [];
    const states: Record<string, Json>[] = [];
    /** Answers the question at a place, if it is open; those before it at the same place are closed. */
    const decide: Playing['decide'] = async ({ actor, option }) => {
      const place = placeOf(actor.replace(EXPLORED_RUN, RUN));
      const open = (await runtime.questions({ run: RUN })).find(({ id }) => placeOf(id) === place);
      if (!open) return false;
      await runtime.answer(open.id, option, option === null ? { value: FREE_ANSWER } : {});
      return true;
    };
    const play = async (steps: readonly WayStep[]): Promise<void> => {
      for (const step of steps)
        await stage.play(step, { count: () => count, advance: (byMs) => clock.advance(byMs), decide });
      await stage.settle(endless.steps.cycle, () => count);
      events.push(count);
      states.push(stage.states(where));
    };
    await play(endless.steps.prefix);
    for (let time = 0; time < times; time += 1) await play(endless.steps.cycle);
    return { run: RUN, events, states };
  } finally {
    await runtime.close();
  }
};

interface Waiting {
  readonly request: AgentRequest<unknown>;
  readonly settle: (answer: unknown) => void;
  readonly fail: (error: Error) => void;
}

interface Playing {
  readonly count: () => number;
  readonly advance: (byMs: number) => void;
  readonly decide: (step: WayStep & { kind: 'decides' }) => Promise<boolean>;
}

/** A child that was started anew has a number in its address. */
const placeOf = (address: string): string => address.replaceAll(/~\d+/g, '');

/** Agents that say what they are told to, when they are told to. */
const createStage = ({ steps }: Endless) => {
  const waiting: Waiting[] = [];
  let nth = 0;
  const wait = (request: AgentRequest<unknown>): Promise<unknown> =>
    new Promise((settle, fail) => {
      waiting.push({ request, settle, fail });
      request.signal.addEventListener('abort', () => fail(new Error('It was called off.')));
    });
  const names = [...steps.prefix, ...steps.cycle].flatMap((step) =>
    'agent' in step && !step.agent.startsWith('lw.') ? [step.agent] : [],
  );
  const isHere = (step: WayStep, { request }: Waiting): boolean =>
    !request.signal.aborted && placeOf(request.actor) === placeOf(step.actor.replace(EXPLORED_RUN, RUN));
  const play = async (step: WayStep, { count, advance, decide }: Playing): Promise<void> => {
    if (step.kind === 'decides') {
      let isDecided = false;
      for (const patient = Date.now() + PATIENCE_MS; !isDecided && Date.now() < patient; ) {
        isDecided = await decide(step);
        await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
      }
      await until(step, () => isDecided);
      return;
    }
    if (step.kind === 'fires') {
      const before = count();
      // Each time twice as far: what is due soonest is first.
      await until(step, (tries) => {
        if (count() === before) advance(2 ** Math.min(tries, 40));
        return count() > before;
      });
      return;
    }
    // What the runtime does by itself it does.
    if (step.agent.startsWith('lw.')) return;
    await until(step, () => waiting.some((each) => isHere(step, each)));
    if (step.kind === 'begins') return;
    const index = waiting.findIndex((each) => isHere(step, each));
    const [found] = waiting.splice(index, 1);
    const before = count();
    nth += 1;
    found?.[step.outcome.fails ? 'fail' : 'settle'](saidBy(step, found.request, nth) as never);
    await until(step, () => count() > before);
  };
  /** What comes next must be there, and nothing else come any more. */
  const settle = async ([next]: readonly WayStep[], count: () => number): Promise<void> => {
    if (next && 'agent' in next && !next.agent.startsWith('lw.'))
      await until(next, () => waiting.some((each) => isHere(next, each)));
    for (let quiet = 0, before = count(); quiet < QUIET_TIMES; quiet += 1) {
      await new Promise((resolve) => setTimeout(resolve, QUIET_MS));
      if (count() !== before) quiet = 0;
      before = count();
    }
  };
  return {
    play,
    settle,
    agents: Object.fromEntries(names.map((name) => [name, agent(wait, { concurrency: CONCURRENCY })])),
    states: (where: Readonly<Record<string, Json>>) =>
      Object.fromEntries(Object.entries(where).map(([actor, state]) => [placeOf(actor), state])),
  };
};

const saidBy = (
  step: WayStep & { kind: 'answers' },
  request: AgentRequest<unknown>,
  nth: number,
): unknown => {
  const { outcome } = step;
  if (outcome.fails) return new Error(outcome.name);
  const input = request.input as Json; // What an agent is given is what the log has.
  const { output, ...beside } = saidIn(outcome, { nth, made: earlierOutputs(request.history), input });
  // What is beside the output is of the user's making, as it was when it was explored.
  return Object.keys(beside).length === 0 ? output : answer(output, beside as never);
};

const until = async (step: WayStep, isSo: (tries: number) => boolean): Promise<void> => {
  const givesUpMs = performance.now() + PATIENCE_MS;
  for (let tries = 0; !isSo(tries); tries += 1) {
    if (performance.now() > givesUpMs) throw new Error(`The run does not come to "${step.label}".`);
    await new Promise((resolve) => setTimeout(resolve, tries < 50 ? 0 : 5));
  }
};
