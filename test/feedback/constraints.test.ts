import { describe, expect, it } from 'vitest';
import type { FeedbackRequest } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { createGate } from '../support/draft-plan.ts';
import { createTeam, play, reports, rosterPlan } from '../support/roster.ts';
import { open, refusal } from '../support/runtimes.ts';

const WEBSOCKETS = {
  type: 'constraint_violation',
  targets: ['architect', 'pm'],
  severity: 'blocking',
  description: 'The hosting has no WebSockets.',
  requirement: 'REQ-123',
  action: 'another architecture, or another requirement',
  details: { constraint: 'technical_limitation', plan: 'free' },
  options: [
    { option: 'switch_to_polling', impact: 'slower', effort: 'low' },
    { option: 'change_hosting_provider', impact: 'deployment changes', effort: 'high', rerun: ['architect'] },
  ],
} as const;

const chooses = (option: string) => () => ({ option, note: `because of ${option}` });
const BEFORE = ['analyst', 'pm', 'architect', 'ux-expert'];

describe('a constraint that an agent meets with', () => {
  it('B2: the run pauses, the targets decide, the reporting agent goes on with the decision in its input', async () => {
    const { verdict, calls, requests, asked, loops } = await play({
      steps: { developer: reports(1, WEBSOCKETS) },
    });
    expect(verdict).toBe('verified');
    expect(calls.slice(0, 5).toSorted()).toEqual([...BEFORE, 'developer'].toSorted());
    expect(calls.slice(5)).toEqual(['architect?', 'pm?', 'developer', 'qa']);
    // All that was said reaches those who decide, the details and options too.
    expect(asked[0]).toMatchObject({
      ask: 'decide',
      from: 'developer',
      type: 'constraint_violation',
      description: WEBSOCKETS.description,
      requirement: 'REQ-123',
      action: WEBSOCKETS.action,
      details: WEBSOCKETS.details,
      options: WEBSOCKETS.options,
      round: 1,
      nth: 1,
      answers: [],
    });
    expect(requests.at(-2)?.input.decisions).toMatchObject([
      { subject: 'REQ-123', decision: 'switch_to_polling', by: ['architect', 'pm'] },
    ]);
    expect(loops).toMatchObject([
      {
        status: 'resolved',
        state: 'idle',
        source: 'developer',
        targets: ['architect', 'pm'],
        resolution: { option: 'switch_to_polling', isManual: false },
      },
    ]);
  });

  it('B2: while they decide, the run is paused for this reason, and goes on when the decision is made', async () => {
    const file = temporaryFile();
    const gate = createGate();
    const held = () => gate.opened().then(() => undefined);
    const { agents } = createTeam({
      steps: { developer: reports(1, WEBSOCKETS) },
      decides: { architect: held, pm: held },
    });
    const runtime = await open({ file, workflows: [rosterPlan()], agents });
    const run = await runtime.start('product', null, { id: 'r' });
    await expect.poll(() => run.context.get('run.paused')).toBe(true);
    const [loop] = await runtime.feedback.loops('r');
    expect(loop?.state).toBe('waitingResponse');
    expect(await run.context.get('run.pauseReasons')).toEqual([
      expect.stringMatching(/^feedback loop-\d{13}-0001: a decision is needed$/),
    ]);
    // Nobody but the loop takes it back.
    const [reason = ''] = (await run.context.get('run.pauseReasons')) as string[];
    await refusal(run.resume(reason), 'NOT_PAUSABLE');
    gate.open();
    expect((await run.result()).verdict).toBe('verified');
    expect(await run.context.get('run.pauseReasons')).toEqual([]);
  });

  it('B2: an option that says so has steps work again before the reporting agent goes on', async () => {
    const { calls, requests } = await play({
      steps: { developer: reports(1, WEBSOCKETS) },
      decides: {
        architect: chooses('change_hosting_provider'),
        pm: chooses('change_hosting_provider'),
      },
    });
    expect(calls.slice(5)).toEqual(['architect?', 'pm?', 'architect', 'developer', 'qa']);
    expect(requests.at(-3)?.feedback).toMatchObject([
      { from: 'developer', issues: [{ description: WEBSOCKETS.description }] },
    ]);
  });

  it('B2: without options of its own there are four', async () => {
    const { options: _, ...without } = WEBSOCKETS;
    const { asked, calls, debt, verdict } = await play({
      steps: { developer: reports(1, without) },
      decides: { architect: chooses('accept_limitation'), pm: chooses('accept_limitation') },
    });
    expect(asked[0]?.options.map(({ option }) => option)).toEqual([
      'revise_architecture',
      'change_hosting_provider',
      'revise_requirement',
      'accept_limitation',
    ]);
    expect(calls.slice(5)).toEqual(['architect?', 'pm?', 'developer', 'qa']);
    // What stays open is a debt, and no success without a blemish.
    expect(debt).toMatchObject([{ description: WEBSOCKETS.description, status: 'accepted' }]);
    expect(verdict).toBe('accepted');
  });

  it('B2: who does not agree is asked once more with the choice of the other, then a person is', async () => {
    const { verdict, asked, loops, context } = await play({
      steps: { developer: reports(1, WEBSOCKETS) },
      decides: { architect: chooses('change_hosting_provider') },
    });
    expect(verdict).toBeNull();
    expect(asked.map(({ nth }) => nth)).toEqual([1, 1, 2, 2]);
    expect(asked[3]?.answers.map(({ target, option }) => [target, option]).toSorted()).toEqual([
      ['architect', 'change_hosting_provider'],
      ['pm', 'switch_to_polling'],
    ]);
    expect(loops).toMatchObject([
      { status: 'escalated', state: 'escalating', escalationReason: 'the targets do not agree' },
    ]);
    expect(context).toMatchObject({ run: { paused: true } });
  });

  it('B2: they may agree the second time', async () => {
    const follows = ({ answers }: FeedbackRequest) =>
      answers.length === 0 ? { option: 'switch_to_polling' } : { option: 'change_hosting_provider' };
    const { verdict, loops } = await play({
      steps: { developer: reports(1, WEBSOCKETS) },
      decides: { architect: chooses('change_hosting_provider'), pm: follows },
    });
    expect(verdict).toBe('verified');
    expect(loops).toMatchObject([{ resolution: { option: 'change_hosting_provider' } }]);
  });

  it('B2: the first, or a named one, may decide for all', async () => {
    const never = () => new Promise<never>(() => undefined);
    const first = await play({
      steps: { developer: reports(1, { ...WEBSOCKETS, rule: 'first' }) },
      decides: { architect: never, pm: chooses('switch_to_polling') },
    });
    expect(first.loops).toMatchObject([{ status: 'resolved', resolution: { by: ['pm'] } }]);
    const named = await play({
      steps: { developer: reports(1, { ...WEBSOCKETS, rule: { decider: 'architect' } }) },
      decides: { architect: chooses('change_hosting_provider'), pm: never },
    });
    expect(named.loops).toMatchObject([
      { status: 'resolved', resolution: { option: 'change_hosting_provider', by: ['architect'] } },
    ]);
    expect([first.verdict, named.verdict]).toEqual(['verified', 'verified']);
  });

  it.each([
    ['database', 'REQ-045', ['architect'], 'The database is too slow.'],
    ['rate limit', 'REQ-078', ['architect', 'pm'], 'The API allows 10 calls a minute.'],
  ])('B14: %s (%s)', async (_, requirement, targets, description) => {
    const given = { type: 'constraint_violation', severity: 'blocking', targets, requirement, description };
    const { verdict, calls, loops } = await play({
      steps: { developer: reports(1, given as never) },
      decides: { architect: chooses('revise_architecture'), pm: chooses('revise_architecture') },
    });
    expect(verdict).toBe('verified');
    expect(calls.slice(5)).toEqual([
      ...targets.map((target) => `${target}?`),
      'architect',
      'developer',
      'qa',
    ]);
    expect(loops).toMatchObject([{ requirement, description, status: 'resolved' }]);
  });
});
