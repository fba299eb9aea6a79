import { describe, expect, it } from 'vitest';
import {
  type AgentRequest,
  type AuditEntry,
  type AuditFilter,
  answer,
  createRuntime,
  type GivenFeedback,
  isFeedbackRequest,
  planRun,
  type Runtime,
  type StepInput,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { approveNth, draftPlan, writeNew } from '../support/draft-plan.ts';
import { open } from '../support/runtimes.ts';

type Request = AgentRequest<StepInput>;

const plan = planRun('product', {
  steps: [
    { id: 'requirements', agent: 'pm' },
    { id: 'design', agent: 'architect', needs: ['requirements'] },
    { id: 'code', agent: 'developer', needs: ['design'] },
  ],
});

const CONSTRAINT: GivenFeedback = {
  type: 'constraint_violation',
  targets: ['architect', 'pm'],
  severity: 'blocking',
  requirement: 'REQ-123',
  description: 'The hosting has no WebSockets.',
  options: [{ option: 'use_polling', effort: 'low' }, { option: 'switch_hosting' }],
};

const INCONSISTENCY: GivenFeedback = {
  type: 'inconsistency',
  targets: ['architect', 'pm'],
  severity: 'high',
  requirement: 'REQ-7',
  description: 'Two breakpoints.',
};

interface Scene {
  readonly feedback: GivenFeedback;
  readonly decides: (role: string) => unknown;
  /** What a person does once the run waits, or is settled. */
  readonly acts?: (runtime: Runtime) => Promise<void>;
}

/** Plays a run in which the developer finds something out, and gives the audit that a second runtime reads from the log. */
const play = async ({ feedback, decides, acts }: Scene) => {
  const file = temporaryFile();
  const works =
    (role: string) =>
    ({ input }: Request) =>
      isFeedbackRequest(input) ? decides(role) : { by: role, with: input.decisions ?? null };
  const agents = {
    pm: works('pm'),
    architect: works('architect'),
    developer: (request: Request) =>
      request.input.decisions || request.feedback.length > 0
        ? works('developer')(request)
        : answer(null, { feedback: [feedback] }),
  };
  const runtime = await createRuntime({ file, workflows: [plan], agents, printEscalations: false });
  const run = await runtime.start('product', 'an editor', { id: 'r' });
  await run.settled();
  await acts?.(runtime);
  await run.result();
  await runtime.close();
  const second = await open({ file, workflows: [plan], agents, idle: true });
  const audit = async (filter: AuditFilter) => (await second.auditOf(filter)).entries;
  const entries = await audit({ run: 'r' });
  const [loop] = await second.feedback.loops('r');
  return { audit, entries, loop: loop?.id ?? '' };
};

const all = (entries: readonly AuditEntry[], type: string): readonly AuditEntry[] =>
  entries.filter((entry) => entry.type === type);

const only = (entries: readonly AuditEntry[], type: string): AuditEntry => {
  const [found, ...others] = all(entries, type);
  if (!found || others.length > 0)
    throw new Error(`There are ${others.length + (found ? 1 : 0)} of ${type}.`);
  return found;
};

const changesOf = ({ changed }: AuditEntry, actor: string) =>
  changed.following.filter((each) => each.actor === actor);

describe('B15: the audit of feedback between agents', () => {
  it('B15: of a constraint: who sent it, what each target said and why, what they decided, and what came of it', async () => {
    const { audit, entries, loop } = await play({
      feedback: CONSTRAINT,
      decides: (role) => ({ option: 'use_polling', note: `${role} says so` }),
    });
    const sent = only(entries, 'feedback.sent');
    expect(sent).toMatchObject({ who: 'agent developer', why: CONSTRAINT.description });
    // The run halts for it, and its loop waits for answers.
    expect(sent.changed.state).toEqual({ from: 'working', to: 'paused' });
    expect(changesOf(sent, loop).at(-1)?.state?.to).toBe('waitingResponse');

    expect(all(entries, 'feedback.answered').map(({ who, what, why }) => [who, what, why])).toEqual([
      ['agent architect', 'architect answered "use_polling"', 'architect says so'],
      ['agent pm', 'pm answered "use_polling"', 'pm says so'],
    ]);
    const decided = only(entries, 'feedback.decided');
    const decision = { agents: ['architect', 'pm'], option: 'use_polling', note: 'architect says so' };
    expect(decided).toMatchObject({
      who: 'agent architect, agent pm',
      what: 'decided "use_polling"',
      why: 'architect says so',
      decidedBy: { ...decision, position: decided.position },
    });
    // Because of it the run goes on, and the developer is asked again.
    expect(changesOf(decided, 'r')).toContainEqual(
      expect.objectContaining({ state: { from: 'paused', to: 'working' } }),
    );
    expect(changesOf(decided, 'r/agent:developer').at(-1)?.state).toMatchObject({ from: 'idle' });
    const resolved = only(entries, 'feedback.resolved');
    expect(resolved).toMatchObject({
      who: 'agent architect, agent pm',
      what: 'the feedback was resolved: "use_polling"',
      why: 'architect says so',
      decidedBy: decision,
      changed: { state: { from: 'validating', to: 'resolved' } },
    });
    expect(changesOf(resolved, 'r/context').flatMap(({ context }) => context).length).toBeGreaterThan(0);

    for (const [agent, types] of [
      ['pm', ['feedback.sent', 'feedback.answered', 'feedback.decided', 'feedback.resolved']],
      ['developer', ['feedback.sent', 'feedback.opened']],
    ] as const) {
      const found = (await audit({ agent })).map(({ type }) => type);
      expect(found).toEqual(expect.arrayContaining([...types]));
    }
    expect((await audit({ agent: 'pm' })).map(({ what }) => what)).not.toContain(
      'architect answered "use_polling"',
    );
    const ofLoop = (await audit({ loop })).map(({ type }) => type);
    const ofRequirement = (await audit({ requirement: 'REQ-123' })).map(({ type }) => type);
    for (const type of ['feedback.sent', 'feedback.answered', 'feedback.decided', 'feedback.resolved']) {
      expect(ofLoop).toContain(type);
      expect(ofRequirement).toContain(type);
    }
  });

  it('B15: of an inconsistency: the value that both sides agree on, and which steps worked again for it', async () => {
    const { entries } = await play({
      feedback: INCONSISTENCY,
      decides: (role) => ({ value: 768, ...(role === 'architect' && { note: 'as in the grid' }) }),
    });
    const decided = only(entries, 'feedback.decided');
    expect(decided).toMatchObject({
      what: 'decided 768',
      why: 'as in the grid',
      decidedBy: { agents: ['architect', 'pm'], option: null },
    });
    expect(changesOf(decided, 'r').flatMap(({ context }) => context).length).toBeGreaterThan(0);
    expect(all(entries, 'feedback.fixed').map(({ who }) => who)).toEqual(['agent pm', 'agent architect']);
    expect(all(entries, 'step.corrected').map(({ what }) => what)).toContain(
      'the step "requirements" works again, because of developer',
    );
    expect(only(entries, 'feedback.validated').what).toBe('the resolution holds');
  });

  it('B15: of a loop that a person resolves by hand, and of one that a person decides', async () => {
    const disagree = (role: string) => ({ option: role === 'pm' ? 'switch_hosting' : 'use_polling' });
    const byHand = await play({
      feedback: CONSTRAINT,
      decides: disagree,
      acts: async (runtime) => {
        const [loop] = await runtime.feedback.loops('r');
        await runtime.feedback.resolve(loop?.id ?? '', 'use_polling', { by: 'ann', note: 'it will do' });
      },
    });
    const resolution = { person: 'ann', note: 'it will do' };
    expect(only(byHand.entries, 'feedback.resolve')).toMatchObject({
      who: 'ann',
      why: 'it will do',
      decidedBy: resolution,
    });
    const resolved = only(byHand.entries, 'feedback.resolved');
    expect(resolved).toMatchObject({ who: 'ann', why: 'it will do', decidedBy: resolution });
    expect((await byHand.audit({ agent: 'ann' })).map(({ type }) => type)).toEqual(
      expect.arrayContaining(['feedback.resolve', 'feedback.resolved']),
    );
    const escalated = only(byHand.entries, 'feedback.escalated');
    expect(escalated.why).not.toBeNull();
    expect(changesOf(escalated, 'r').length).toBeGreaterThan(0);

    const asked = await play({
      feedback: CONSTRAINT,
      decides: disagree,
      acts: async (runtime) => {
        const [question] = await runtime.questions();
        await runtime.answer(question?.id ?? '', 'use_polling', { by: 'ada', note: 'cheaper' });
      },
    });
    const answered = only(asked.entries, 'question.answer');
    expect(answered).toMatchObject({ who: 'ada', why: 'cheaper' });
    expect(changesOf(answered, 'r').map(({ state }) => state?.to)).toEqual(['working']);
    expect(only(asked.entries, 'feedback.resolved')).toMatchObject({
      who: 'ada',
      why: 'cheaper',
      decidedBy: { person: 'ada', option: 'use_polling', note: 'cheaper' },
    });
  });

  it('B15: of a gate: the step that sends back, what its reviewers found, and what works again for it', async () => {
    const file = temporaryFile();
    const gated = draftPlan();
    const agents = { writer: writeNew, critic: approveNth(2) };
    const runtime = await createRuntime({ file, workflows: [gated], agents });
    await (await runtime.start('draft', 'a poem', { id: 'p' })).result();
    await runtime.close();
    const second = await open({ file, workflows: [gated], agents, idle: true });
    const trail = await second.auditOf({ run: 'p' });
    const sent = only(trail.entries, 'feedback.sent');
    expect(sent).toMatchObject({ who: 'step review', decidedBy: null });
    expect(sent.why).toContain('not good');
    expect(sent.changed.context.length).toBeGreaterThan(0);
    expect(changesOf(sent, 'p/agent:writer').at(-1)?.state).toMatchObject({ from: 'idle' });
    expect(trail.toMarkdown()).toContain('p/agent:writer: ');
  });
});
