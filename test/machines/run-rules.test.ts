import { describe, expect, it } from 'vitest';
import type { Json } from '../../src/events/json.ts';
import { NOTHING_SPENT, type Spent } from '../../src/events/usage.ts';
import { NO_BUDGET } from '../../src/machines/agent-work.ts';
import { fixLimits, type GivenLimits } from '../../src/machines/limits.ts';
import { fixPlan, type GivenStep } from '../../src/machines/plan.ts';
import { applyDecision } from '../../src/machines/run-decisions.ts';
import { dispatch } from '../../src/machines/run-dispatch.ts';
import { type Outcome, type RunMessage } from '../../src/machines/run-messages.ts';
import { record } from '../../src/machines/run-rules.ts';
import { openRequests, type RunState, stepOf } from '../../src/machines/run-state.ts';

const begin = (steps: readonly GivenStep[], limits: GivenLimits = {}): Outcome =>
  dispatch({
    task: null,
    plan: fixPlan(steps),
    limits: fixLimits(limits),
    unbounded: null,
    cap: null,
    onLimit: 'ask',
    questionLevels: [],
    onExpiry: 'stop',
    roles: {},
    started: [],
    steps: {},
    issues: {},
    spent: NOTHING_SPENT,
    feedbacks: 0,
    unchanged: 0,
    oscillations: 0,
    allowed: 0,
    pauseReasons: [],
    waiting: [],
    deadlineMs: null,
    halt: null,
    debt: [],
    loops: {},
    rounds: {},
    decidedBy: null,
  });

const ONE_CALL: Spent = { calls: 1, tokens: 0, costUsd: 0 };

/** Answers the request that is open with a role, or fails it, and starts whatever can run then. */
const reply = (
  { state }: Outcome,
  role: string,
  given:
    | { readonly output: Json }
    | { readonly failure: { readonly message: string; readonly code?: string } },
): Outcome => {
  const open = openRequests(state).find((each) => each.role === role);
  if (!open) throw new Error(`Nothing is open with ${role}.`);
  const common = { request: open.request, attempts: 1, spent: ONE_CALL };
  const { state: next } = record(
    state,
    'failure' in given
      ? { type: 'agent.failed', failure: { name: 'Error', ...given.failure }, ...common }
      : { type: 'agent.done', answer: given, ...common },
    open,
  );
  return dispatch(next);
};

const decide = (state: RunState, option: string): Outcome =>
  dispatch(
    applyDecision(state, { outcome: 'answered', option, value: null, note: null, by: 'ann' }, 0).state,
  );

const requestTo = ({ messages }: Outcome, role: string): RunMessage | undefined =>
  messages.find(({ type, to }) => type === 'agent.request' && to === `./agent:${role}`);

const reject = (description: string): { readonly output: Json } => ({
  output: { passed: false, issues: [{ severity: 'critical', category: 'c', description }] },
});
const approve: { readonly output: Json } = { output: { passed: true, issues: [] } };

const PLAN: readonly GivenStep[] = [
  { id: 'write' },
  { id: 'title', needs: ['write'] },
  { id: 'review', needs: ['title', 'write'], gate: { reviewers: ['critic'], corrects: 'write' } },
];

describe('the rules of a run', () => {
  it('X3: a step that only follows may make the same again; one that was corrected may not', () => {
    let run = reply(reply(begin(PLAN), 'write', { output: 1 }), 'title', { output: 'T' });
    run = reply(reply(run, 'critic', reject('a')), 'write', { output: 2 });
    // The title is made again, since the text is another, and it need not be another title.
    run = reply(run, 'title', { output: 'T' });
    expect(run.state).toMatchObject({ halt: null, unchanged: 0 });
    expect(reply(run, 'critic', approve).state.steps['review']?.status).toBe('done');

    run = reply(reply(run, 'critic', reject('b')), 'write', { output: 2 });
    expect(run.state.halt).toMatchObject({
      verdict: 'stalled',
      met: { limit: 'unchanged', bound: 1, used: 1 },
      step: 'write',
    });
  });

  it('X3: an earlier artifact that comes back counts if it is what a correction made', () => {
    let run = reply(reply(begin(PLAN), 'write', { output: 1 }), 'title', { output: 'T' });
    run = reply(reply(reply(run, 'critic', reject('a')), 'write', { output: 2 }), 'title', { output: 'U' });
    run = reply(reply(reply(run, 'critic', reject('b')), 'write', { output: 3 }), 'title', { output: 'T' });
    expect(run.state).toMatchObject({ halt: null, oscillations: 0 });
    run = reply(reply(run, 'critic', reject('c')), 'write', { output: 1 });
    expect(run.state.halt?.met).toMatchObject({ limit: 'oscillations', used: 1 });
  });

  it('X1: a result is in the history once, with the feedback that it was made with, whatever failed since', () => {
    const steps = PLAN.filter(({ id }) => id !== 'title').map((step) => ({
      ...step,
      needs: (step.needs ?? []).filter((need) => need !== 'title'),
    }));
    let run = reply(reply(begin(steps), 'write', { output: 1 }), 'critic', reject('a'));
    run = reply(run, 'write', { failure: { message: 'no' } });
    expect(run.state.halt?.verdict).toBe('failed');
    run = decide(run.state, 'retry');
    expect(requestTo(run, 'write')).toMatchObject({
      request: { id: 'write.3', history: [{ output: 1, feedback: [] }], feedback: [{ from: 'review' }] },
    });
    run = reply(reply(run, 'write', { output: 2 }), 'critic', reject('b'));
    expect(stepOf(run.state, 'write').history).toMatchObject([
      { output: 1, feedback: [] },
      { output: 2, feedback: [{ pass: 1 }] },
    ]);
  });

  it('X3: a correction that failed and was tried again is a correction still', () => {
    const steps = [
      { id: 'write' },
      { id: 'review', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
    ];
    let run = reply(reply(begin(steps), 'write', { output: 1 }), 'critic', reject('a'));
    run = decide(reply(run, 'write', { failure: { message: 'no' } }).state, 'retry');
    expect(reply(run, 'write', { output: 1 }).state.halt?.met?.limit).toBe('unchanged');
  });

  it('a step or a gate whose agent had no budget left ends the run exhausted, not failed', () => {
    const failure = { message: 'used up', code: NO_BUDGET.code ?? '' };
    const alone = reply(begin(PLAN, { calls: 1 }), 'write', { failure });
    expect(alone.state.halt).toMatchObject({
      verdict: 'exhausted',
      met: { limit: 'calls', bound: 1, used: 1 },
    });

    const steps = [
      { id: 'write' },
      { id: 'review', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
    ];
    const gate = reply(reply(begin(steps, { calls: 2 }), 'write', { output: 1 }), 'critic', { failure });
    expect(gate.state.halt).toMatchObject({ verdict: 'exhausted', met: { limit: 'calls' }, step: 'review' });
    // Control: any other failure is one.
    const other = reply(reply(begin(steps), 'write', { output: 1 }), 'critic', {
      failure: { message: 'no' },
    });
    expect(other.state.halt).toMatchObject({ verdict: 'failed', met: null });
  });
});
