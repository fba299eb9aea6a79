import type { RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { TYPE } from '../events/vocabulary.ts';
import { short, textIn } from './short.ts';

type Words = Readonly<Record<string, (event: RecordedEvent) => string>>;

const text = (data: JsonObject, key: string): string => short(data[key]);
const count = (value: Json | undefined): number => (Array.isArray(value) ? value.length : 0);
const list = (value: Json | undefined): string =>
  Array.isArray(value) ? value.map((each) => short(each)).join(', ') : short(value);

/** What was chosen: an option, or a value in place of one. */
export const chosen = ({ option, value }: JsonObject): string =>
  option === null || option === undefined ? short(value) : `"${short(option)}"`;

const resolved = ({ resolution }: JsonObject): string => {
  if (resolution !== undefined && !isJsonObject(resolution)) return short(resolution);
  const { option = null, value = null } = resolution ?? {};
  return option === null && value === null ? 'by a fix' : chosen({ option, value });
};

const OF_THE_KERNEL: Words = {
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
  'agent.cancel': ({ data }) => `took "${text(data, 'request')}" back`,
  'agent.pause': () => 'had the agent take up nothing new',
  'agent.resume': () => 'let the agent go on',
  'question.opened': ({ data }) => `asked: ${text(data, 'text')}`,
  'question.answer': ({ data }) => `answered ${chosen(data)}`,
  'question.closed': ({ data }) =>
    `the question was closed: ${textIn(data['output'], 'outcome') ?? 'nobody waits'}`,
  'context.set': ({ data }) => `set ${short(data['path'])}`,
  'context.update': ({ data }) => `updated ${short(data['path'])}`,
  'context.push': ({ data }) => `added to ${short(data['path'])}`,
  'context.get': ({ data }) => `asked for ${list(data['paths'])} of the shared context`,
  'context.values': () => 'was given what it asked for of the shared context',
};

const OF_PLANS: Words = {
  'run.limits': ({ data }) => `works within its limits: ${limits(data)}`,
  'run.pause': ({ data }) => `asked to pause: ${text(data, 'reason')}`,
  'run.resume': ({ data }) => `asked to go on after "${text(data, 'reason')}"`,
  'run.paused': ({ data }) => `paused: ${short(data['reasons'])}`,
  'run.resumed': ({ data }) => `resumed: ${short(data['reasons'])} left`,
  'run.waits': ({ data }) => (data['waits'] === true ? 'waits for a person' : 'waits for a person no longer'),
  'run.cancel': () => 'told the nested run to end, since time is up',
  'run.ended': ({ data }) => `the nested run ended ${textIn(data['output'], 'verdict') ?? ''}`,
  'gate.passed': ({ data }) => `the gate "${text(data, 'gate')}" let pass ${text(data, 'pass')} through`,
  'gate.rejected': ({ data }) =>
    `the gate "${text(data, 'gate')}" rejected pass ${text(data, 'pass')}: ${count(data['issues'])} issues`,
  'step.corrected': ({ data }) =>
    `the step "${text(data, 'step')}" works again, because of ${text(data, 'from')}`,
  'check.passed': ({ data }) => `the check "${text(data, 'check')}" passed`,
  'check.failed': ({ data }) => `the check "${text(data, 'check')}" failed`,
  'step.rerun': ({ data }) => `asked to run "${text(data, 'step')}" again`,
  'step.done': ({ data }) => `the step "${text(data, 'step')}" is done (${text(data, 'fate')})`,
  'step.failed': ({ data }) => `the step "${text(data, 'step')}" failed`,
  'issue.reject': ({ data }) => `threw out the issue ${text(data, 'fingerprint')}`,
  'loop.started': ({ data }) => `began, with at most ${text(data, 'passesMax')} passes`,
  'loop.implemented': ({ data }) =>
    `pass ${text(data, 'pass')} was implemented: ${text(data, 'implementation')}`,
  'loop.pass': ({ data }) => `pass ${text(data, 'number')} ended: ${text(data, 'status')}`,
  'loop.status': ({ data }) => `is ${text(data, 'status')}`,
};

const OF_FEEDBACK: Words = {
  'feedback.trigger': ({ data }) => `gave feedback for ${text(data, 'source')}`,
  'feedback.sent': ({ data }) =>
    data['loop'] === undefined
      ? `sent feedback to "${text(data, 'step')}": ${count(data['issues'])} issues, from "${text(data, 'from')}"`
      : `sent the feedback of ${text(data, 'source')} to ${short(data['targets'])} (${text(data, 'feedbackType')})`,
  'feedback.triggered': ({ data }) =>
    data['met'] == null ? 'began a round of the feedback' : 'gave the feedback up at a limit',
  'feedback.opened': ({ data }) =>
    `round ${text(data, 'round')} of the feedback of ${text(data, 'source')} began`,
  'feedback.acknowledged': ({ data }) => `${text(data, 'target')} has taken the feedback up`,
  'response.received': ({ data }) => `${text(data, 'target')} has taken the feedback up`,
  'feedback.answered': ({ data }) => `${text(data, 'target')} answered ${chosen(data)}`,
  'feedback.fixed': ({ data }) => `${text(data, 'target')} has worked again`,
  'fix.done': ({ data }) => `${text(data, 'target')} has worked again`,
  'feedback.disagreed': () => 'the targets did not agree, and were asked again',
  'feedback.decided': ({ data }) => `decided ${resolved(data)}`,
  'feedback.resolve': ({ data }) => `resolved the feedback by hand: ${resolved(data)}`,
  'feedback.escalate': () => 'put the feedback before a person',
  'feedback.validated': ({ data }) => `the resolution ${data['passed'] === true ? 'holds' : 'does not hold'}`,
  'feedback.resolved': ({ data }) => `the feedback was resolved: ${resolved(data)}`,
  'feedback.escalated': ({ data }) => `the feedback was escalated: ${text(data, 'reason')}`,
  'feedback.refused': ({ data }) => `a feedback was refused: ${short(data['problems'] ?? data['faults'])}`,
  'feedback.joined': ({ data }) => `${text(data, 'source')} said again what is under way`,
  'loop.apply': ({ data }) => `asked to apply what was decided: ${resolved(data)}`,
  'resolution.complete': () => 'what was decided is applied',
  'resolution.failed': () => 'what was decided could not be applied',
  'loop.validate': ({ data }) => `asked whether the resolution holds: ${resolved(data)}`,
  'validation.passed': () => 'the resolution holds',
  'validation.failed': () => 'the resolution does not hold',
  'loop.resolved': ({ data }) => `told that the feedback is resolved: ${resolved(data)}`,
  'loop.escalated': ({ data }) => `told that the feedback is escalated: ${text(data, 'reason')}`,
  'loop.spent': ({ data }) => `told what the answer cost: ${short(data['spent'])}`,
  'loop.waits': ({ data }) =>
    data['waits'] === true ? 'waits for persons alone' : 'waits for persons alone no longer',
  'loop.report': ({ data }) => `${text(data, 'source')} has found out something itself`,
  'loop.retry': () => 'a person wants the feedback tried again',
  'loop.over': () => 'gave up: nobody decided, or somebody ended the run',
  'loop.idle': () => 'has nothing more to do',
  'loop.pause': () => 'had the loop wait',
  'loop.resume': () => 'let the loop go on',
  'workflow.complete': () => 'told that all the work is done',
};

const OF_STORIES: Words = {
  'stories.started': ({ data }) => `began with ${count(data['stories'])} stories, mode ${text(data, 'mode')}`,
  'stories.granted': ({ data }) => `chose "${text(data, 'action')}" of the story "${text(data, 'story')}"`,
  'stories.mode': ({ data }) => `set the mode to ${text(data, 'mode')}`,
  'stories.next': () => 'asked for the next action',
  'stories.stopping': ({ data }) => `stops, because of the story "${text(data, 'story')}"`,
  'story.opened': ({ data }) => `opened the story "${text(data, 'title')}"`,
  'story.act': ({ data }) => `asked for "${text(data, 'action')}"`,
  'story.card': ({ data }) => `told how far the story is: ${textIn(data['card'], 'stage') ?? 'it has moved'}`,
  'story.called': ({ data }) => `called ${text(data, 'role')} for "${text(data, 'phase')}"`,
  'story.phase': ({ data }) => `"${text(data, 'phase')}" of the story is complete`,
  'story.status': ({ data }) => `the story is ${text(data, 'status')}`,
  'story.reviewed': ({ data }) =>
    `the review ${text(data, 'decision')} it: ${count(data['issues'])} issues, ${text(data, 'summary')}`,
  'story.unreviewed': ({ data }) =>
    `${text(data, 'reviewer')} could not review, ${text(data, 'times')} times`,
  'story.reworked': ({ data }) =>
    `goes back to "${text(data, 'target')}" for refinement ${text(data, 'iteration')}`,
  'story.limit': ({ data }) =>
    `no more than ${text(data, 'max')} refinements; what then: ${text(data, 'policy')}`,
  'story.reset': ({ kind }) =>
    kind === 'fact' ? 'the refinements of the story are counted from 0' : 'asked to count refinements from 0',
  'story.ended': ({ data }) => `the story ended ${text(data, 'verdict')}`,
  'story.read': ({ data }) => `read "${text(data, 'title')}" from its file`,
  'story.imported': () => 'took over how far the file says that the story is',
  'story.intended': () => 'is about to write its file',
  'story.written': () => 'wrote its file',
  'story.unwritten': () => 'could not write its file',
  'story.busy': ({ data }) => `its file was changed by others, ${text(data, 'tries')} times in a row`,
  'story.conflict': () => 'its file was changed where only the runtime writes',
  'rework.begun': ({ data }) =>
    `refinement ${text(data, 'iteration')} of ${text(data, 'max')} began: back to "${text(data, 'target')}"`,
  'rework.recorded': ({ data }) => `wrote the refinement of "${text(data, 'story')}" down`,
  'rework.noted': ({ data }) => `added what the review said of pass ${text(data, 'iteration')} to the story`,
  'rework.reset': ({ data }) => `set "${text(data, 'flag')}" back`,
  'rework.refused': ({ data }) =>
    `refused a refinement: ${text(data, 'refinements')} of ${text(data, 'max')} were made`,
};

const OF_PHASES: Words = {
  'pipeline.started': ({ data }) => `began with ${count(data['phases'])} phases`,
  'phase.begun': ({ data }) => `run ${text(data, 'run')} of the phase "${text(data, 'phase')}" began`,
  'phase.ended': ({ data }) => `run ${text(data, 'run')} of the phase "${text(data, 'phase')}" ended`,
  'phase.done': ({ data }) => `the phase "${text(data, 'phase')}" is done (${text(data, 'fate')})`,
  'phase.same': ({ data }) =>
    `the phase "${text(data, 'phase')}" made the same again (${text(data, 'fate')})`,
  'phase.failed': ({ data }) => `the phase "${text(data, 'phase')}" failed`,
  'phase.withdrawn': ({ data }) => `the work of the phase "${text(data, 'phase')}" was taken back`,
  'review.reported': ({ data }) =>
    `"${text(data, 'phase')}" reported on pass ${text(data, 'pass')}: ${text(data, 'assessment')}`,
  'correction.opened': ({ data }) =>
    `the correction ${text(data, 'id')} began: ${count(data['defects'])} defects, found in "${text(data, 'detected')}"`,
  'correction.routed': ({ data }) => `the correction ${text(data, 'id')} goes to ${list(data['phases'])}`,
  'correction.closed': ({ data }) => `the correction ${text(data, 'id')} ended: ${text(data, 'outcome')}`,
  'correction.alert': ({ data }) =>
    `more is corrected than it should be: ${text(data, 'rate')}, above ${text(data, 'above')}`,
  'issue.reclassify': ({ data }) => `said that an issue is of ${list(data['phases'])}`,
  'issue.reclassified': ({ data }) =>
    `the issue ${text(data, 'issue')} is of ${list(data['phases'])}, not of ${list(data['from'])}`,
};

const OF_TREES: Words = {
  'tree.planned': ({ data }) =>
    `planned: ${count(data['added'])} nodes added, ${count(data['removed'])} removed, ${count(data['changed'])} changed`,
  'tree.set': () => 'told which nodes there are now',
  'tree.judged': ({ data }) =>
    count(data['faults']) === 0
      ? `took the feedback of "${text(data, 'node')}": ${list(data['ids'])}`
      : `refused the feedback of "${text(data, 'node')}": ${list(data['faults'])}`,
  'tree.bound': ({ data }) =>
    `gave the execution ${text(data, 'execution')} the feedback that waited for it: ${count(data['items'])}`,
  'tree.moved': ({ data }) => `the feedback ${text(data, 'id')} is ${text(data, 'stage')}`,
  'node.done': ({ data }) =>
    `run ${text(data, 'run')} of "${text(data, 'node')}" is done${data['isChanged'] === true ? '' : ', with nothing new'}`,
  'node.waits': ({ data }) => `"${text(data, 'node')}" waits for its feedback ${list(data['feedback'])}`,
  'node.failed': ({ data }) => `"${text(data, 'node')}" failed`,
  'node.refused': ({ data }) => `what "${text(data, 'node')}" reported was refused: ${list(data['faults'])}`,
  'node.decided': ({ data }) => `"${text(data, 'node')}" took the branch "${text(data, 'branch')}"`,
  'node.ended': ({ data }) => (data['ok'] === true ? 'an execution ended well' : 'an execution ended badly'),
  'loop.repeated': ({ data }) =>
    `repeat ${text(data, 'repeat')} of "${text(data, 'node')}" ${data['failed'] === true ? 'failed' : 'is done'}`,
  'feedback.submit': ({ data }) => `reported ${count(data['items'])} feedbacks of "${text(data, 'node')}"`,
  'feedback.take': ({ data }) => `asked for what waits for "${text(data, 'node')}"`,
  'feedback.queued': ({ data }) => `${feedback(data)} waits for its target`,
  'feedback.lastRound': ({ data }) => `${feedback(data)} is in the last round that it may have`,
  'feedback.delivered': ({ data }) => `${feedback(data)} was delivered`,
  'feedback.granted': ({ data }) =>
    `the feedback ${text(data, 'id')} may have ${text(data, 'rounds')} more rounds`,
  'feedback.failed': ({ data }) => `${feedback(data)} was not resolved: ${text(data, 'outcome')}`,
  'feedback.imported': () => 'took over a feedback of an earlier run',
  'fix.delivered': () => 'the feedback was delivered',
  'fix.fixed': () => 'its target has worked again',
  'fix.unfixed': () => 'its target did not mend it',
  'fix.verifying': ({ data }) => `asked for the fix of ${text(data, 'id')} to be verified`,
  'fix.verified': () => 'the fix holds',
  'fix.unverified': () => 'the fix does not hold',
  'fix.again': ({ data }) => `the feedback ${text(data, 'id')} is to be tried again`,
  'fix.asks': ({ data }) => `a person is asked about the feedback ${text(data, 'id')}`,
  'fix.ended': ({ data }) => `the feedback ${text(data, 'id')} ended: ${text(data, 'outcome')}`,
};

const feedback = (data: JsonObject): string =>
  `the feedback ${text(data, 'id')} of "${text(data, 'source')}" to "${text(data, 'target')}"`;

const limits = ({ limits: given }: JsonObject): string =>
  isJsonObject(given)
    ? Object.entries(given)
        .filter(([, bound]) => bound !== null)
        .map(([name, bound]) => `${name} ${short(bound)}`)
        .join(', ')
    : 'none';

/** What happened, for the types that the package knows; others are told by their type. */
export const WORDS: Words = {
  ...OF_THE_KERNEL,
  ...OF_PLANS,
  ...OF_FEEDBACK,
  ...OF_STORIES,
  ...OF_PHASES,
  ...OF_TREES,
};
