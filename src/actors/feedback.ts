import { filter, firstValueFrom, merge, type Observable } from 'rxjs';
import { RuntimeError } from '../errors.ts';
import { runOf } from '../events/address.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import type { DecisionRule, FeedbackOption, GivenFeedback } from '../events/feedback.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import type { Severity } from '../events/severity.ts';
import { TYPE } from '../events/vocabulary.ts';
import { fixFeedback, originOf } from '../machines/fix-feedback.ts';
import type { RunState } from '../machines/run-state.ts';
import {
  type FeedbackLoop,
  type FeedbackResolution,
  feedbackIndex,
  feedbackLoops,
} from '../projections/feedback-loops.ts';
import type { Projection } from '../projections/projection.ts';
import type { ActorRecord } from './actor-record.ts';
import { createAwake } from './awake.ts';
import type { Clock } from './clock.ts';
import type { Command } from './commands.ts';
import type { Receipt } from './host.ts';
import type { SendOptions } from './run-handle.ts';

/** A feedback that the host sends, for one of the agents of a run, or for the orchestrator. */
export type TriggeredFeedback<Type extends string> = GivenFeedback<Type> & {
  readonly run: string;
  /** The agent that has found it out, or `orchestrator`. */
  readonly source: string;
};

/** A constraint that an agent has met with at its work. */
export interface NotifiedConstraint {
  readonly run: string;
  readonly source: string;
  readonly constraint: {
    /** What kind of constraint: "technical_limitation", say. */
    readonly type: string;
    readonly description: string;
    readonly requirement?: string;
    readonly severity: Severity;
  };
  readonly request: {
    readonly targets: readonly string[];
    readonly action?: string;
    readonly options?: readonly FeedbackOption[];
    readonly rule?: DecisionRule;
  };
}

export interface WaitOptions {
  /** Where to look for a requirement; in the whole log unless set. */
  readonly run?: string;
  /** How long to wait; 10 minutes unless set. The loop has a time limit of its own, at which a person is asked. */
  readonly timeLimitMs?: number;
}

type CommandOptions = Pick<SendOptions, 'by' | 'id'>;

/** Feedback between the agents of runs. */
export interface FeedbackApi {
  /**
   * Sends feedback. Resolves with the id of its loop once that is in the log.
   *
   * @throws {RuntimeError} BAD_FEEDBACK with everything that is wrong with it
   */
  trigger<const Type extends string>(
    feedback: TriggeredFeedback<Type>,
    options?: CommandOptions,
  ): Promise<Address>;
  /** The same for a constraint: the run pauses until the targets have decided. */
  notifyConstraint(constraint: NotifiedConstraint, options?: CommandOptions): Promise<Address>;
  /**
   * The resolution of a loop, by its id or by the requirement that it is about: of the one that is open, else of the latest.
   *
   * @throws {RuntimeError} UNKNOWN_LOOP at once, FEEDBACK_TIMED_OUT, FEEDBACK_ENDED if its run ends without one
   */
  waitForResolution(loop: string, options?: WaitOptions): Promise<FeedbackResolution>;
  /** Resolves a loop in place of its targets: with one of its options, or a value. */
  resolve(
    loop: string,
    resolution: Json,
    options?: CommandOptions & { readonly note?: string },
  ): Promise<void>;
  /** Has a person decide, without waiting any longer. */
  escalate(loop: string, reason: string, options?: CommandOptions): Promise<void>;
  /** What is on record of a loop. */
  loop(id: string): Promise<FeedbackLoop>;
  /** All loops of a run, oldest first. */
  loops(run: string): Promise<readonly FeedbackLoop[]>;
}

export interface FeedbackPorts {
  readonly actor: (address: Address) => Promise<ActorRecord | null>;
  readonly execute: (command: Command, options: CommandOptions) => Promise<Receipt>;
  readonly events: (query: {
    readonly run: string;
    readonly after: number;
  }) => Promise<readonly RecordedEvent[]>;
  readonly read: <State>(projection: Projection<State>, run?: string) => Promise<State>;
  readonly events$: Observable<RecordedEvent>;
  readonly fault$: Observable<RuntimeError>;
  readonly clock: Clock;
}

const TIME_LIMIT_MS = 10 * 60_000;

/** Where loops are looked up. */
interface Finder {
  find(id: string): Promise<FeedbackLoop>;
  all(run: string): Promise<readonly FeedbackLoop[]>;
  /** The loop of an id, or the one about a requirement. */
  named(name: string, run: string | undefined): Promise<string>;
}

/** The address of a loop. A requirement may have a slash in it as well. */
const ID = /\/loop-\d{13}-\d{4,}$/;

const createFinder = ({ read }: FeedbackPorts): Finder => {
  const all: Finder['all'] = async (run) =>
    Object.values(await read(feedbackLoops, run)).sort((one, other) => (one.id < other.id ? -1 : 1));
  return {
    all,
    async find(id) {
      const loops = await read(feedbackLoops, runOf(id));
      const loop = Object.hasOwn(loops, id) ? loops[id] : undefined;
      if (!loop) throw new RuntimeError('UNKNOWN_LOOP', { loop: id });
      return loop;
    },
    async named(name, run) {
      if (ID.test(name)) return name;
      if (run !== undefined) {
        const about = (await all(run)).filter(({ requirement }) => requirement === name);
        return (about.find(({ status }) => status !== 'resolved') ?? about.at(-1))?.id ?? name;
      }
      const { open, latest } = await read(feedbackIndex);
      const found = open.findLast(({ requirement }) => requirement === name)?.id;
      return found ?? (Object.hasOwn(latest, name) ? latest[name] : undefined) ?? name;
    },
  };
};

export const createFeedback = (ports: FeedbackPorts): FeedbackApi => {
  const awake = createAwake();
  const finder = createFinder(ports);

  const trigger: FeedbackApi['trigger'] = async ({ run, source, ...feedback }, options = {}) => {
    const record = await ports.actor(run);
    if (!record) throw new RuntimeError('UNKNOWN_RUN', { run });
    check(record, source, feedback as unknown as Json);
    const message = { type: 'feedback.trigger', source, feedback };
    const receipt = await ports.execute({ kind: 'send', to: run, message }, options);
    const id = await loopOf(ports, runOf(run), receipt);
    if (id === undefined)
      throw new RuntimeError('BAD_FEEDBACK', { run, problems: ['its run did not take it: it has ended'] });
    return id;
  };
  const tell = async (id: string, message: Message, options: CommandOptions): Promise<void> => {
    const loop = await finder.find(id);
    const { taken } = await ports.execute({ kind: 'send', to: loop.id, message }, options);
    if (!taken) throw new RuntimeError('LOOP_NOT_OPEN', { loop: id, state: loop.state });
  };

  return {
    trigger,
    notifyConstraint: (constraint, options) => trigger(feedbackOf(constraint), options),
    async waitForResolution(name, { run, timeLimitMs = TIME_LIMIT_MS } = {}) {
      const id = await finder.named(name, run);
      return awake.until(resolutionOf(ports, id, { finder, timeLimitMs }));
    },
    resolve: async (id, resolution, { note = null, by, ...options } = {}) => {
      const message = { type: 'feedback.resolve', resolution, by: by ?? null, note };
      checkOption(await finder.find(id), resolution);
      await tell(id, message, { ...options, ...(by !== undefined && { by }) });
    },
    escalate: (id, reason, options = {}) => tell(id, { type: 'feedback.escalate', reason }, options),
    loop: (id) => finder.find(id),
    loops: (run) => finder.all(run),
  };
};

/** Whoever names an option means one that there is. */
const checkOption = ({ id, rounds }: FeedbackLoop, resolution: Json): void => {
  const option = isJsonObject(resolution) ? resolution['option'] : undefined;
  const options = (rounds.at(-1)?.options ?? []) as readonly FeedbackOption[]; // The loop wrote them.
  if (option === undefined || options.some((known) => known.option === option)) return;
  throw new RuntimeError('BAD_ANSWER', {
    question: id,
    problem: `${JSON.stringify(option)} is none of its options`,
    options: options.map((known) => known.option),
  });
};

type Message = { readonly type: string } & Readonly<Record<string, Json>>;

const feedbackOf = ({ run, source, constraint, request }: NotifiedConstraint) => {
  const { type, description, requirement, severity } = constraint;
  return {
    run,
    source,
    type: 'constraint_violation',
    severity,
    description,
    details: { constraint: type },
    ...(requirement !== undefined && { requirement }),
    ...request,
  } as const;
};

/** Whether the run can take it: asked before anything is written. */
const check = (record: ActorRecord, source: string, feedback: Json): void => {
  const state = record.snapshot?.context as Partial<RunState> | undefined;
  const refuse = (problems: readonly string[]): never => {
    throw new RuntimeError('BAD_FEEDBACK', { run: record.address, problems });
  };
  if (!state?.plan || !state.loops) return refuse(['it is not a run of a plan, whose agents could be told']);
  const { plan, steps = {} } = state;
  const origin = originOf(plan, source, (step) => steps[step]?.status === 'working');
  if (!origin) return refuse([`"${source}" is no agent of this run`]);
  const fixed = fixFeedback(plan, feedback, origin);
  if ('problems' in fixed) refuse(fixed.problems);
};

/** The loop that a trigger has opened, or that was about the same already: its run says so in the same turn. */
const loopOf = async (
  { events }: FeedbackPorts,
  run: string,
  { position }: Receipt,
): Promise<Address | undefined> => {
  if (position === undefined) return undefined;
  const rows = await events({ run, after: position - 1 });
  const [first] = rows;
  const told = rows.find(
    ({ turn, type }) => turn === first?.turn && (type === 'feedback.sent' || type === 'feedback.joined'),
  );
  const exceeded = rows.find(({ turn, type }) => turn === first?.turn && type === 'feedback.escalated');
  if (!told) return exceeded?.actor;
  return typeof told.data['loop'] === 'string' ? told.data['loop'] : undefined;
};

/** No polling: it listens first, then looks, so that nothing is missed in between. */
const resolutionOf = async (
  ports: FeedbackPorts,
  id: string,
  { finder, timeLimitMs }: { readonly finder: Finder; readonly timeLimitMs: number },
): Promise<FeedbackResolution> => {
  let stop = (): void => undefined;
  const late = new Promise<never>((_, reject) => {
    if (Number.isFinite(timeLimitMs))
      stop = ports.clock.after(timeLimitMs, () =>
        reject(new RuntimeError('FEEDBACK_TIMED_OUT', { loop: id, limitMs: timeLimitMs })),
      );
  });
  const run = runOf(id);
  const news$ = ports.events$.pipe(
    filter(
      ({ actor, type, run: its }) =>
        (actor === id && (type === 'feedback.resolved' || type === TYPE.stopped || type === TYPE.failed)) ||
        (its === run && type === TYPE.runEnded),
    ),
  );
  // The bus is complete when the runtime has closed.
  const closed = new RuntimeError('RUNTIME_CLOSED', { action: 'waiting for a feedback' });
  const news = firstValueFrom(merge(news$, ports.fault$), { defaultValue: closed });
  // Whoever stops listening because it is resolved already need not hear of the end.
  for (const promise of [news, late]) promise.catch(() => undefined);
  try {
    const early = await finder.find(id);
    if (early.status === 'resolved' && early.resolution) return early.resolution;
    if (await hasEnded(ports, id)) throw new RuntimeError('FEEDBACK_ENDED', { loop: id });
    const told = await Promise.race([news, late]);
    if (told instanceof RuntimeError) throw told;
    const { resolution } = await finder.find(id);
    if (resolution) return resolution;
    throw new RuntimeError('FEEDBACK_ENDED', { loop: id });
  } finally {
    stop();
  }
};

const hasEnded = async ({ actor }: FeedbackPorts, loop: Address): Promise<boolean> =>
  (await actor(loop))?.status !== 'active';
