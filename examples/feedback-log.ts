import type { RecordedEvent, Runtime } from 'loopwright';

/** The rows of the log that tell the story of a run's feedback: who did what, and because of what. */
export const feedbackLog = async (runtime: Runtime, run: string): Promise<readonly string[]> => {
  const rows = await runtime.audit({ run, limit: 10_000 });
  const byPosition = new Map(rows.map((row) => [row.position, row]));
  return rows
    .filter(({ kind, type }) => kind === 'fact' && (type.startsWith('feedback.') || type.startsWith('step.')))
    .map((row) => {
      const cause = row.cause === null ? undefined : byPosition.get(row.cause);
      return `${whoIn(row)}: ${row.type}${whatIn(row)} (because of ${cause ? causeIn(cause) : 'the start'})`;
    });
};

/** A message, and who sent it. */
const causeIn = ({ type, from }: RecordedEvent): string => {
  const sender = from?.split('/').at(-1);
  return sender?.startsWith('agent:') ? `${type} from ${sender.slice('agent:'.length)}` : type;
};

const whoIn = ({ actor, data }: RecordedEvent): string => {
  const { target, source } = data;
  if (typeof target === 'string') return target;
  if (typeof source === 'string') return source;
  return actor.includes('/') ? 'loop' : 'run';
};

const whatIn = ({ data }: RecordedEvent): string => {
  const { step, option, resolution, reason, round } = data;
  const chosen = (resolution as { option?: string | null } | undefined)?.option;
  const details = [step, option, chosen, reason, typeof round === 'number' ? `round ${round}` : undefined];
  const told = details.filter((detail) => typeof detail === 'string');
  return told.length === 0 ? '' : ` ${told.join(', ')}`;
};
