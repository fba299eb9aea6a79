import { withExcerpt } from '../actors/agent-answer.ts';
import type { Outcome, Stimulus } from '../actors/stimulus.ts';
import { RuntimeError } from '../errors.ts';
import { isAnswer } from '../events/answer.ts';
import type { Admitted, Door } from '../events/door.ts';
import type { RecordedEvent } from '../events/event.ts';
import { failureOf } from '../events/failure.ts';
import { isJsonObject } from '../events/json.ts';
import { AGENT } from '../machines/agent-machine.ts';
import { isAsked, type QuestionInput } from '../machines/question-machine.ts';
import { limitChange } from './limit-change.ts';
import { type Moves, moveOf } from './moves.ts';
import type { Past, PastCall, PastQuestion } from './past.ts';
import type { PastTurn } from './past-turns.ts';
import { type Changes, withInput } from './rerun.ts';
import type { ChangedAnswer, WhatIfOptions } from './what-if-options.ts';
import type { World } from './world.ts';

/** What a branch changes, checked, and the large texts in it. */
export interface CheckedChanges {
  readonly changes: Changes;
  readonly blobs: ReadonlyMap<string, string>;
}

interface Ports {
  readonly past: Past;
  readonly door: Door;
  /** Versions of machines that actors go on under after `at`. */
  readonly versions: ReadonlyMap<string, number>;
}

/** @throws {RuntimeError} BAD_BRANCH with everything that is wrong, BAD_OPTION for limits that there are not */
export const checkedChanges = (ports: Ports, options: WhatIfOptions): CheckedChanges => {
  const { past } = ports;
  const problems: string[] = [];
  const blobs = new Map<string, string>();
  const admit = (value: unknown): Admitted => {
    const admitted = ports.door.admit(value, 'answer');
    for (const [hash, text] of admitted.blobs) blobs.set(hash, text);
    return admitted;
  };
  const calls = new Map<PastCall, PastCall | null>();
  const questions = new Map<PastQuestion, PastQuestion | null>();
  const dropped = new Set<number>();
  for (const change of options.answers ?? []) {
    const problem = place(change, { past, calls, questions, dropped, admit, redact: ports.door.text });
    if (problem !== undefined) problems.push(problem);
  }
  const input = options.input === undefined ? undefined : admit(options.input);
  const limited = limitChange(past, options, problems);
  const atTurn = options.at === undefined ? undefined : turnAt(past, options.at);
  if (options.at !== undefined && !atTurn) problems.push(`it has no event at position ${options.at}`);
  if (problems.length > 0) throw new RuntimeError('BAD_BRANCH', { run: past.run, problems });
  const changes: Changes = {
    stimulus: (given, turn) => {
      if (dropped.has(turn.turn)) return null;
      const started = withInput(past, given, input?.value);
      return limited?.start?.(started) ?? started;
    },
    after: (turn, world) => [
      ...(turn.turn === atTurn?.turn ? machineMoves(world, ports.versions) : []),
      ...(turn.turn === limited?.turn ? limited.patch(world) : []),
    ],
    answer: (call) => (calls.has(call) ? (calls.get(call) ?? null) : call),
    said: (question) => (questions.has(question) ? (questions.get(question) ?? null) : question),
  };
  return { changes, blobs };
};

const turnAt = ({ turns }: Past, position: number): PastTurn | undefined =>
  turns.find(({ events }) => events.some((event) => event.position === position));

interface Placing {
  readonly past: Past;
  readonly calls: Map<PastCall, PastCall | null>;
  readonly questions: Map<PastQuestion, PastQuestion | null>;
  readonly dropped: Set<number>;
  readonly admit: (value: unknown) => Admitted;
  readonly redact: (text: string) => string;
}

/** Puts a changed answer in its place, or says why there is none. */
const place = (change: ChangedAnswer, to: Placing): string | undefined => {
  const { past } = to;
  const { at } = change;
  const question = past.questions.find(({ saidAt, openedAt }) => saidAt === at || openedAt === at);
  if (question) return placeSaid(change, question, to);
  const opened = past.calls.filter(({ call }) => call.openedAt === at);
  const call =
    past.calls.find(({ answeredAt, begunAt }) => answeredAt === at || begunAt === at) ??
    (opened.length === 1 ? opened[0] : undefined);
  if (call) return placeOutcome(change, call, to);
  const turn = past.turns.find(({ events }) => events[0]?.position === at);
  const index = turn ? past.turns.indexOf(turn) : -1;
  const { kind } = past.stimuli[index] ?? {};
  if (turn && 'forget' in change && (kind === 'message' || kind === 'end')) {
    to.dropped.add(turn.turn);
    return undefined;
  }
  return opened.length > 1
    ? `${opened.length} calls were opened at position ${at}: name the answer of one`
    : `nobody has answered anything at position ${at}, nor was anything asked there`;
};

const placeOutcome = (
  change: ChangedAnswer,
  call: PastCall,
  { calls, admit, redact }: Placing,
): string | undefined => {
  if ('option' in change) return `an agent was called at position ${change.at}: give an output, or a failure`;
  if ('forget' in change) {
    calls.set(call, null);
    return undefined;
  }
  const outcome: Outcome =
    'failure' in change
      ? {
          failure: failureOf(
            typeof change.failure === 'string' ? new Error(change.failure) : change.failure,
            redact,
          ),
        }
      : { output: withExcerpt(call.call, admit(envelopeOf(change.output, call))) };
  calls.set(call, {
    ...call,
    outcome,
    begunAfterMs: call.begunAfterMs ?? 0,
    endedAfterMs: call.endedAfterMs ?? call.begunAfterMs ?? 0,
  });
  return undefined;
};

/** As an answer reaches its machine: an agent's actor gets it with all that goes with it. */
const envelopeOf = (output: unknown, { call, outcome }: PastCall): unknown => {
  const given = isAnswer(output) ? output.plain() : { output: output ?? null };
  if (call.machine !== AGENT) return isAnswer(output) ? given : given.output;
  const before = outcome && 'output' in outcome ? outcome.output.value : null;
  const usage = isJsonObject(before) ? before['usage'] : undefined;
  return { ...(usage !== undefined && { usage }), ...given };
};

const placeSaid = (
  change: ChangedAnswer,
  question: PastQuestion,
  { past, questions, admit, redact }: Placing,
): string | undefined => {
  if ('forget' in change) {
    questions.set(question, null);
    return undefined;
  }
  if (!('option' in change)) return `a person was asked at position ${change.at}: give an option`;
  const { option, value = null, note = null, by = null } = change;
  const asked = eventAt(past, question.openedAt)?.data as unknown as QuestionInput; // The machine of questions wrote it.
  if (!isAsked(asked, { option })) {
    const options = asked.options.map(({ id }) => id).join(', ');
    return `"${option}" is no answer to the question at position ${question.openedAt} (${options || 'a free answer'})`;
  }
  const said: Stimulus & { kind: 'message' } = {
    kind: 'message',
    id: question.said?.id ?? '',
    origin: 'host',
    by: by === null ? null : redact(by),
    cause: null,
    atMs: question.said?.atMs ?? question.openedAtMs,
    to: question.actor,
    type: 'question.answer',
    data: admit({ option, value, note, by }),
    expectedVersion: undefined,
  };
  questions.set(question, { ...question, said });
  return undefined;
};

const eventAt = ({ turns }: Past, position: number): RecordedEvent | undefined =>
  turns.flatMap(({ events }) => events).find((event) => event.position === position);

/** Actors of machines that have changed go on under the new version, in the state that they are in. */
const machineMoves = (world: World, versions: ReadonlyMap<string, number>): Moves =>
  [...world.actors.values()].flatMap(({ address, machine, status, snapshot }) => {
    const version = versions.get(machine);
    return version === undefined || status !== 'active'
      ? []
      : [moveOf(world, address, { version, context: snapshot?.context })];
  });
