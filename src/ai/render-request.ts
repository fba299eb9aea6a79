import { type AgentRequest, inputInWords, type Json } from '../index.ts';

/** So much of earlier results is told, the latest first to be kept: the task must not drown in them. */
const HISTORY_SHOWN = 5;
const HISTORY_LENGTH_MAX = 20_000;

/**
 * A request as a text for a model: what it is to do, the input, what was said about earlier work, what was done before, and why its
 * last attempt could not be used.
 */
export const renderRequest = (request: AgentRequest<unknown>, instruction = ''): string => {
  const { input, feedback, history, context, failure } = request;
  return [
    instruction,
    section('Input', isNothing(input) ? '' : inputInWords(input as Json)), // Machines send JSON.
    section('Context', context === null ? '' : asText(context)),
    section('What was done on this before, oldest first', listed(lastOf(history))),
    section('What was said about it: deal with all of this', listed(feedback)),
    section('Your last attempt could not be used. What was wrong', failure ?? ''),
  ]
    .filter((part) => part !== '')
    .join('\n\n');
};

const isNothing = (input: unknown): boolean => input === null || input === undefined;

const section = (title: string, text: string): string => (text.trim() === '' ? '' : `## ${title}\n\n${text}`);

const asText = (value: Json): string => (typeof value === 'string' ? value : JSON.stringify(value, null, 2));

const listed = (items: readonly Json[]): string =>
  items.map((item, index) => `${index + 1}. ${asText(item)}`).join('\n\n');

const lastOf = (history: readonly Json[]): readonly Json[] => {
  const kept: Json[] = [];
  let length = 0;
  for (const item of history.slice(-HISTORY_SHOWN).toReversed()) {
    length += asText(item).length;
    if (length > HISTORY_LENGTH_MAX) break;
    kept.unshift(item);
  }
  return kept;
};
