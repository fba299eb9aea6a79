/** The way is there for a fault of the package itself. */
const QUESTION_FAILS = 'nothing that a person says makes a question fail';
const NOTHING_OPEN = 'a person is asked only when no request is open';
const NO_LOOP = 'needs a feedback loop that goes on while a limit of the run asks: no scene has that';
const TWO_LOOPS = 'needs two feedback loops at once: no scene has them, since states would multiply';
const BESIDE = 'needs a step beside the one whose feedback is escalated: no scene has that';

/** Transitions and states that no scene takes, by machine, each with the reason. A test holds that it is just these. */
export const UNCOVERED: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'lw.agent': { 'agent.asking: question failed': QUESTION_FAILS },
  'lw.fix-verify': { 'fixVerify.asking: question failed': QUESTION_FAILS },
  repeat: { 'repeat.asking: question failed': QUESTION_FAILS },
  tight: { 'tight.asking: question failed': QUESTION_FAILS },
  run: {
    'run: loop.retry': 'a loop that may be tried again has escalated, and the run with it',
    'run: loop.report': TWO_LOOPS,
    'run.paused: loop.report': TWO_LOOPS,
    'run.paused: loop.retry': 'as for the run itself',
    'run.paused: loop.waits': 'needs a person beside agents that decide: no scene has that',
    'run.paused: step.rerun': 'as in the run itself, where it is taken',
    'run.escalated: agent.failed': BESIDE,
    'run.escalated: run.ended': BESIDE,
    'run.escalated: run.waits': BESIDE,
    'run.escalated: step.rerun': BESIDE,
    'run.escalated: loop.apply': TWO_LOOPS,
    'run.escalated: loop.validate': TWO_LOOPS,
    'run.escalated: loop.escalated': TWO_LOOPS,
    'run.escalated: loop.spent': TWO_LOOPS,
    'run.escalated: loop.waits': TWO_LOOPS,
    'run.escalated: loop.report': TWO_LOOPS,
    'run.escalated: feedback.trigger': TWO_LOOPS,
    'run.escalated: after deadline': 'needs more time that was given while feedback is escalated',
    'run.asking: agent.done': NOTHING_OPEN,
    'run.asking: agent.failed': NOTHING_OPEN,
    'run.asking: run.ended': NOTHING_OPEN,
    'run.asking: run.waits': NOTHING_OPEN,
    'run.asking: loop.apply': NO_LOOP,
    'run.asking: loop.validate': NO_LOOP,
    'run.asking: loop.resolved': NO_LOOP,
    'run.asking: loop.escalated': NO_LOOP,
    'run.asking: loop.retry': NO_LOOP,
    'run.asking: loop.spent': NO_LOOP,
    'run.asking: loop.waits': NO_LOOP,
    'run.asking: loop.report': NO_LOOP,
    'run.asking: feedback.trigger': NO_LOOP,
    'run.asking: question failed': QUESTION_FAILS,
  },
  phases: { 'phases.asking: question failed': QUESTION_FAILS },
  'lw.feedback': { 'feedback.escalating.asking: question failed': QUESTION_FAILS },
  tree: {
    'tree.stuck': 'never so unless a rule is wrong: test/proofs/tree.test.ts holds that',
    'tree.stuck: always': 'as for the state',
    'tree.working: always [7]': 'as for the state "stuck"',
    'tree.stalled': 'of a run that is stuck, or of feedback that has no limit against it',
    'tree.stopping: always [1]': 'as for the state "stalled"',
    'tree.paused: tree.bound': 'a paused run lets no node begin, so that nothing is bound to one',
    'tree.asking: agent.done': NOTHING_OPEN,
    'tree.asking: agent.failed': NOTHING_OPEN,
    'tree.asking: tree.judged': NOTHING_OPEN,
    'tree.asking: tree.bound': NOTHING_OPEN,
    'tree.asking: question failed': QUESTION_FAILS,
  },
  'lw.coordinator': {
    'coordinator.coordinating: fix.verifying [1]':
      'needs a plan that changes in the turn in which a fix speaks',
    'coordinator.coordinating: fix.again [1]': 'as for fix.verifying',
    'coordinator.coordinating: fix.asks [1]': 'as for fix.verifying',
    'coordinator.coordinating: fix.ended [1]': 'as for fix.verifying',
  },
  'lw.story': {
    'story.reworking: rework failed': 'a rework is computed when it starts, and does not fail',
    'story.reworked: always [1]': 'a story at its limit is not sent to be reworked',
    'story.asking: story.reset [1]':
      'needs a question about something else than the limit while the count is set back: no scene has that',
    'story.asking: question failed': QUESTION_FAILS,
  },
};
