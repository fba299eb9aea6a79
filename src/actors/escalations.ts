import { filter, map, type Observable } from 'rxjs';
import type { Address, RecordedEvent } from '../events/event.ts';
import { inWords } from '../machines/feedback-asks.ts';
import { FEEDBACK } from '../machines/feedback-work.ts';

/** A feedback that its agents could not resolve: a person is asked. */
export interface Escalation {
  /** What `runtime.feedback.resolve` takes. */
  readonly loop: Address;
  readonly run: string;
  readonly reason: string;
  /** What the feedback says. */
  readonly issue: string;
  /** What `runtime.answer` takes; null if the run stops at its limits, and nobody is asked. */
  readonly question: Address | null;
}

export const escalationsIn = (events$: Observable<RecordedEvent>): Observable<Escalation> =>
  events$.pipe(
    filter(
      ({ type, kind, machine }) => type === 'feedback.escalated' && kind === 'fact' && machine === FEEDBACK,
    ),
    map(({ actor, run, data: { reason, description, asks } }) => ({
      loop: actor,
      run,
      reason: typeof reason === 'string' ? reason : '',
      issue: inWords(description ?? null),
      question: asks === true ? `${actor}/question` : null,
    })),
  );

/** Where an agent could have written something that a terminal would obey. */
const CONTROL = /\p{Cc}/gu;

/** What a person reads. */
export const escalationText = ({ loop, reason, issue, question }: Escalation): string =>
  [
    `${question === null ? 'The run stops' : 'A person is needed'}: the feedback ${loop} was escalated.`,
    `  reason: ${reason}`,
    `  issue:  ${issue}`,
    ...(question === null ? ['  nobody is asked: the run ends'] : [`  answer: ${question}`]),
  ]
    .map((line) => line.replaceAll(CONTROL, ' '))
    .join('\n');
