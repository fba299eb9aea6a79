import type { Json } from '../../src/index.ts';
import type { AgentContext } from '../../src/machines/agent-machine.ts';
import { AGENT } from '../../src/machines/agent-machine.ts';
import { CONTEXT } from '../../src/machines/context-machine.ts';
import { FIX_VERIFY } from '../../src/machines/fix-verify-machine.ts';
import { QUESTION } from '../../src/machines/question-machine.ts';
import { reworkActor } from '../../src/machines/rework-machine.ts';
import type { Look, Message, Scene } from './scene.ts';
import { said, shouted, stage } from './stage.ts';

const QUESTION_INPUT = {
  text: 'Which?',
  details: null,
  options: [{ id: 'yes', label: 'Yes' }],
  levels: [
    { to: 'ann', expiresMs: 1_000 },
    { to: 'ben', expiresMs: 2_000 },
  ],
  onExpiry: 'stop',
} as const;

const question = (isFree: boolean): Scene => ({
  machine: QUESTION,
  about: isFree ? 'a question that takes any answer' : 'a question with one option',
  root: stage({ id: 'it', machine: QUESTION, input: { ...QUESTION_INPUT, isFree } }),
  input: null,
  answers: () => [{ option: 'yes' }, { option: 'perhaps' }, { option: null, value: 7 }],
});

const contextOf = (actors: readonly Look[], machine: string): unknown =>
  actors.find((actor) => actor.machine === machine)?.context;

const context: Scene = {
  machine: CONTEXT,
  about: 'the context of a run',
  root: stage({ id: 'it', machine: CONTEXT, input: null }),
  input: null,
  messages: (actors) => {
    const { data } = contextOf(actors, CONTEXT) as { data: { list?: readonly Json[] } };
    const changes: readonly Message['message'][] = [
      { type: 'context.set', path: ['a'], value: 1 },
      { type: 'context.set', path: ['__proto__', 'a'], value: 1 },
      { type: 'context.update', path: ['o'], value: { b: 2 } },
      { type: 'context.update', path: 7, value: { b: 2 } },
      ...((data.list?.length ?? 0) < 2 ? [{ type: 'context.push', path: ['list'], value: 1 }] : []),
      { type: 'context.push', path: [''], value: 1 },
      { type: 'context.get', request: 'r', role: 'x', paths: ['a'] },
    ];
    return changes.flatMap((message) => [said('it', message), shouted('it', message)]);
  },
};

const AGENT_INPUT = { role: 'w', attempts: 2, backoffMs: 1_000, timeLimitMs: 5_000, person: null };
const NO_BOUND = { costUsd: null, tokens: null, calls: null };
const request = (id: string, budget: Json = NO_BOUND): Message['message'] => ({
  type: 'agent.request',
  request: { id, input: id, feedback: [], history: [], context: null, budget },
});

const agentMessages = (actors: readonly Look[]): readonly Message[] => {
  const it = actors.find(({ address }) => address === 'run/it')?.context as AgentContext;
  const waiting = it.queue.length + (it.current ? 1 : 0);
  const isHere = (id: string) =>
    it.current?.request.id === id || it.queue.some((pending) => pending.request.id === id);
  return [
    ...(waiting < 2 && !isHere('x') ? [said('it', request('x'))] : []),
    ...(waiting === 0 ? [said('it', request('poor', { ...NO_BOUND, calls: 1 }))] : []),
    ...(waiting === 0 ? [said('it', request('none', { ...NO_BOUND, calls: 0 }))] : []),
    said('it', { type: 'agent.request', request: { id: 7 } }),
    shouted('it', request('forged')),
    said('it', { type: 'agent.cancel', request: 'x' }),
    said('it', { type: 'agent.cancel', request: 'nothing' }),
    shouted('it', { type: 'agent.cancel', request: 'x' }),
    said('it', { type: 'agent.pause' }),
    said('it', { type: 'agent.resume' }),
  ];
};

const AGENT_DEEDS = [
  { name: 'works', output: 1 },
  { name: 'fails', fails: true },
  { name: 'answers what does not fit', output: null, beside: { refused: 'no number' } },
] as const;

const agent: Scene = {
  machine: AGENT,
  about: 'an agent whose calls run at once',
  root: stage({ id: 'it', machine: AGENT, input: AGENT_INPUT }),
  input: null,
  agents: ['w'],
  deeds: (_, input) => AGENT_DEEDS.slice(0, input === 'poor' ? 3 : 2),
  messages: agentMessages,
};

const queuedAgent: Scene = {
  ...agent,
  about: 'an agent that waits for a place',
  root: stage(
    { id: 'other', machine: AGENT, input: { ...AGENT_INPUT, timeLimitMs: null } },
    { id: 'it', machine: AGENT, input: { ...AGENT_INPUT, attempts: 1, timeLimitMs: null } },
  ),
  concurrency: 1,
  messages: (actors) => {
    const other = actors.find(({ address }) => address === 'run/other')?.context as AgentContext;
    return [
      ...(other.current ? [] : [said('other', request('first'))]),
      ...agentMessages(actors).filter(({ message }) => !/poor|none/.test(JSON.stringify(message))),
    ];
  },
};

const person: Scene = {
  ...agent,
  about: 'a person in the place of an agent',
  root: stage({
    id: 'it',
    machine: AGENT,
    input: {
      ...AGENT_INPUT,
      person: {
        text: 'Good?',
        options: [{ id: 'yes', label: 'Yes' }],
        isFree: false,
        levels: [{ to: null, expiresMs: 1_000 }],
      },
    },
  }),
  answers: () => [{ option: 'yes' }, { option: 'no' }],
};

const REVIEW = { passed: false, decision: 'rejected', severity: 'high', issues: [], feedback: 'no' };
const rework = (refinements: number, max: number | null): Scene => ({
  machine: reworkActor.name,
  about: `a rework after ${refinements} of ${max ?? 'any number of'} refinements`,
  root: stage({
    id: 'it',
    machine: reworkActor.name,
    input: {
      key: 'a',
      complete: { research: true, plan: true, implement: true },
      refinements,
      work: {},
      target: 'plan',
      max,
      review: REVIEW,
    },
  }),
  input: null,
});

const WAYS = { reason: 'why', met: null, about: null };
const fixVerify = (
  begin: 'fixing' | 'deciding',
  onLimit: 'ask' | 'stop',
  onExpiry: 'cancel' | 'stop',
): Scene => ({
  machine: FIX_VERIFY,
  about: `a feedback that begins ${begin}; at a limit: ${onLimit}, and if nobody answers: ${onExpiry}`,
  root: stage({
    id: 'it',
    machine: FIX_VERIFY,
    input: {
      ...WAYS,
      id: 'FB-001',
      hasRounds: false,
      up: null,
      begin,
      onLimit,
      onExpiry,
      questionLevels: [{ to: null, expiresMs: 1_000 }],
    },
  }),
  input: null,
  answers: () => ['continue', 'accept', 'stop', 'cancel', 'other'].map((option) => ({ option, value: 2 })),
  messages: () => {
    const events: readonly Message['message'][] = [
      { type: 'fix.delivered' },
      { type: 'fix.fixed' },
      { type: 'fix.verified' },
      ...[
        { hasRounds: true, up: null },
        { hasRounds: false, up: 'p' },
        { hasRounds: false, up: null },
      ].flatMap((ways) => [
        { type: 'fix.unfixed', ...WAYS, ...ways },
        { type: 'fix.unverified', ...WAYS, ...ways },
      ]),
    ];
    return events.flatMap((message) => [said('it', message), shouted('it', message)]);
  },
});

export const SMALL_SCENES: readonly Scene[] = [
  question(false),
  question(true),
  context,
  agent,
  queuedAgent,
  person,
  rework(0, 1),
  rework(1, 1),
  rework(9, null),
  fixVerify('fixing', 'ask', 'stop'),
  fixVerify('deciding', 'ask', 'cancel'),
  fixVerify('fixing', 'stop', 'stop'),
];
