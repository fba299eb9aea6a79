import type { RecordedEvent } from '../events/event.ts';
import { isJsonObject } from '../events/json.ts';
import type { DecidedBy } from './audit-trail.ts';
import { resolutionIn } from './in-words.ts';
import { isHalt, metIn } from './met-limits.ts';
import type { PastTurn } from './past-turns.ts';
import { textIn } from './short.ts';

/**
 * What decided that an event came: the limit, person or agents that it names itself, or that one of its causes in the same turn
 * does. A turn is what one stimulus led to, so that a person's answer decides all that follows from it there.
 */
export const decisionOf = (event: RecordedEvent, { events }: PastTurn): DecidedBy | null => {
  const [first] = events;
  // A loop that halts in the turn says so in a fact; what it then does has the same cause as the fact.
  const halt = events.find((each) => isHalt(each) && each.position <= event.position);
  for (let each: RecordedEvent | undefined = event; each; ) {
    const decided = personIn(each) ?? resolverIn(each) ?? limitIn(each);
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

/** A feedback is resolved by those who were asked, or by a person or the host in their place. */
const resolverIn = ({ type, kind, data, position }: RecordedEvent): DecidedBy | null => {
  if (kind === 'undelivered') return null;
  if (type === 'feedback.resolve') {
    const [by, note] = [textIn(data, 'by') ?? 'host', textIn(data, 'note') ?? null];
    const option = textIn(data, 'resolution') ?? textIn(data['resolution'], 'option') ?? null;
    return { person: by, option, note, position };
  }
  const resolution = resolutionIn(data);
  if (!resolution) return null;
  const { by, isManual, option, note } = resolution;
  return { ...(isManual ? { person: by.join(', ') } : { agents: by }), option, note, position };
};
