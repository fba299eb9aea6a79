import { describe, expect, test } from 'vitest';
import { type AnyStateMachine, createMachine, setup } from 'xstate';
import { mixedLoops } from '../../bench/mixed-log.ts';
import { agentCall, type RecordedEvent, toMermaid, toSequenceDiagram } from '../../src/index.ts';
import { OWN_ACTORS } from '../../src/machines/own-actors.ts';

const small = setup({
  actors: { worker: agentCall<null, null>() },
  guards: { isGood: () => true },
}).createMachine({
  id: 'small',
  initial: 'idle',
  on: { STOP: '.ended' },
  states: {
    idle: { on: { GO: 'busy' } },
    busy: {
      invoke: {
        id: 'work',
        src: 'worker',
        input: null,
        onDone: [{ guard: 'isGood', target: 'ended' }, 'idle'],
      },
      after: { 1000: 'idle' },
    },
    both: {
      type: 'parallel',
      states: { left: { initial: 'on', states: { on: {}, past: { type: 'history' } } }, right: {} },
    },
    ended: { type: 'final' },
  },
});

describe('toMermaid', () => {
  test('K3: states, regions, transitions, guards and calls of a machine', () => {
    expect(toMermaid(small)).toBe(`stateDiagram-v2
  [*] --> s1
  state "idle" as s1
  state "busy / worker" as s2
  state "both" as s3
  state s3 {
    state "left" as s4
    state s4 {
      [*] --> s5
      state "on" as s5
      state "past (history)" as s6
    }
    --
    state "right" as s7
  }
  state "ended" as s8
  s8 --> [*]
  s1 --> s8 : STOP
  s2 --> s8 : STOP
  s3 --> s8 : STOP
  s8 --> s8 : STOP
  s1 --> s2 : GO
  s2 --> s8 : done#58; work [isGood]
  s2 --> s1 : done#58; work
  s2 --> s1 : after 1000
`);
  });

  test('K3: no name breaks out of its line', () => {
    const text = toMermaid(
      createMachine({
        initial: 'a" as b\nstate c',
        states: { 'a" as b\nstate c': { on: { 'x;y:z\n--> [*]': 'd{}' } }, 'd{}': {} },
      }),
    );
    expect(text.split('\n')).toHaveLength(6);
    expect(text).not.toMatch(/"a" as b/);
  });

  test('K3: every state of the machines of the package is there', () => {
    const below = (node: AnyStateMachine['root']): readonly AnyStateMachine['root'][] =>
      Object.values(node.states).flatMap((child) => [child, ...below(child)]);
    for (const { machine } of [...OWN_ACTORS, ...mixedLoops()]) {
      const text = toMermaid(machine);
      const states = below(machine.root);
      for (const { key } of states) expect(text).toContain(`"${key}`);
      expect(text.match(/^ *state "/gm) ?? []).toHaveLength(states.length);
      expect(text).not.toContain('unknown');
    }
  });
});

const row = (event: Partial<RecordedEvent>): RecordedEvent => ({
  position: 1,
  id: 'x/0',
  turn: 1,
  atMs: 0,
  run: 'r',
  actor: 'r',
  version: 1,
  kind: 'message',
  type: 'GO',
  typeVersion: 1,
  data: {},
  from: null,
  cause: null,
  machine: 'm',
  machineVersion: 1,
  state: 'idle',
  ...event,
});

describe('toSequenceDiagram', () => {
  test('K3: who told whom what, in order; facts, dead letters and ends as what they are', () => {
    expect(
      toSequenceDiagram([
        row({ kind: 'started', type: 'lw.started' }),
        row({ actor: 'r/agent:dev', from: 'r', type: 'agent.request' }),
        row({ actor: 'r/agent:dev', type: 'lw.call.done', data: { call: 'work' } }),
        row({ from: 'r/agent:dev', type: 'agent.done' }),
        row({ kind: 'fact', type: 'step.done: "x"' }),
        row({ kind: 'undelivered', type: 'LATE' }),
        row({ kind: 'stopped', type: 'lw.stopped' }),
      ]),
    ).toBe(`sequenceDiagram
  participant p0 as run r
  participant p1 as outside
  participant p2 as agent dev
  p1->>p0: lw.started
  p0->>p2: agent.request
  p1-->>p2: lw.call.done work
  p2->>p0: agent.done
  Note over p0: step.done#58; #34;x#34;
  p1-xp0: LATE
  Note over p0: lw.stopped
`);
  });

  test('K3: a run of any length gives a diagram that can be drawn', () => {
    const text = toSequenceDiagram(Array.from({ length: 5_000 }, () => row({})));
    expect(text.split('\n').length).toBeLessThan(2_010);
    expect(text).toContain('3000 more');
  });
});
