import type { AnyStateMachine, StateMachine } from 'xstate';
import type { Agent, AgentFunction } from './actors/agent.ts';
import type { Clock } from './actors/clock.ts';
import type { Escalation } from './actors/escalations.ts';
import type { EncodeLimits } from './events/encode.ts';
import type { SecretOptions } from './events/redact.ts';
import type { AgentCallLogic } from './machines/agent-call.ts';
import type { Workflow } from './machines/workflow.ts';
import type { OpenQuestion } from './projections/open-questions.ts';
import type { Projection } from './projections/projection.ts';
import type { EventLog } from './store/event-log.ts';

export interface RuntimeOptions<Workflows extends Workflow, Agents> {
  /** The log's path; it is made if it is not there. `:memory:` for one that is gone with the process. */
  readonly file: string;
  /** Every machine that runs or is invoked here, older versions that still have open runs among them. */
  readonly workflows: readonly Workflows[];
  /** By name: a function, `agent(function, options)` or `agent.command(file, args, options)`. What a workflow expects of it is checked by its types. */
  readonly agents: Agents;
  /** Agents of one workflow only, by its name: they go before `agents` in its runs. For hosts whose workflows are not written as one. */
  readonly agentsByWorkflow?: Readonly<
    Record<string, Readonly<Record<string, Agent | AgentFunction<never, unknown>>>>
  >;
  readonly projections?: readonly Projection[];
  /** Where workflows that write files (a tight loop's scratchpad) do so; `<file>.runs` unless set, null for no files. */
  readonly runsFolder?: string | null;
  /** What must never be in the log: redacted in everything that comes in. */
  readonly secrets?: SecretOptions;
  readonly limits?: Partial<RuntimeLimits>;
  /** `full` (default): what was acknowledged survives a power cut. `normal`: a power cut may lose the last commits. */
  readonly durability?: 'full' | 'normal';
  /** Keep other processes from reading the log too. Then a full disk cannot end the process (see docs/GUARANTEES.md). */
  readonly exclusive?: boolean;
  /**
   * The log was put back from a backup on purpose. Otherwise one that is shorter than what was written here last is refused with
   * LOG_NOT_AS_LEFT: set it for the one opening after that, and not for good.
   */
  readonly restored?: boolean;
  /** Take no new work while the disk has less than this left; 64 MiB unless set. */
  readonly reserveBytes?: number;
  /** What goes wrong without anyone waiting for it: a subscriber that throws, a call without an agent, a commit to be repeated. */
  readonly onWarning?: (warning: string) => void;
  /** Told of every question that waits for a person, those that are open already first. It may throw: that is a warning. */
  readonly onQuestion?: (question: OpenQuestion) => void;
  /** Told of every feedback that its agents could not resolve. It may throw: that is a warning. */
  readonly onEscalation?: (escalation: Escalation) => void;
  /** Whether such a feedback is printed on the standard error as well; true unless set. */
  readonly printEscalations?: boolean;
  /** Do not start agents and timers: to look at a log, or to carry out a command in passing. */
  readonly idle?: boolean;
  /** Whose agents and timers are started, by the id of the run: all unless set. The others stay as they are until a runtime takes them up. */
  readonly takesUp?: (run: string) => boolean;
  /**
   * Only look: the log is opened for reading, whoever writes it, and is left as it is. Everything that would write is refused with
   * LOG_WRITE_FAILED; its owner alone deals with the inbox.
   */
  readonly readOnly?: boolean;
  /** Another clock than the machine's: for tests and simulations. */
  readonly clock?: Clock;
  /** Another log than the file: for tests and simulations. */
  readonly log?: EventLog;
}

export interface RuntimeLimits {
  /** How many messages one stimulus may cause before its run ends exhausted: 1,000. */
  readonly deliveriesPerTurn: number;
  /** How many turns a run may take before it ends exhausted: 10,000. */
  readonly turnsPerRun: number;
  /** How many calls of the host may wait for their commit: 10,000. */
  readonly queue: number;
  /** How many actors stay in memory: 50,000. */
  readonly loaded: number;
  /** How many of them are kept as they are, and not packed, which takes a fraction of the memory: 10,000. */
  readonly unpacked: number;
  /** After how long an actor without messages leaves memory: 5 minutes. */
  readonly idleMs: number;
  /** How large, deep and wide one message or answer may be. */
  readonly payload: EncodeLimits;
}

/** The type of a machine's `actors`, as a union of { src, logic }: the fourth of the machine's type parameters. */
type SourcesOf<Machine extends AnyStateMachine> =
  Machine extends StateMachine<
    infer _Context,
    infer _Event,
    infer _Children,
    infer Actor,
    infer _Action,
    infer _Guard,
    infer _Delay,
    infer _StateValue,
    infer _Tag,
    infer _Input,
    infer _Output,
    infer _Emitted,
    infer _Meta,
    infer _Config
  >
    ? Actor
    : never;

/** Those of them that call an agent by its name under `actors`. */
type NamedCall<Source> = Source extends {
  readonly src: infer Name extends string;
  readonly logic: infer Logic;
}
  ? Logic extends AgentCallLogic<infer Input, infer Output, infer Kind>
    ? 'chosen' extends Kind
      ? never
      : { readonly name: Name; readonly agent: Agent<Input, Output> | AgentFunction<Input, Output> }
    : never
  : never;

type CallsOf<Workflows extends Workflow> = Workflows extends Workflow
  ? NamedCall<SourcesOf<Workflows['machine']>>
  : never;

type AnyAgent<Input> = Agent<Input> | AgentFunction<Input, unknown>;

/** Agents that are called by their role in a plan: all of them are given the input of a step. */
type RoleOf<Workflows extends Workflow> = Workflows extends Workflow
  ? NonNullable<Workflows['types']> extends {
      readonly roles: infer Name extends string;
      readonly stepInput: infer Input;
    }
    ? Name extends string
      ? { readonly name: Name; readonly agent: AnyAgent<unknown extends Input ? never : Input> }
      : never
    : never
  : never;

/**
 * The agents that these workflows call by name, each with the input that it is given and the output that is expected. (A
 * conditional type, so that TypeScript resolves it before it infers the parameters of functions written in place.)
 */
export type AgentsOf<Workflows extends Workflow> = [Workflows] extends [never]
  ? never
  : { readonly [Call in CallsOf<Workflows> as Call['name']]: Call['agent'] } & {
      readonly [Role in RoleOf<Workflows> as Role['name']]: Role['agent'];
    };
