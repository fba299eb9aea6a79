import type { Address, RecordedEvent } from '../events/event.ts';
import { projection } from './projection.ts';

/** What one target of a feedback has done about it. */
export interface FeedbackResponse {
  notifiedAtMs: number;
  acknowledgedAtMs: number | null;
  answeredAtMs: number | null;
  /** How long it took to answer, or to fix. */
  responseMs: number | null;
  /** What it chose, if it was asked to. */
  answers: { option: string | null; value: unknown; note: string | null; problem: string | null }[];
}

/** How a feedback was resolved. */
export interface FeedbackResolution {
  /** The option that was chosen; null for a value, or a mere fix. */
  option: string | null;
  value: unknown;
  note: string | null;
  by: string[];
  /** Whether a person, or the host, decided in place of the targets. */
  isManual: boolean;
}

/** One time that the source had something to say. */
export interface FeedbackRound {
  round: number;
  triggeredAtMs: number;
  severity: string;
  description: unknown;
  details: unknown;
  options: unknown[];
  responses: Record<string, FeedbackResponse>;
  /** Null until someone has looked at the resolution. */
  validated: boolean | null;
  resolution: FeedbackResolution | null;
  resolvedAtMs: number | null;
  escalationReason: string | null;
}

/** What is on record of a feedback loop. */
export interface FeedbackLoop {
  /** What the functions of `runtime.feedback` take: its address. Ids of a run sort by the time at which they began. */
  id: Address;
  run: string;
  source: string;
  targets: string[];
  type: string;
  /** The requirement, or what else it is about. */
  subject: string;
  requirement: string | null;
  triggeredAtMs: number;
  status: 'pending' | 'resolved' | 'escalated';
  /** The state of its statechart. */
  state: string;
  /** Of the last round. */
  severity: string;
  description: unknown;
  details: unknown;
  resolution: FeedbackResolution | null;
  resolvedAtMs: number | null;
  escalationReason: string | null;
  rounds: FeedbackRound[];
}

const FEEDBACK = 'lw.feedback';
const AGENT = 'lw.agent';
const AGENT_SEGMENT = '/agent:';

/** Messages after which a loop is in another state, and says nothing more about it. */
const MOVES = ['feedback.triggered', 'resolution.complete', 'workflow.complete'];

const initial: Record<string, FeedbackLoop> = {};

/** All feedback loops of a run, by their ids. */
export const feedbackLoops = projection({
  name: 'feedback-loops',
  version: 1,
  partition: 'run',
  initial,
  on: {
    'feedback.opened': (state, event) => opened(state, event),
    'feedback.acknowledged': (state, event) => {
      const response = responseOf(loopOf(state, event), event.data['target']);
      if (response) response.acknowledgedAtMs ??= event.atMs;
    },
    'feedback.answered': (state, event) => answered(state, event),
    'feedback.fixed': (state, event) => {
      const response = responseOf(loopOf(state, event), event.data['target']);
      if (response) answeredAt(response, event.atMs);
    },
    'feedback.validated': (state, event) => {
      const round = loopOf(state, event)?.rounds.at(-1);
      if (round) round.validated = event.data['passed'] === true;
    },
    'feedback.resolved': (state, event) => {
      const loop = loopOf(state, event);
      if (!loop) return;
      const resolution = event.data['resolution'] as unknown as FeedbackResolution; // The loop wrote it.
      const { option, value, note, by, isManual } = resolution ?? {};
      end(loop, { resolution: { option, value, note, by: [...by], isManual }, resolvedAtMs: event.atMs });
      loop.status = 'resolved';
    },
    'feedback.escalated': (state, event) => {
      const loop = loopOf(state, event);
      if (!loop) return;
      const reason = event.data['reason'];
      end(loop, { escalationReason: typeof reason === 'string' ? reason : '' });
      loop.status = 'escalated';
    },
    'lw.call.begun': (state, event) => noteBegun(state, event),
    ...Object.fromEntries(MOVES.map((type) => [type, noteState])),
  },
});

type Loops = Record<string, FeedbackLoop>;

/** The loop whose own fact it is: others cannot write into its record. */
function loopOf(state: Loops, event: RecordedEvent): FeedbackLoop | undefined {
  if (event.machine !== FEEDBACK || event.kind !== 'fact') return undefined;
  const loop = Object.hasOwn(state, event.actor) ? state[event.actor] : undefined;
  if (loop) loop.state = stateOf(event);
  return loop;
}

function opened(state: Loops, event: RecordedEvent): void {
  if (event.machine !== FEEDBACK || event.kind !== 'fact') return;
  const { actor, run, atMs } = event;
  // The loop wrote them: see `notify` in its rules.
  const data = event.data as unknown as {
    round: number;
    source: string;
    targets: string[];
    subject: string;
    feedback: Pick<FeedbackRound, 'severity' | 'description' | 'details' | 'options'> &
      Pick<FeedbackLoop, 'type' | 'requirement'>;
  };
  const { severity, description, details, options, type, requirement } = data.feedback;
  // What is in the record twice is there as two copies: a view is a tree.
  const again = copyOf({ description, details });
  const round: FeedbackRound = {
    round: data.round,
    triggeredAtMs: atMs,
    severity,
    description,
    details,
    options,
    responses: Object.fromEntries(
      data.targets.map((target) => [
        target,
        { notifiedAtMs: atMs, acknowledgedAtMs: null, answeredAtMs: null, responseMs: null, answers: [] },
      ]),
    ),
    validated: null,
    resolution: null,
    resolvedAtMs: null,
    escalationReason: null,
  };
  const known = Object.hasOwn(state, actor) ? state[actor] : undefined;
  state[actor] = {
    id: actor,
    run,
    source: data.source,
    targets: data.targets,
    type,
    subject: data.subject,
    requirement,
    triggeredAtMs: known?.triggeredAtMs ?? atMs,
    status: 'pending',
    state: stateOf(event),
    severity,
    description: again.description,
    details: again.details,
    resolution: null,
    resolvedAtMs: null,
    escalationReason: null,
    rounds: [...(known?.rounds ?? []), round],
  };
}

function answered(state: Loops, event: RecordedEvent): void {
  const response = responseOf(loopOf(state, event), event.data['target']);
  if (!response) return;
  // The loop wrote them.
  const { option, value, note, problem } = event.data as unknown as FeedbackResponse['answers'][number];
  response.answers.push({ option, value, note, problem });
  answeredAt(response, event.atMs);
}

function answeredAt(response: FeedbackResponse, atMs: number): void {
  response.acknowledgedAtMs ??= atMs;
  response.answeredAtMs = atMs;
  response.responseMs = atMs - response.notifiedAtMs;
}

function end(
  loop: FeedbackLoop,
  change: Partial<Pick<FeedbackRound, 'resolution' | 'resolvedAtMs' | 'escalationReason'>>,
): void {
  Object.assign(loop, change);
  const round = loop.rounds.at(-1);
  if (round) Object.assign(round, copyOf(change));
}

function noteState(state: Loops, event: RecordedEvent): void {
  const loop =
    event.machine === FEEDBACK && Object.hasOwn(state, event.actor) ? state[event.actor] : undefined;
  if (loop) loop.state = stateOf(event);
}

/** A target has taken its request up. */
function noteBegun(state: Loops, event: RecordedEvent): void {
  if (event.machine !== AGENT) return;
  const at = event.actor.lastIndexOf(AGENT_SEGMENT);
  const owner = event.actor.slice(0, at);
  const loop = Object.hasOwn(state, owner) ? state[owner] : undefined;
  const response = responseOf(loop, event.actor.slice(at + AGENT_SEGMENT.length));
  if (response) response.acknowledgedAtMs ??= event.atMs;
}

function responseOf(loop: FeedbackLoop | undefined, target: unknown): FeedbackResponse | undefined {
  const responses = loop?.rounds.at(-1)?.responses;
  return responses && typeof target === 'string' && Object.hasOwn(responses, target)
    ? responses[target]
    : undefined;
}

/** It came from an event, and so is JSON. */
const copyOf = <Data>(data: Data): Data => JSON.parse(JSON.stringify(data)) as Data;

const stateOf = ({ state }: RecordedEvent): string =>
  typeof state === 'string' ? state : (Object.keys(state)[0] ?? '');

/** Where feedback about a requirement is found, whatever its run. */
export interface FeedbackIndex {
  /** Loops that are not resolved, oldest first. */
  open: { id: Address; requirement: string }[];
  /** The latest loop about each requirement. */
  latest: Record<string, Address>;
}

const nothing: FeedbackIndex = { open: [], latest: {} };

export const feedbackIndex = projection({
  name: 'feedback-index',
  version: 1,
  partition: 'log',
  initial: nothing,
  on: {
    'feedback.opened': (state, event) => {
      const requirement = (event.data['feedback'] as { requirement?: unknown } | undefined)?.requirement;
      if (event.machine !== FEEDBACK || event.kind !== 'fact' || typeof requirement !== 'string') return;
      const others = state.open.filter(({ id }) => id !== event.actor);
      state.open = [...others, { id: event.actor, requirement }];
      if (requirement !== '__proto__') state.latest[requirement] = event.actor;
    },
    'feedback.resolved': (state, event) => closed(state, event),
    'lw.stopped': (state, event) => closed(state, event),
    'lw.failed': (state, event) => closed(state, event),
  },
});

function closed(state: FeedbackIndex, { machine, actor }: RecordedEvent): void {
  if (machine === FEEDBACK) state.open = state.open.filter(({ id }) => id !== actor);
}
