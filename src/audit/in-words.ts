import { canonicalJson } from '../events/encode.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { ORCHESTRATOR } from '../machines/fix-feedback.ts';
import { metIn } from './met-limits.ts';
import type { PastTurn } from './past-turns.ts';
import { short, textIn, textsIn } from './short.ts';
import { chosen, WORDS } from './words.ts';

export { short } from './short.ts';

/** An actor as people know it: an agent by its role, a run by its id, anything else by its address. */
export const nameOf = (address: Address): string => {
  const last = address.slice(address.lastIndexOf('/') + 1).replace(/~\d+$/, '');
  if (!address.includes('/')) return `run ${address}`;
  return last.startsWith('agent:') ? `agent ${last.slice('agent:'.length)}` : address;
};

/** Facts that one actor states of what another did: where they say who that was. */
const SPEAKERS: Readonly<Record<string, 'source' | 'target'>> = {
  'feedback.sent': 'source',
  'feedback.opened': 'source',
  'feedback.joined': 'source',
  'feedback.refused': 'source',
  'feedback.queued': 'source',
  'feedback.acknowledged': 'target',
  'feedback.answered': 'target',
  'feedback.fixed': 'target',
};

/** Who did what a row says: a person, an agent, a timer, the host; within a turn, the actor that sent or stated it. */
export const whoDid = (event: RecordedEvent, { by, origin, events }: PastTurn): string => {
  const said = event.data['by'];
  if (typeof said === 'string' && said !== '') return said;
  const speaker = speakerIn(event);
  // A target may be a person, who is asked in the agent's place.
  if (speaker !== undefined) return event.type === 'feedback.answered' && by !== null ? by : speaker;
  if (event.from !== null) return nameOf(event.from);
  if (event.position !== events[0]?.position) return nameOf(event.actor);
  if (by !== null) return by;
  return origin === 'agent' ? nameOf(event.actor) : origin;
};

const speakerIn = ({ kind, type, data }: RecordedEvent): string | undefined => {
  if (kind !== 'fact') return undefined;
  const resolution = resolutionIn(data);
  if (resolution) return resolution.by.map((each) => (resolution.isManual ? each : role(each))).join(', ');
  const key = Object.hasOwn(SPEAKERS, type) ? SPEAKERS[type] : undefined;
  const speaker = key && data[key];
  if (typeof speaker === 'string') return role(speaker);
  // A gate sends back what its reviewers found.
  return type === 'feedback.sent' && typeof data['from'] === 'string' ? `step ${data['from']}` : undefined;
};

/** Checks are worked by no agent. */
const role = (name: string): string => (name === ORCHESTRATOR ? name : `agent ${name}`);

/** Who resolved a feedback, and how. */
export interface ResolutionSaid {
  readonly by: readonly string[];
  /** Whether a person did, or the host, in place of the targets. */
  readonly isManual: boolean;
  readonly option: string | null;
  readonly note: string | null;
}

/** The resolution that a feedback loop states, or tells its run of; undefined if nobody is named as its author. */
export const resolutionIn = ({ resolution }: JsonObject): ResolutionSaid | undefined => {
  if (!isJsonObject(resolution)) return undefined;
  const by = textsIn(resolution['by']);
  if (by.length === 0) return undefined;
  return {
    by,
    isManual: resolution['isManual'] === true,
    option: textIn(resolution, 'option') ?? null,
    note: textIn(resolution, 'note') ?? null,
  };
};

/** What a row says, in a few words. */
export const whatHappened = (event: RecordedEvent): string => {
  const { kind, type, data } = event;
  if (kind === 'undelivered')
    return `"${type}" for ${nameOf(textIn(data, 'to') ?? event.actor)} was not taken`;
  if (kind === 'late') return 'answered too late';
  const met = metIn(event);
  if (met && type.endsWith('.halted'))
    return `halted: the limit "${met.limit}" of ${met.bound} was met with ${met.used}`;
  if (type.endsWith('.halted')) return 'halted';
  const words = Object.hasOwn(WORDS, type) ? WORDS[type] : undefined;
  if (words) return words(event);
  return type.endsWith('.decided') ? `decided ${chosen(data)}` : type;
};

const ISSUES_SHOWN = 3;

/** Why it happened, as far as whoever did it said so: in the row, or in one that the same turn wrote for it. */
export const whyOf = (event: RecordedEvent, turn?: PastTurn): string | null => {
  const { data } = event;
  const { reason, note, halt, failure, error, output, issues, message, resolution, item } = data;
  const said = [
    typeof note === 'string' ? note : undefined,
    typeof reason === 'string' ? reason : undefined,
    textIn(halt, 'reason'),
    textIn(failure, 'message'),
    textIn(error, 'message'),
    textIn(output, 'note'),
    textIn(resolution, 'note'),
    typeof message === 'string' ? message : undefined,
    textIn(data, 'problem'),
    issuesOf(issues ?? data['review'] ?? data['test'] ?? data['defects']),
    textIn(data, 'description'),
    textIn(data['feedback'], 'description'),
    textIn(item, 'message'),
    textIn(data, 'summary'),
    textIn(data['record'], 'reviewFeedback'),
    descriptionIn(event, turn),
  ];
  const found = said.find((each) => each !== undefined && each !== '');
  return found === undefined ? null : short(found);
};

/** A run that sends a feedback only names its loop, which was told the words in the same turn. */
const descriptionIn = ({ type, data }: RecordedEvent, turn: PastTurn | undefined): string | undefined => {
  if (type !== 'feedback.sent') return undefined;
  const opened = turn?.events.find((each) => each.type === 'feedback.opened' && each.actor === data['loop']);
  return textIn(opened?.data['feedback'], 'description');
};

const issuesOf = (given: Json | undefined): string | undefined => {
  const issues = isJsonObject(given) ? given['issues'] : given;
  if (!Array.isArray(issues) || issues.length === 0) return undefined;
  const all: readonly Json[] = issues;
  const shown = all
    .slice(0, ISSUES_SHOWN)
    .map((issue) => textIn(issue, 'description') ?? canonicalJson(issue));
  return `${shown.join('; ')}${all.length > ISSUES_SHOWN ? ` and ${all.length - ISSUES_SHOWN} more` : ''}`;
};
