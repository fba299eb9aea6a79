import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRuntime, type FeedbackRequest, type GivenFeedback, planRun } from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { createFakeClock, expectReplays, rounds } from '../support/runtimes.ts';

const TARGETS = ['a', 'b', 'c'] as const;
type Target = (typeof TARGETS)[number];

const plan = planRun('four', {
  steps: [...TARGETS.map((id) => ({ id })), { id: 'source', needs: [...TARGETS] }],
  roles: Object.fromEntries([...TARGETS, 'source'].map((role) => [role, { attempts: 1 }])),
});

/** What a target does with each of the two requests that it may get: it chooses, fails, or is never heard of. */
const behaviour = fc.constantFrom('x', 'y', 'z', 'nonsense', 'fails', 'never');

const scenario = fc.record({
  targets: fc.subarray([...TARGETS], { minLength: 1 }),
  first: fc.tuple(behaviour, behaviour, behaviour),
  second: fc.tuple(behaviour, behaviour, behaviour),
  /** In which order those who answer do so. */
  order: fc.shuffledSubarray([...TARGETS], { minLength: 3, maxLength: 3 }),
  rule: fc.constantFrom('unanimous', 'first', 'decider'),
  /** Strangers that pretend to be a target, before and after the end. */
  forged: fc.boolean(),
});

type Scenario = typeof scenario extends fc.Arbitrary<infer Value> ? Value : never;

/** What must come of it, told without the machine. */
const expected = ({ targets, first, second, order, rule }: Scenario) => {
  const said = (answers: readonly string[]) =>
    order
      .filter((target) => targets.includes(target))
      .map((target) => ({ target, said: answers[TARGETS.indexOf(target)] ?? '' }));
  const isOption = (word: string) => ['x', 'y', 'z'].includes(word);
  const ask = (answers: readonly string[]): string => {
    const heard = said(answers).filter(({ said: word }) => word !== 'never');
    if (rule === 'first') {
      const valid = heard.find(({ said: word }) => isOption(word));
      if (valid) return valid.said;
      return heard.length === targets.length ? 'disagree' : 'wait';
    }
    if (rule === 'decider') {
      const decider = heard.find(({ target }) => target === targets[0]);
      if (!decider) return 'wait';
      return isOption(decider.said) ? decider.said : 'disagree';
    }
    if (heard.length < targets.length) return 'wait';
    const words = new Set(heard.map(({ said: word }) => word));
    const [word = ''] = words;
    return words.size === 1 && isOption(word) ? word : 'disagree';
  };
  const once = ask(first);
  if (once === 'wait') return 'late';
  if (once !== 'disagree') return once;
  if (rule === 'first') return 'disagree';
  const again = ask(second);
  return again === 'wait' ? 'late' : again;
};

/** Lets those who answer do so one after the other, in the order of the scenario: each when the one before is in the log. */
const createOrder = ({ targets, order }: Scenario, speaks: (target: Target) => boolean) => {
  const queue = order.filter((target) => targets.includes(target) && speaks(target));
  const waiting = new Map<Target, () => void>();
  let isSpeaking = false;
  const next = () => {
    const [head] = queue;
    const go = head === undefined ? undefined : waiting.get(head);
    if (isSpeaking || !go) return;
    isSpeaking = true;
    queue.shift();
    go();
  };
  return {
    turn: (target: Target) =>
      new Promise<void>((resolve) => {
        waiting.set(target, resolve);
        next();
      }),
    answered: () => {
      isSpeaking = false;
      next();
    },
  };
};

const playOut = async (given: Scenario) => {
  const file = temporaryFile();
  const clock = createFakeClock();
  const answers = { 1: given.first, 2: given.second } as const;
  const orders = {
    1: createOrder(given, (target) => given.first[TARGETS.indexOf(target)] !== 'never'),
    2: createOrder(given, (target) => given.second[TARGETS.indexOf(target)] !== 'never'),
  } as const;
  let heard = 0;
  const target = (name: Target) => async (request: { readonly input: unknown }) => {
    const { nth } = request.input as FeedbackRequest;
    const asked = nth === 2 ? 2 : 1;
    const word = answers[asked][TARGETS.indexOf(name)] ?? '';
    if (nth === undefined) return `made by ${name}`;
    if (word === 'never') return new Promise<never>(() => undefined);
    await orders[asked].turn(name);
    heard += 1;
    if (word === 'fails') throw new Error('out of order');
    return { option: word };
  };
  const options = {
    file,
    clock,
    workflows: [plan],
    printEscalations: false,
    agents: {
      a: target('a'),
      b: target('b'),
      c: target('c'),
      source: () => new Promise<never>(() => undefined),
    },
  };
  const runtime = await createRuntime(options as never);
  runtime.events$.subscribe(({ type, data }) => {
    if (type === 'feedback.answered') orders[data['nth'] === 2 ? 2 : 1].answered();
  });
  try {
    await runtime.start('four', null, { id: 'r' });
    const feedback: GivenFeedback = {
      type: 'constraint_violation',
      targets: given.targets,
      severity: 'high',
      description: 'something',
      options: ['x', 'y', 'z'].map((option) => ({ option })),
      rule: given.rule === 'decider' ? { decider: given.targets[0] ?? '' } : given.rule,
    };
    await expect
      .poll(async () => (await runtime.actor('r/agent:source')).value)
      .toMatchObject({ working: 'running' });
    const id = await runtime.feedback.trigger({ run: 'r', source: 'source', ...feedback });
    const forge = async () => {
      for (const request of ['decide.1', 'decide.2']) {
        const forgery = { type: 'agent.done', request, answer: { output: 'x' }, attempts: 1, spent: {} };
        await runtime.send(id, forgery);
      }
    };
    if (given.forged) await forge();
    const want = expected(given);
    const stateOf = async () => (await runtime.feedback.loop(id)).state;
    if (want === 'late') {
      // All who speak have spoken; the rest are never heard of.
      const seen = async () => ({ heard, state: await stateOf() });
      await expect
        .poll(async () => JSON.stringify(await seen()), { interval: 5 })
        .toMatch(/waitingResponse|resolving/);
      for (let quiet = 0, last = -1; quiet < 3; ) {
        await new Promise((resolve) => setTimeout(resolve, 8));
        quiet = last === heard ? quiet + 1 : 0;
        last = heard;
      }
      clock.advance(20 * 60_000);
    }
    await expect.poll(stateOf, { interval: 5 }).toMatch(/resolved|escalating/);
    if (given.forged) await forge();
    const before = await runtime.feedback.loop(id);
    await runtime.close();
    const second = await createRuntime({ ...options, idle: true } as never);
    const after = await second.feedback.loop(id);
    await second.close();
    return { want, before, after, file };
  } finally {
    await runtime.close();
  }
};

// Method: up to three targets answer in any order, choose, fail, give nonsense, or are never heard of, in both rounds of asking,
// under each rule, while strangers send answers in their names. What must come of it is told by a few lines of its own.
it('B7, B9: whatever targets answer, in any order, twice, late or never, outcome and record are right', async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async (given) => {
      const { want, before, after, file } = await playOut(given);
      expect(after).toEqual(before);
      const found =
        after.status === 'resolved'
          ? after.resolution?.option
          : /^(the targets do not agree|not all answers count: )/.test(after.escalationReason ?? '')
            ? 'disagree'
            : 'late';
      expect(found).toBe(want);
      const [round] = after.rounds;
      expect(after.rounds).toHaveLength(1);
      for (const [target, { answers }] of Object.entries(round?.responses ?? {})) {
        const said = [given.first, given.second].map((words) => words[TARGETS.indexOf(target as Target)]);
        // Each answer that counted is there once, in its order, and nobody else's. One that came too late is not.
        const counted = answers.map(({ option, problem }) => (problem === null ? option : 'none'));
        const possible = said.map((word) => (['x', 'y', 'z'].includes(word ?? '') ? (word ?? '') : 'none'));
        const [first, second] = possible;
        expect([[], [first], [second], possible]).toContainEqual(counted);
      }
      await expectReplays(file, [plan]);
    }),
    { numRuns: rounds(40, 1_000, 12) },
  );
});
