import { isBlobRef, largeInWords } from '../events/blob.ts';
import { canonicalJson } from '../events/encode.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { TYPE } from '../events/vocabulary.ts';
import { metIn } from './met-limits.ts';
import type { PastTurn } from './past-turns.ts';

const TEXT_LENGTH_MAX = 200;

/** A value as a short text, whatever it is. */
export const short = (value: unknown, lengthMax = TEXT_LENGTH_MAX): string => {
  const text = typeof value === 'string' ? value : textOf(value);
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1).toWellFormed()}…`;
};

const textOf = (value: unknown): string => {
  if (value === undefined) return 'nothing';
  // What is shown here came from rows and contexts.
  return isBlobRef(value) ? largeInWords(value) : JSON.stringify(value);
};

/** An actor as people know it: an agent by its role, a run by its id, anything else by its address. */
export const nameOf = (address: Address): string => {
  const last = address.slice(address.lastIndexOf('/') + 1).replace(/~\d+$/, '');
  if (!address.includes('/')) return `run ${address}`;
  return last.startsWith('agent:') ? `agent ${last.slice('agent:'.length)}` : address;
};

/** Who did what a row says: a person, an agent, a timer, the host; within a turn, the actor that sent or stated it. */
export const whoDid = (event: RecordedEvent, { by, origin, events }: PastTurn): string => {
  const said = event.data['by'];
  if (typeof said === 'string' && said !== '') return said;
  if (event.from !== null) return nameOf(event.from);
  if (event.position !== events[0]?.position) return nameOf(event.actor);
  if (by !== null) return by;
  return origin === 'agent' ? nameOf(event.actor) : origin;
};

const text = (data: JsonObject, key: string): string => short(data[key]);
const textIn = (value: Json | undefined, key: string): string | undefined =>
  isJsonObject(value) && typeof value[key] === 'string' ? value[key] : undefined;
const count = (value: Json | undefined): number => (Array.isArray(value) ? value.length : 0);

/** What happened, for the types that the package knows; others are told by their type. */
const WORDS: Readonly<Record<string, (event: RecordedEvent) => string>> = {
  [TYPE.started]: ({ machine, data }) => `started as ${machine}${data['parent'] === null ? ' (a run)' : ''}`,
  [TYPE.callDone]: ({ data }) => `answered the call "${text(data, 'call')}"`,
  [TYPE.callFailed]: ({ data }) => `failed in the call "${text(data, 'call')}"`,
  [TYPE.callBegun]: () => 'began to work',
  [TYPE.timerFired]: ({ data }) => `the timer "${text(data, 'timer')}" fired`,
  [TYPE.childDone]: ({ data }) => `its child "${text(data, 'child')}" is done`,
  [TYPE.childFailed]: ({ data }) => `its child "${text(data, 'child')}" failed`,
  [TYPE.failed]: () => 'failed',
  [TYPE.stopped]: () => 'was stopped',
  [TYPE.migrated]: ({ data }) => `went on under version ${text(data, 'to')} of its machine`,
  [TYPE.runEnded]: ({ data }) => `ended ${text(data, 'verdict')}`,
  'agent.request': ({ data }) => `asked for "${textIn(data['request'], 'id') ?? 'work'}"`,
  'agent.done': ({ data }) => `delivered "${text(data, 'request')}"`,
  'agent.failed': ({ data }) => `gave up on "${text(data, 'request')}"`,
  'gate.passed': ({ data }) => `the gate "${text(data, 'gate')}" let pass ${text(data, 'pass')} through`,
  'gate.rejected': ({ data }) =>
    `the gate "${text(data, 'gate')}" rejected pass ${text(data, 'pass')}: ${count(data['issues'])} issues`,
  'feedback.sent': ({ data }) =>
    data['loop'] === undefined
      ? `sent feedback to "${text(data, 'step')}": ${count(data['issues'])} issues, from "${text(data, 'from')}"`
      : `sent the feedback of ${text(data, 'source')} to ${short(data['targets'])} (${text(data, 'feedbackType')})`,
  'feedback.opened': ({ data }) =>
    `round ${text(data, 'round')} of the feedback of ${text(data, 'source')} began`,
  'feedback.acknowledged': ({ data }) => `${text(data, 'target')} has taken the feedback up`,
  'feedback.answered': ({ data }) => `${text(data, 'target')} answered ${chosen(data)}`,
  'feedback.fixed': ({ data }) => `${text(data, 'target')} has worked again`,
  'feedback.disagreed': () => 'the targets did not agree, and were asked again',
  'feedback.decided': ({ data }) => `decided ${resolved(data)}`,
  'feedback.validated': ({ data }) => `the resolution ${data['passed'] === true ? 'holds' : 'does not hold'}`,
  'feedback.resolved': ({ data }) => `the feedback was resolved: ${resolved(data)}`,
  'feedback.escalated': ({ data }) => `the feedback was escalated: ${text(data, 'reason')}`,
  'feedback.refused': ({ data }) => `a feedback was refused: ${short(data['problems'])}`,
  'feedback.joined': ({ data }) => `${text(data, 'source')} said again what is under way`,
  'step.corrected': ({ data }) =>
    `the step "${text(data, 'step')}" works again, because of ${text(data, 'from')}`,
  'check.passed': ({ data }) => `the check "${text(data, 'check')}" passed`,
  'check.failed': ({ data }) => `the check "${text(data, 'check')}" failed`,
  'step.rerun': ({ data }) => `asked to run "${text(data, 'step')}" again`,
  'step.done': ({ data }) => `the step "${text(data, 'step')}" is done (${text(data, 'fate')})`,
  'step.failed': ({ data }) => `the step "${text(data, 'step')}" failed`,
  'issue.reject': ({ data }) => `threw out the issue ${text(data, 'fingerprint')}`,
  'question.opened': ({ data }) => `asked: ${text(data, 'text')}`,
  'question.answer': ({ data }) => `answered ${chosen(data)}`,
  'question.closed': ({ data }) =>
    `the question was closed: ${textIn(data['output'], 'outcome') ?? 'nobody waits'}`,
  'run.paused': ({ data }) => `paused: ${short(data['reasons'])}`,
  'run.resumed': ({ data }) => `resumed: ${short(data['reasons'])} left`,
  'loop.pass': ({ data }) => `pass ${text(data, 'number')} ended: ${text(data, 'status')}`,
  'context.set': ({ data }) => `set ${short(data['path'])}`,
  'context.update': ({ data }) => `updated ${short(data['path'])}`,
  'context.push': ({ data }) => `added to ${short(data['path'])}`,
};

const chosen = ({ option, value }: JsonObject): string =>
  option === null || option === undefined ? short(value) : `"${short(option)}"`;

const resolved = ({ resolution }: JsonObject): string => {
  const given: JsonObject = isJsonObject(resolution) ? resolution : {};
  return given['option'] === null && given['value'] === null ? 'by a fix' : chosen(given);
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
  const words = Object.hasOwn(WORDS, type) ? WORDS[type] : undefined;
  if (words) return words(event);
  return type.endsWith('.decided') ? `decided ${chosen(data)}` : type;
};

const ISSUES_SHOWN = 3;

/** Why it happened, as far as whoever did it said so. */
export const whyOf = ({ data }: RecordedEvent): string | null => {
  const { reason, note, halt, failure, error, output, issues, message } = data;
  const said = [
    typeof note === 'string' ? note : undefined,
    typeof reason === 'string' ? reason : undefined,
    textIn(halt, 'reason'),
    textIn(failure, 'message'),
    textIn(error, 'message'),
    textIn(output, 'note'),
    typeof message === 'string' ? message : undefined,
    issuesOf(issues ?? data['review'] ?? data['test']),
    typeof data['description'] === 'string' ? data['description'] : undefined,
  ];
  const found = said.find((each) => each !== undefined && each !== '');
  return found === undefined ? null : short(found);
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
