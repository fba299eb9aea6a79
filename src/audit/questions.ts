import type { RecordedEvent } from '../events/event.ts';
import { QUESTION } from '../machines/question-machine.ts';

/** Whether an event is what asks a person. */
export const isQuestion = ({ kind, machine, type }: RecordedEvent): boolean =>
  kind === 'fact' && machine === QUESTION && type === 'question.opened';
