import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getShortestPaths } from '@xstate/graph';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { assign, setup } from 'xstate';
import { createRuntime, type Runtime, workflow } from '../../src/index.ts';

// Method: the machine is the model, the runtime is the system. Every state that the machine can reach is reached in the runtime
// by the shortest way, and read back by a second runtime on the same file.

type ReviewEvent =
  | { type: 'SUBMIT' }
  | { type: 'REJECT'; blocking: boolean }
  | { type: 'APPROVE' }
  | { type: 'ACCEPT' };

const review = setup({
  types: { context: {} as { rejections: number }, events: {} as ReviewEvent },
  guards: {
    isBlocking: ({ event }) => event.type === 'REJECT' && event.blocking,
    hasRejectionsLeft: ({ context }) => context.rejections < 3,
  },
}).createMachine({
  context: { rejections: 0 },
  initial: 'drafting',
  states: {
    drafting: { on: { SUBMIT: 'reviewing' } },
    reviewing: {
      on: {
        APPROVE: 'verified',
        REJECT: [
          { guard: 'isBlocking', target: 'asking' },
          { target: 'counting', actions: assign({ rejections: ({ context }) => context.rejections + 1 }) },
        ],
      },
    },
    counting: { always: [{ guard: 'hasRejectionsLeft', target: 'drafting' }, { target: 'asking' }] },
    asking: { tags: 'waiting', on: { ACCEPT: 'accepted', SUBMIT: 'reviewing' } },
    verified: { type: 'final' },
    accepted: { type: 'final' },
  },
});

const everyEvent: ReviewEvent[] = [
  { type: 'SUBMIT' },
  { type: 'REJECT', blocking: true },
  { type: 'REJECT', blocking: false },
  { type: 'APPROVE' },
  { type: 'ACCEPT' },
];
const paths = getShortestPaths(review, {
  events: everyEvent,
  // Beyond the limit a further rejection changes nothing that a guard can see.
  serializeState: ({ value, context }) => JSON.stringify([value, Math.min(context.rejections, 4)]),
  stopWhen: ({ status, context }) => status === 'done' || context.rejections > 3,
});

const file = join(mkdtempSync(join(tmpdir(), 'loopwright-model-')), 'log.db');
const states = new Map<string, { value: unknown; context: unknown }>();
let runtime: Runtime;

beforeAll(async () => {
  const options = { file, workflows: [workflow('review', review)], agents: {} };
  const first = await createRuntime(options);
  for (const [index, { state, steps }] of paths.entries()) {
    const run = await first.start('review', undefined, { id: `path-${index}` });
    // The first step is the start of the machine itself.
    for (const { event } of steps.slice(1)) await run.send(event);
    states.set(run.id, { value: state.value, context: state.context });
  }
  await first.close();
  runtime = await createRuntime(options);
});
afterAll(() => runtime.close());

test('the model has every state of the machine', () => {
  const reached = new Set(paths.map(({ state }) => state.value));
  expect([...reached].sort()).toEqual(['accepted', 'asking', 'drafting', 'reviewing', 'verified']);
});

test('K4: every state of the model is reached in the runtime by the shortest way, and read back', async () => {
  expect(states.size).toBeGreaterThan(10);
  for (const [id, expected] of states) {
    const { value, context } = await (await runtime.run(id)).state();
    expect({ id, value, context }).toEqual({ id, ...expected });
  }
  expect((await runtime.verify()).replay.ok).toBe(true);
});
