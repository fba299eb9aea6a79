import type { Observable } from 'rxjs';
import type { AnyStateMachine, ContextFrom, EventFromLogic, OutputFrom, StateValueFrom } from 'xstate';
import type { Progress } from './actors/call-runner.ts';
import type { Command } from './actors/commands.ts';
import type { FeedbackApi } from './actors/feedback.ts';
import type { Receipt } from './actors/host.ts';
import type { AnswerOptions } from './actors/questions.ts';
import type { ReplayReport } from './actors/replay.ts';
import type { ActorState, Run, SendOptions } from './actors/run-handle.ts';
import type { RuntimeError } from './errors.ts';
import type { Address, RecordedEvent } from './events/event.ts';
import type { RunRecord } from './events/turn.ts';
import type { LookingBack } from './looking-back.ts';
import type { Workflow } from './machines/workflow.ts';
import type { Change } from './projections/changes.ts';
import type { OpenQuestion } from './projections/open-questions.ts';
import type { Projection } from './projections/projection.ts';
import type { WorstCase, WorstCaseOptions } from './proofs/worst-case.ts';
import type { EventQuery, Head, RunFilter, VerifyOptions, VerifyReport } from './store/event-log.ts';

/** The workflow of a name; of a runtime whose workflows are not known by type, any. */
type Named<Workflows extends Workflow, Name> = string extends Workflows['name']
  ? Workflows
  : Extract<Workflows, { readonly name: Name }>;

type MachineOf<Workflows extends Workflow, Name> = Named<Workflows, Name>['machine'];

/** What a run of the workflow is started with. */
type GivenTo<Workflows extends Workflow, Name> = NonNullable<Named<Workflows, Name>['types']>['given'];

/** A run, typed by the machine of its workflow. */
export type RunOf<Machine extends AnyStateMachine> = Run<
  EventFromLogic<Machine>,
  ActorState<StateValueFrom<Machine>, ContextFrom<Machine>>,
  OutputFrom<Machine>
>;

export interface StartOptions {
  /** The run's id; a new one unless set. The same id is started once only. */
  readonly id?: string;
  readonly by?: string;
}

/** A machine whose author declared no input needs none. */
type StartArguments<Given> = unknown extends Given
  ? [input?: unknown, options?: StartOptions]
  : [input: Given, options?: StartOptions];

/** The runtime in a host application: one for each log. */
export interface Runtime<Workflows extends Workflow = Workflow> extends LookingBack {
  /** Starts a run. Resolves once its start is in the log. */
  start<Name extends Workflows['name']>(
    workflow: Name,
    ...input: StartArguments<GivenTo<Workflows, Name>>
  ): Promise<RunOf<MachineOf<Workflows, Name>>>;
  /**
   * What a run of the workflow may take at most, by trying everything that its agents may do. Nothing is written. The agents
   * of a plan need not be described; for another workflow, `outcomes` says what each may do.
   */
  worstCase(workflow: Workflows['name'], input?: unknown, options?: WorstCaseOptions): Promise<WorstCase>;
  /** A run of the log, open or ended. Name its workflow to have it typed. */
  run(id: string): Promise<Run>;
  run<Name extends Workflows['name']>(id: string, workflow: Name): Promise<RunOf<MachineOf<Workflows, Name>>>;
  /** Runs by status and workflow, in the order in which they began. */
  runs(filter?: RunFilter): Promise<readonly RunRecord[]>;
  /** Sends a message to any actor by its address. */
  send(to: Address, message: { readonly type: string }, options?: SendOptions): Promise<Receipt>;
  /** The state of any actor. */
  actor(address: Address): Promise<ActorState>;

  /** What waits for persons, oldest first. */
  questions(filter?: { readonly run?: string }): Promise<readonly OpenQuestion[]>;
  /** Every question that is open, then each that opens, or goes to the next person. */
  readonly questions$: Observable<OpenQuestion>;
  /**
   * Answers a question with one of its options, or null and a value if it takes a free answer.
   *
   * @throws {RuntimeError} UNKNOWN_QUESTION, BAD_ANSWER, QUESTION_CLOSED with who answered it and how, QUESTION_CHANGED
   */
  answer(question: Address, option: string | null, options?: AnswerOptions): Promise<Receipt>;

  /** Carries out a command as data: one that `why` gives, or that another process would send with `sendCommand`. */
  execute(command: Command, options?: Pick<SendOptions, 'by' | 'id'>): Promise<Receipt>;

  /** Feedback between the agents of plan runs. */
  readonly feedback: FeedbackApi;
  /** Every event, once it is committed, in order. */
  readonly events$: Observable<RecordedEvent>;
  /** What agents tell of their work while it is under way. Not in the log. */
  readonly progress$: Observable<Progress>;
  /** What goes wrong without anyone waiting for it. */
  readonly warnings$: Observable<string>;
  /** Emits once if the disk fails and nothing can be written any more: open the log anew. */
  readonly fault$: Observable<RuntimeError>;

  /** The log itself, by run, actor, type, cause and time: the audit. */
  audit(query: EventQuery): Promise<readonly RecordedEvent[]>;
  /** Messages that nobody took, oldest first, and whether they were sent again. */
  deadLetters(filter?: Pick<EventQuery, 'run' | 'after' | 'limit'>): Promise<readonly DeadLetter[]>;
  /** Sends a dead letter again, to whom it was meant for. */
  resend(position: number, options?: Pick<SendOptions, 'by' | 'id'>): Promise<Receipt>;

  /** The state of a projection's partition, folded to the end of the log. */
  read<State>(projection: Projection<State>, run?: string): Promise<State>;
  /** The state now, then after each change. */
  view$<State>(projection: Projection<State>, run?: string): Observable<State>;
  /**
   * Folds all views of all runs from the log anew, in one pass, and stores them. They are derived, and right without it: for
   * whoever wants them at hand, after an import or a new version of a projection.
   */
  rebuildViews(): Promise<{ readonly events: number; readonly partitions: number }>;
  /** Changes at paths that match a pattern: `actors.*.state`. */
  watch<State>(projection: Projection<State>, run: string | undefined, pattern: string): Observable<Change>;

  /** Registers more workflows, as createRuntime does. */
  register(...workflows: readonly Workflow[]): void;
  /**
   * Checks the log row by row, then rebuilds every actor from it and compares: its states, the facts that its machine states, its
   * snapshot, and every stored view of the projections that are registered. Reads all of the log. With a head that was kept
   * elsewhere (that of an earlier report, or of an export) it also finds that the tail of the log is gone, or all of it another.
   */
  verify(options?: VerifyOptions): Promise<{ readonly log: VerifyReport; readonly replay: ReplayReport }>;
  /** Copies the log to a new file while it is in use. */
  backup(file: string): Promise<void>;
  /** Writes the log as JSON lines, and gives the head that an import of them must have. */
  export(write: (line: string) => void | Promise<void>): Promise<Head>;
  /**
   * Commits what waits, aborts agents (their calls start again with the next runtime), waits until the processes of commands
   * are gone, and lets go of the log.
   */
  close(): Promise<void>;
}

export interface DeadLetter {
  readonly position: number;
  readonly run: string;
  readonly to: Address;
  readonly type: string;
  readonly message: unknown;
  readonly reason: string;
  readonly atMs: number;
  readonly resent: boolean;
}
