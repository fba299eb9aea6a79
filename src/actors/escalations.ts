import { filter, map, type Observable } from 'rxjs';
import type { Address, RecordedEvent } from '../events/event.ts';
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
  readonly question: Address;
}

export const escalationsIn = (events$: Observable<RecordedEvent>): Observable<Escalation> =>
  events$.pipe(
    filter(
      ({ type, kind, machine }) => type === 'feedback.escalated' && kind === 'fact' && machine === FEEDBACK,
    ),
    map(({ actor, run, data: { reason, description } }) => ({
      loop: actor,
      run,
      reason: typeof reason === 'string' ? reason : '',
      issue: typeof description === 'string' ? description : JSON.stringify(description ?? null),
      question: `${actor}/question`,
    })),
  );

/** Where an agent could have written something that a terminal would obey. */
const CONTROL = /\p{Cc}/gu;

/** What a person reads. */
export const escalationText = ({ loop, reason, issue, question }: Escalation): string =>
  [
    `A person is needed: the feedback ${loop} was escalated.`,
    `  reason: ${reason}`,
    `  issue:  ${issue}`,
    `  answer: ${question}`,
  ]
    .map((line) => line.replaceAll(CONTROL, ' '))
    .join('\n');
