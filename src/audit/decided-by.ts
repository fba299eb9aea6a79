import type { RecordedEvent } from '../events/event.ts';
import { isJsonObject } from '../events/json.ts';
import type { DecidedBy } from './audit-trail.ts';
import { isHalt, metIn } from './met-limits.ts';
import type { PastTurn } from './past-turns.ts';

/**
 * What decided that an event came: the limit or person that it names itself, or that one of its causes in the same turn does. A
 * turn is what one stimulus led to, so that a person's answer decides all that follows from it there.
 */
export const decisionOf = (event: RecordedEvent, { events }: PastTurn): DecidedBy | null => {
  const [first] = events;
  // A loop that halts in the turn says so in a fact; what it then does has the same cause as the fact.
  const halt = events.find((each) => isHalt(each) && each.position <= event.position);
  for (let each: RecordedEvent | undefined = event; each; ) {
    const decided = personIn(each) ?? limitIn(each);
    if (decided) return decided;
    const { cause }: RecordedEvent = each;
    each = cause === null || !first || cause < first.position ? undefined : events[cause - first.position];
  }
  return halt ? limitIn(halt) : null;
};

const limitIn = (event: RecordedEvent): DecidedBy | null => {
  const met = isHalt(event) ? metIn(event) : undefined;
  return met ? { limit: met.limit, bound: met.bound, used: met.used, position: event.position } : null;
};

const personIn = ({ type, kind, data, position }: RecordedEvent): DecidedBy | null => {
  const said = type.endsWith('.decided') || type === 'question.answer' ? data : data['output'];
  if (kind === 'undelivered' || !isJsonObject(said)) return null;
  const { by, option, note } = said;
  // An answer is one even if nobody said who gave it.
  if (typeof by !== 'string' && type !== 'question.answer') return null;
  if (!Object.hasOwn(said, 'option')) return null;
  return {
    person: typeof by === 'string' ? by : 'somebody',
    option: typeof option === 'string' ? option : null,
    note: typeof note === 'string' ? note : null,
    position,
  };
};
