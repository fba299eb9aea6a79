import { NOTHING_SPENT } from '../../src/events/usage.ts';
import type { Json, Workflow } from '../../src/index.ts';
import { REDUCTIONS, type Reduce, reduceRun } from '../../src/proofs/reduce.ts';
import { type Answer, type Deed, type Look, type Message, RUN, type Scene } from './scene.ts';

export const ONE_TRY = { attempts: 1, backoffMs: 1_000 };

export const TWO_TRIES = { attempts: 2, backoffMs: 1_000 };
export const FAILS: Deed = { name: 'fails', fails: true };

/** What a loop's own guards see of it, and what decides what a person may still say. */
export const bounded =
  (reduce: Reduce): Reduce =>
  (context) => {
    const { decidedBy = null, deadlineMs = null } = context as { decidedBy?: Json; deadlineMs?: Json };
    return [reduce(context), decidedBy, deadlineMs !== null];
  };

export const reductions = (root: string, reduce: Reduce) => ({ ...REDUCTIONS, [root]: bounded(reduce) });

/** What an actor that is there for as long as the run knows; the root unless another is named. */
export const contextAt = <Context>(actors: readonly Look[], wanted = RUN): Context => {
  const found = actors.find(({ address }) => address === wanted);
  if (!found) throw new Error(`There is no "${wanted}".`);
  // Whoever asks knows its machine.
  return found.context as Context;
};

interface Decided {
  readonly decidedBy?: string | null;
  readonly pauseReasons?: readonly string[];
  readonly issues?: Readonly<Record<string, { readonly fingerprint: string; readonly status: string }>>;
}

export const rootOf = (actors: readonly Look[]): Decided =>
  actors.find(({ address }) => address === RUN)?.context ?? {};

/** A person may let it go on once. */
export const decisions = (_: Look, others: readonly Look[]): readonly Answer[] => [
  ...(rootOf(others).decidedBy == null
    ? [
        { option: 'continue', value: 1, by: 'ann' },
        { option: 'retry', by: 'ann' },
      ]
    : []),
  { option: 'accept' },
  { option: 'stop' },
  { option: 'cancel' },
];

/** A reply that nobody has asked for, or that somebody else gives in the place of the agent. */
export const forgedReplies = (request: string): readonly Message[] => [
  {
    to: RUN,
    message: { type: 'agent.done', request, answer: { output: 1 }, attempts: 1, spent: { ...NOTHING_SPENT } },
  },
  {
    to: RUN,
    message: {
      type: 'agent.failed',
      request,
      failure: { name: 'n', message: 'm' },
      attempts: 1,
      spent: { ...NOTHING_SPENT },
    },
  },
];

export const pauses = (actors: readonly Look[]): readonly Message[] => {
  const { pauseReasons = [] } = rootOf(actors);
  const to = (message: Message['message']): Message => ({ to: RUN, message });
  return [
    ...(pauseReasons.includes('p') ? [] : [to({ type: 'run.pause', reason: 'p' })]),
    to({ type: 'run.pause', reason: 7 }),
    to({ type: 'run.resume', reason: 'p' }),
    to({ type: 'run.resume', reason: 'q' }),
  ];
};

/** While it is paused already. */
export const secondPause = (actors: readonly Look[]): readonly Message[] =>
  rootOf(actors).pauseReasons?.length === 1 ? [{ to: RUN, message: { type: 'run.pause', reason: 'q' } }] : [];

export const rejections = (actors: readonly Look[]): readonly Message[] => {
  const known = Object.values(rootOf(actors).issues ?? {})[0]?.fingerprint;
  return [known, 'unknown'].flatMap((fingerprint) =>
    fingerprint === undefined
      ? []
      : [{ to: RUN, message: { type: 'issue.reject', fingerprint, note: null } }],
  );
};

const ISSUE = { severity: 'critical', category: 'logic', description: 'the same' };

const OTHER = { severity: 'critical', category: 'style', description: 'another' };

export const REVIEWS: readonly Deed[] = [
  { name: 'approves', output: { passed: true, issues: [] } },
  { name: 'rejects', output: { passed: false, issues: [ISSUE] } },
  FAILS,
];

export const REJECTS_OTHER: Deed = {
  name: 'rejects for another reason',
  output: { passed: false, issues: [OTHER] },
};

export const MAKES: readonly Deed[] = [
  { name: 'makes one', output: 'one' },
  { name: 'makes two', output: 'two' },
  FAILS,
];

export const stepsPending = (actors: readonly Look[]): string => {
  const { steps } = contextAt<{
    steps: Readonly<Record<string, { pending: Readonly<Record<string, string>> }>>;
  }>(actors);
  return Object.values(steps).flatMap(({ pending }) => Object.values(pending))[0] ?? 'none';
};

export interface Run {
  readonly about: string;
  readonly root: Workflow;
  readonly agents: readonly string[];
  readonly deeds: NonNullable<Scene['deeds']>;
  readonly messages?: Scene['messages'];
  readonly reduce?: Reduce;
  readonly answers?: Scene['answers'];
  readonly others?: readonly Workflow[];
}

export const run = ({ root, reduce = reduceRun, messages, answers = decisions, ...scene }: Run): Scene => ({
  ...scene,
  machine: root.name,
  root,
  input: null,
  answers,
  messages: messages ?? (() => []),
  reduce: { ...reductions(root.name, reduce), inner: reduceRun },
});
