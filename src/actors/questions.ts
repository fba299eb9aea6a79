import { concat, defer, filter, finalize, from, map, mergeMap, type Observable } from 'rxjs';
import { RuntimeError } from '../errors.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import type { Json } from '../events/json.ts';
import { questionFingerprint } from '../events/question-fingerprint.ts';
import {
  type AnswerEvent,
  isAsked,
  QUESTION,
  type QuestionInput,
  type QuestionOutput,
} from '../machines/question-machine.ts';
import { type OpenQuestion, openQuestions, questionOf } from '../projections/open-questions.ts';
import type { Projection } from '../projections/projection.ts';
import type { ActorRecord } from './actor-record.ts';
import type { Command } from './commands.ts';
import type { Receipt } from './host.ts';
import type { SendOptions } from './run-handle.ts';

export interface AnswerOptions extends Pick<SendOptions, 'id'> {
  /** Who answers: kept with the answer. */
  readonly by?: string;
  /** Why. */
  readonly note?: string;
  /** Refuse it unless the question still shows what has this fingerprint: see `questionFingerprint`. */
  readonly expect?: string;
  /** A free answer, or what belongs to the option: how many more passes, say. */
  readonly value?: Json;
}

export interface QuestionPorts {
  readonly actor: (address: Address) => Promise<ActorRecord | null>;
  readonly send: (
    command: Command & { kind: 'send' },
    options: SendOptions,
    origin: 'host' | 'inbox',
  ) => Promise<Receipt>;
  readonly read: <State>(projection: Projection<State>) => Promise<State>;
  readonly events$: Observable<RecordedEvent>;
}

export type AnswerCommand = Extract<Command, { kind: 'answer' }>;

/** What persons are asked, and what they say. */
export interface Questions {
  open(run?: string): Promise<readonly OpenQuestion[]>;
  readonly questions$: Observable<OpenQuestion>;
  answer(command: AnswerCommand, options: SendOptions, origin: 'host' | 'inbox'): Promise<Receipt>;
}

export const createQuestions = (ports: QuestionPorts): Questions => {
  const open: Questions['open'] = async (run) => {
    const all = Object.values(await ports.read(openQuestions));
    return all
      .filter((question) => run === undefined || question.run === run)
      .sort((one, other) => one.openedAtMs - other.openedAtMs);
  };
  const opened$ = ports.events$.pipe(
    filter(({ type }) => type === 'question.opened'),
    map(questionOf),
    filter((question) => question !== undefined),
  );

  return {
    open,
    questions$: openFirst(opened$, () => open()),
    async answer({ question, option = null, value = null, note = null, expect }, options, origin) {
      const { asked, version } = await questionAt(ports, question);
      if (expect !== undefined) checkFingerprint(question, asked, expect);
      const said: AnswerEvent = { type: 'question.answer', option, value, note, by: options.by ?? null };
      if (!isAsked(asked, said)) throw badAnswer(question, asked, said);
      // Whoever says what they have seen decides on that alone: not on what has come to its place since.
      const seen = expect === undefined ? {} : { expectedVersion: version };
      const command = { kind: 'send' as const, to: question, message: said, ...seen };
      const receipt = await ports.send(command, options, origin);
      // Somebody else was faster.
      if (!receipt.taken && !receipt.duplicate) await questionAt(ports, question);
      return receipt;
    },
  };
};

/** Those that are open now, then each that opens. One that opens while the open ones are read is told once. */
const openFirst = (
  opened$: Observable<OpenQuestion>,
  open: () => Promise<readonly OpenQuestion[]>,
): Observable<OpenQuestion> =>
  defer(() => {
    const early: OpenQuestion[] = [];
    const collecting = opened$.subscribe((question) => early.push(question));
    const first$ = from(open()).pipe(
      mergeMap((questions) => {
        collecting.unsubscribe();
        const known = new Set(questions.map(keyOf));
        return [...questions, ...early.filter((question) => !known.has(keyOf(question)))];
      }),
    );
    return concat(first$, opened$).pipe(finalize(() => collecting.unsubscribe()));
  });

const keyOf = ({ id, level }: OpenQuestion): string => `${id} ${level}`;

/** The question at an address, which must be open. */
const questionAt = async (
  { actor }: QuestionPorts,
  question: Address,
): Promise<{ readonly asked: QuestionInput; readonly version: number }> => {
  const record = await actor(question);
  if (record?.machine !== QUESTION) throw new RuntimeError('UNKNOWN_QUESTION', { question });
  // The machine of questions made it.
  const context = record.snapshot?.context as QuestionInput & { output: QuestionOutput | null };
  if (record.status === 'active') return { asked: context, version: record.version };
  throw new RuntimeError('QUESTION_CLOSED', { question, outcome: outcomeOf(context.output) });
};

const checkFingerprint = (question: Address, asked: QuestionInput, expected: string): void => {
  const found = questionFingerprint(asked);
  if (found !== expected) throw new RuntimeError('QUESTION_CHANGED', { question, expected, found });
};

const outcomeOf = (output: QuestionOutput | null): string => {
  if (output === null) return 'nobody waits for it any more';
  if (output.outcome === 'expired') return 'it expired';
  const { option, by, note } = output;
  const what = option === null ? 'answered freely' : `answered "${option}"`;
  return `${what}${by === null ? '' : ` by ${by}`}${note === null ? '' : ` (${note})`}`;
};

const badAnswer = (
  question: Address,
  { options, isFree }: QuestionInput,
  { option }: AnswerEvent,
): RuntimeError =>
  new RuntimeError('BAD_ANSWER', {
    question,
    problem: option === null ? 'it needs one of its options' : `"${option}" is not one of its options`,
    options: isFree && options.length === 0 ? [] : options.map(({ id }) => id),
  });
