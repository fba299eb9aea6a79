import { describe, expect, it } from 'vitest';
import { PIPELINE, phaseRun, phaseTelemetry, type Workflow } from '../../src/index.ts';
import { decide, fail, failing, play, type Request, readBack, WORDS } from '../support/phases.ts';
import { createFakeClock, open } from '../support/runtimes.ts';

const delivery = phaseRun('delivery') as Workflow;
const stopping = phaseRun('delivery', { onLimit: 'stop' }) as Workflow;
const count = (calls: readonly string[], role: string) => calls.filter((each) => each === role).length;

describe('limits of phase runs', () => {
  it.each([
    ['design-review', 3],
    ['code-review', 3],
    ['test', 2],
  ])('P6: "%s" may fail %i passes, then a person is asked and nothing is thrown', async (phase, bound) => {
    const played = await play(delivery, { [phase]: failing(99, 'planning') });
    await played.run.settled();
    const [question] = await played.runtime.questions();
    expect(question?.text).toBe(`"${phase}" has failed ${bound} passes, and may fail ${bound}.`);
    expect(question?.options.map(({ id }) => id)).toEqual(['continue', 'accept', 'cancel']);
    expect(count(played.calls, phase)).toBe(bound);
    await decide(played, 'accept', { by: 'ada' });
    const { result, facts } = await readBack(played);
    expect([result.verdict, result.output?.decidedBy]).toEqual(['accepted', 'ada']);
    expect(result.output?.debt).toMatchObject([{ gate: phase, status: 'open' }]);
    expect(facts('correction.opened').map(({ failed }) => failed)).toEqual(
      Array.from({ length: bound }, (_, at) => at + 1),
    );
  });

  it('P6: what was corrected before is no debt of a run that is taken as it is', async () => {
    const played = await play(delivery, {
      'design-review': (_, nth) => (nth === 1 ? fail(['alpha in the design', 'design']) : 'PASS'),
      test: failing(99, 'code'),
    });
    await decide(played, 'accept', { by: 'ada' });
    const { result } = await readBack(played);
    expect(result.verdict).toBe('accepted');
    expect(result.output?.debt.map(({ gate }) => gate)).toEqual(['test']);
  });

  it('P6: the failed passes of all phases are added up: 10 in the run', async () => {
    // Design review and code review take turns: neither of them alone comes to its limit.
    const many = phaseRun('delivery', {
      phases: PIPELINE.map((phase) => ({ ...phase, passes: 20 })),
      onLimit: 'stop',
    }) as Workflow;
    const played = await play(many, {
      'design-review': (_, nth) => (nth % 2 === 1 ? fail([`${WORDS[nth]} in the design`, 'design']) : 'PASS'),
      'code-review': (_, nth) => fail([`${WORDS[nth]} in the plan`, 'planning']),
    });
    const { result, facts } = await readBack(played);
    expect([result.verdict, result.output?.reason]).toEqual([
      'exhausted',
      'The run has failed 10 passes, and may fail 10.',
    ]);
    const detected = facts('correction.opened').map((correction) => correction['detected']);
    expect(detected).toEqual(Array.from({ length: 5 }, () => ['design-review', 'code-review']).flat());
    expect(facts('correction.opened').map(({ failed }) => failed)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  });

  it('P6: a person lets it go on for so many passes more, and the correction that was held back is made', async () => {
    const played = await play(delivery, { test: failing(99, 'code') });
    await decide(played, 'continue', { value: 1 });
    await played.run.settled();
    expect(count(played.calls, 'test')).toBe(3);
    await decide(played, 'cancel');
    const { result, facts } = await readBack(played);
    expect(result.verdict).toBe('cancelled');
    expect(facts('correction.routed')).toHaveLength(2);
    expect(played.requests['code']?.map(({ feedback }) => feedback.length)).toEqual([0, 1, 2]);
  });

  it('P6: who stops at limits ends exhausted', async () => {
    const { result } = await readBack(await play(stopping, { test: failing(99, 'code') }));
    expect([result.verdict, result.output?.limit]).toEqual([
      'exhausted',
      { limit: 'passes', bound: 2, used: 2, evidence: ['test'] },
    ]);
  });

  it('P9: the same defect that goes back a second time between the same phases is escalated before the limit', async () => {
    const played = await play(delivery, {
      'design-review': (_, nth) =>
        fail([`No login at line ${nth}`, 'planning'], [`${WORDS[nth]} is odd`, 'design']),
    });
    await played.run.settled();
    expect(played.calls).toEqual([
      'planning',
      'design',
      'design-review',
      'planning',
      'design',
      'design-review',
    ]);
    const [question] = await played.runtime.questions();
    expect(question?.text).toBe(
      '"No login at line 2" goes back from "design-review" to "planning" once more.',
    );
    expect(question?.details).toMatchObject({ defects: [{ injected: 'planning' }, { injected: 'design' }] });
    await decide(played, 'cancel');
    const { facts } = await readBack(played);
    expect(facts('run.halted')).toMatchObject([{ verdict: 'stalled', met: { limit: 'rounds', used: 1 } }]);
  });

  it('P9: not between others, and not another defect; also not if it came back after something else', async () => {
    const between = await play(stopping, {
      'design-review': (_, nth) =>
        nth === 1 ? fail(['No login', 'planning']) : nth === 2 ? fail(['No login', 'design']) : 'PASS',
      'code-review': (_, nth) => (nth === 1 ? fail(['No login', 'planning']) : 'PASS'),
    });
    expect((await readBack(between)).result.verdict).toBe('verified');
    const back = await play(stopping, {
      'design-review': (_, nth) => fail([nth % 2 === 1 ? 'No login' : 'No logout', 'design']),
    });
    const { result } = await readBack(back);
    expect([result.verdict, result.output?.limit?.limit]).toEqual(['stalled', 'rounds']);
    expect(count(back.calls, 'design-review')).toBe(3);
  });

  it('P9: an earlier state of things that comes back is noticed without a call', async () => {
    const played = await play(stopping, {
      'design-review': failing(99, 'design'),
      design: (_, nth) => (nth % 2 === 1 ? 'one way' : 'the other way'),
    });
    const { result } = await readBack(played);
    expect([result.verdict, result.output?.limit?.limit]).toEqual(['stalled', 'oscillations']);
    expect(count(played.calls, 'design-review')).toBe(2);
  });

  it('P6: a phase that fails for good asks, and goes on when it is tried again', async () => {
    const declared = phaseRun('delivery', {
      roles: { code: { attempts: 1 }, test: { attempts: 1 } },
    }) as Workflow;
    const played = await play(declared, {
      code: (_, nth) => {
        if (nth === 1) throw new Error('no disk');
        return 'code';
      },
      test: (_, nth) => {
        if (nth === 1) throw new Error('no network');
        return 'PASS';
      },
    });
    await decide(played, 'retry');
    await played.run.settled();
    await decide(played, 'retry');
    const { result, facts } = await readBack(played);
    expect(result.verdict).toBe('verified');
    expect(facts('phase.failed')).toMatchObject([{ phase: 'code' }, { phase: 'test' }]);
    // Nobody has looked at it: that is no failed pass.
    expect(facts('correction.opened')).toEqual([]);
  });

  it('P6: cost, calls and time bound a phase run as they bound any other', async () => {
    const cheap = phaseRun('delivery', { onLimit: 'stop', limits: { calls: 4 } }) as Workflow;
    const { result } = await readBack(await play(cheap));
    expect([result.verdict, result.output?.limit?.limit, result.output?.spent.calls]).toEqual([
      'exhausted',
      'calls',
      4,
    ]);
    const clock = createFakeClock();
    const timed = phaseRun('delivery', { limits: { timeMs: 1_000 }, onLimit: 'stop' }) as Workflow;
    const played = await play(
      timed,
      {
        design: ({ signal }) => {
          clock.advance(2_000);
          return new Promise((resolve) => signal.addEventListener('abort', () => resolve(null)));
        },
      },
      { clock },
    );
    const late = await readBack(played);
    expect([late.result.verdict, late.result.output?.limit?.limit]).toEqual(['exhausted', 'timeMs']);
  });

  it('P3: paused in the middle of a correction, and closed, another runtime goes on where it was', async () => {
    let begin = (): void => undefined;
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const played = await play(delivery, {
      'design-review': failing(1, 'planning'),
      planning: ({ signal }, nth) => {
        if (nth === 1) return 'plan 1';
        begin();
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve(null)));
      },
    });
    await begun;
    await played.run.pause('lunch');
    await played.runtime.close();
    const calls: string[] = [];
    const feedback: unknown[] = [];
    const second = await open<Workflow>({
      file: played.file,
      workflows: [delivery],
      agents: Object.fromEntries(
        PIPELINE.map(({ id }) => [
          id,
          (request: Request) => {
            calls.push(id);
            if (id === 'planning') feedback.push(request.feedback);
            return id === 'test' || id.endsWith('review') ? 'PASS' : { again: id, of: request.input.inputs };
          },
        ]),
      ),
    });
    const run = await second.run('r');
    await run.resume('lunch');
    expect((await run.result()).verdict).toBe('verified');
    expect(calls).toEqual(PIPELINE.map(({ id }) => id));
    expect(feedback).toMatchObject([
      [{ from: 'design-review', issues: [{ description: 'beta is missing' }] }],
    ]);
    const { corrections } = await second.read(phaseTelemetry, 'r');
    expect(corrections).toMatchObject([{ attempts: { planning: 1, design: 1 }, outcome: 'verified' }]);
    await second.close();
  });
});
