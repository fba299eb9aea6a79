import type { Address, RecordedEvent } from '../events/event.ts';
import { TYPE } from '../events/vocabulary.ts';
import { projection } from './projection.ts';

/** One thing that a person may choose. */
export interface OpenOption {
  id: string;
  label: string;
  impact?: string;
  effort?: string;
  /** Whether whoever reported something has proposed it: neither the workflow nor the runtime vouches for it. */
  isProposed?: true;
}

/** A question that waits for a person. */
export interface OpenQuestion {
  /** What `runtime.answer` takes. */
  id: Address;
  run: string;
  text: string;
  details: unknown;
  options: OpenOption[];
  /** Whether it takes a value in place of an option. */
  isFree: boolean;
  /** Who is asked, if someone in particular is. */
  askedOf: string | null;
  /** How often it has gone to the next person. */
  level: number;
  openedAtMs: number;
  expiresAtMs: number | null;
}

const initial: Record<Address, OpenQuestion> = {};

/** All questions of the log that are open, by their ids. */
export const openQuestions = projection({
  name: 'open-questions',
  version: 1,
  partition: 'log',
  initial,
  on: {
    'question.opened': (state, event) => {
      const question = questionOf(event);
      if (question) state[event.actor] = question;
    },
    'question.closed': (state, event) => close(state, event),
    [TYPE.stopped]: (state, event) => close(state, event),
    [TYPE.failed]: (state, event) => close(state, event),
  },
});

const QUESTION = 'lw.question';

function close(state: Record<Address, OpenQuestion>, { actor, machine }: RecordedEvent): void {
  if (machine === QUESTION) delete state[actor];
}

/** The question that a row opens, if it does: only the machine of questions writes such rows. */
export const questionOf = ({
  kind,
  machine,
  actor,
  run,
  data,
  atMs,
}: RecordedEvent): OpenQuestion | undefined => {
  if (kind !== 'fact' || machine !== QUESTION) return undefined;
  const { text, details, options, isFree, askedOf, level, expiresMs } = data;
  return {
    id: actor,
    run,
    text: typeof text === 'string' ? text : '',
    details: details ?? null,
    // The machine of questions wrote them.
    options: (Array.isArray(options) ? options : []) as unknown as OpenOption[],
    isFree: isFree === true,
    askedOf: typeof askedOf === 'string' ? askedOf : null,
    level: typeof level === 'number' ? level : 0,
    openedAtMs: atMs,
    expiresAtMs: typeof expiresMs === 'number' ? atMs + expiresMs : null,
  };
};
