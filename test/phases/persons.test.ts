import { describe, expect, it } from 'vitest';
import { type GivenPhase, PIPELINE, phaseRun, type Workflow } from '../../src/index.ts';
import {
  decide,
  fail,
  failing,
  foundIn,
  type Played,
  play,
  readBack,
  toldIn,
  type Work,
} from '../support/phases.ts';

const delivery = phaseRun('delivery') as Workflow;
const small: readonly GivenPhase[] = [
  { id: 'planning' },
  { id: 'design', needs: ['planning'] },
  { id: 'review', kind: 'review', needs: ['planning', 'design'] },
];

/** A call that hangs until it is taken back, and the moment at which it began. */
const hanging = (from: number, otherwise: Work): { readonly work: Work; readonly begun: Promise<void> } => {
  let begin = (): void => undefined;
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  return {
    begun,
    work: (request, nth) => {
      if (nth !== from) return otherwise(request, nth);
      begin();
      return new Promise((resolve) => request.signal.addEventListener('abort', () => resolve(null)));
    },
  };
};

const defectIn = async (played: Played): Promise<string> => (await foundIn(played))[0]?.id ?? '';

describe('persons in phase runs', () => {
  it('P4: while the review looks at the correction already, it is taken back, and the right phase corrected', async () => {
    const review = hanging(2, failing(1, 'design'));
    const played = await play(phaseRun('p', { phases: small }) as Workflow, { review: review.work });
    await review.begun;
    const issue = await defectIn(played);
    await played.run.send({
      type: 'issue.reclassify',
      issue,
      phases: ['planning', 'design'],
      note: null,
    });
    const { result, telemetry } = await readBack(played);
    expect(result.verdict).toBe('verified');
    // What the design has dealt with stays dealt with: it runs again for the new plan.
    expect(played.calls).toEqual([
      'planning',
      'design',
      'review',
      'design',
      'review',
      'planning',
      'design',
      'review',
    ]);
    expect(telemetry.corrections).toMatchObject([
      { attempts: { planning: 1, design: 2 }, injected: ['planning'], outcome: 'verified' },
    ]);
  });

  it('P4: when a correction is over, only the record is put right', async () => {
    let begin = (): void => undefined;
    let finish: (said: string) => void = () => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const played = await play(delivery, {
      'design-review': failing(1, 'design'),
      postmortem: () => {
        begin();
        return new Promise((resolve) => {
          finish = resolve;
        });
      },
    });
    await begun;
    const issue = await defectIn(played);
    await played.run.send({ type: 'issue.reclassify', issue, phases: ['planning'], note: null });
    finish('done');
    const { result, telemetry } = await readBack(played);
    expect(result.output?.outputs['postmortem']).toBe('done');
    expect(played.calls.filter((role) => role === 'planning')).toHaveLength(1);
    expect(telemetry.defects).toMatchObject([{ injected: 'planning' }]);
    expect(telemetry.metrics.yieldByPhase['planning']).toEqual({ present: 1, caught: 0, yield: 0 });
  });

  it('P4: while paused nothing begins, and afterwards the right phase does', async () => {
    const design = hanging(2, (_, nth) => ({ made: nth }));
    const played = await play(phaseRun('p', { phases: small }) as Workflow, {
      review: failing(1, 'design'),
      design: design.work,
    });
    await design.begun;
    await played.run.pause('lunch');
    const issue = await defectIn(played);
    await played.run.send({ type: 'issue.reclassify', issue, phases: ['planning'], note: null });
    expect(played.calls).toEqual(['planning', 'design', 'review', 'design']);
    await played.run.resume('lunch');
    const { result } = await readBack(played);
    expect(result.verdict).toBe('verified');
    expect(played.calls.slice(4)).toEqual(['planning', 'design', 'review']);
  });

  it('P1: a person may be a reviewer, in options or in words', async () => {
    const declared = phaseRun('p', {
      phases: small.map((phase) => (phase.id === 'review' ? { ...phase, reviewers: ['lead'] } : phase)),
      persons: { lead: { text: 'Good?', options: [{ id: 'approve', label: 'Yes' }], isFree: true } },
    }) as Workflow;
    const played = await play(declared);
    await played.run.settled();
    const [question] = await played.runtime.questions();
    const report = fail(['no login', 'planning']) as never;
    await played.runtime.answer(question?.id ?? '', null, { value: report, by: 'ada' });
    await decide(played, 'approve', { by: 'ada' });
    const { result, facts } = await readBack(played);
    expect(result.verdict).toBe('verified');
    expect(facts('correction.routed')).toMatchObject([{ phases: ['planning'] }]);
    expect(played.calls).toEqual(['planning', 'design', 'planning', 'design']);
  });

  it('P6: what a person has thrown out is not corrected, and does not count again', async () => {
    const phases = PIPELINE.map(
      (phase): GivenPhase => (phase.id === 'design-review' ? { ...phase, passes: 1 } : phase),
    );
    const played = await play(phaseRun('delivery', { phases }) as Workflow, {
      'design-review': () => fail(['tabs', 'design']),
    });
    await played.run.settled();
    const [defect] = await foundIn(played);
    await played.run.send({
      type: 'issue.reject',
      fingerprint: defect?.fingerprint ?? '',
      note: 'we like them',
    });
    await decide(played, 'continue');
    const { result } = await readBack(played);
    expect(result.verdict).toBe('verified');
    expect(played.calls.filter((role) => role === 'design')).toHaveLength(1);
  });

  it('P1, P2: large texts, odd words and the same id twice do no harm', async () => {
    const large = `${'no login '.repeat(20_000)}end`;
    const played = await play(phaseRun('p', { phases: small }) as Workflow, {
      planning: (_, nth) => ({ text: 'plan '.repeat(50_000), nth }),
      review: (_, nth) => {
        if (nth === 1) return { assessment: 'constructor', issues: [] };
        if (nth === 2)
          return fail(
            [large, 'PLANNING', { id: 'X' }],
            ['other', ' Design ', { id: 'X', category: '__proto__' }],
          );
        return { assessment: 'pass', issues: [], feedback: 'fine' };
      },
    });
    const { result, facts } = await readBack(played);
    expect(result.verdict).toBe('verified');
    const opened = facts('correction.opened') as unknown as { defects: { id: string; phases: string[] }[] }[];
    expect(opened[1]?.defects.map(({ id, phases }) => [id, phases])).toEqual([
      ['X', ['planning']],
      ['review-2-2', ['design']],
    ]);
    expect(toldIn(played, 'planning', 2)[0]?.description).toBe(large);
  });

  it('P4: what a reviewer says in words alone reaches the phase that has to correct', async () => {
    const played = await play(phaseRun('p', { phases: small }) as Workflow, {
      review: (_, nth) => (nth === 1 ? { assessment: 'FAIL', feedback: 'too long' } : 'PASS'),
    });
    await readBack(played);
    expect(played.requests['design']?.[1]?.feedback).toMatchObject([
      { issues: [{ category: 'unnamed' }, { reviewer: 'review', text: 'too long' }] },
    ]);
  });
});
