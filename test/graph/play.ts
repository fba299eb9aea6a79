import { setImmediate } from 'node:timers/promises';
import { expect } from 'vitest';
import { canonicalJson } from '../../src/events/encode.ts';
import {
  type AgentRequest,
  type AnswerDetails,
  agent,
  answer,
  createRuntime,
  type Json,
  type Runtime,
} from '../../src/index.ts';
import { createVirtualClock } from '../../src/testing/index.ts';
import { type Deed, RUN, type Scene } from './scene.ts';
import { type Happening, type Moment, sceneLogic } from './scene-logic.ts';
import type { Way } from './walk.ts';

interface Pending {
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly request: AgentRequest<never>;
}

/** So often the runtime is given room before something that should have happened has not. */
const TURNS_MAX = 400;

/**
 * Plays a way to a runtime: messages are sent, calls answered, and the clock moved on. After each step every actor must be in
 * the state that was foreseen, with the same context, and so must be what another runtime reads back from the log.
 */
export const play = async (scene: Scene, { happenings }: Way, file: string): Promise<void> => {
  const logic = sceneLogic(scene);
  const clock = createVirtualClock(0);
  const pending = new Map<string, Pending>();
  const takesCalls = agent(
    (request: AgentRequest<never>) =>
      new Promise<unknown>((resolve, reject) => {
        pending.set(request.actor, { resolve, reject, request });
      }),
    { concurrency: scene.concurrency ?? 8, timeoutMs: Number.POSITIVE_INFINITY },
  );
  const open = (isIdle: boolean) =>
    createRuntime({
      file,
      clock,
      workflows: [scene.root, ...(scene.others ?? [])],
      agents: Object.fromEntries((scene.agents ?? []).map((name) => [name, takesCalls])),
      printEscalations: false,
      idle: isIdle,
      runsFolder: null,
      durability: 'normal',
    });
  const runtime = await open(false);
  let moment = logic.start();
  try {
    await runtime.start(scene.root.name, scene.input, { id: RUN });
    await isAt(runtime, moment);
    for (const happening of happenings) {
      const before = moment;
      moment = logic.next(moment, happening);
      await happen(happening, {
        runtime,
        scene,
        pending,
        advance: () => clock.advance(moment.nowMs - before.nowMs),
      });
      await isAt(runtime, moment);
    }
  } finally {
    await runtime.close();
  }
  const second = await open(true);
  try {
    await isAt(second, moment);
  } finally {
    await second.close();
  }
};

interface Stage {
  readonly runtime: Runtime;
  readonly scene: Scene;
  readonly pending: Map<string, Pending>;
  readonly advance: () => void;
}

const happen = async (happening: Happening, { runtime, scene, pending, advance }: Stage): Promise<void> => {
  if (happening.type === 'message') return void (await runtime.send(happening.to, happening.message));
  if (happening.type === 'timer') return advance();
  const call = await calledBy(pending, happening.actor);
  pending.delete(happening.actor);
  const deed = scene.deeds?.(happening.agent, call.request.input).find(({ name }) => name === happening.deed);
  give(call, deed ?? { name: 'nothing', fails: true });
};

const give = ({ resolve, reject }: Pending, { name, output = null, beside, fails }: Deed): void => {
  if (fails) reject(new Error(name));
  // An answer that does not fit is never on a shortest way: one that fails is as short, and comes first.
  else resolve(beside ? answer(output, beside as AnswerDetails) : output);
};

const calledBy = async (pending: Map<string, Pending>, actor: string): Promise<Pending> => {
  for (let turn = 0; turn < TURNS_MAX; turn += 1) {
    const call = pending.get(actor);
    if (call) return call;
    await setImmediate();
  }
  throw new Error(`"${actor}" has called nobody.`);
};

/** The state of every actor there is, as text. */
const foreseen = ({ system }: Moment): string =>
  shown(
    [...system.actors.values()].map(({ address, status, snapshot }) => ({
      address,
      status,
      value: snapshot?.value,
      context: snapshot?.context,
    })),
  );

const found = async (runtime: Runtime, { system }: Moment): Promise<string> =>
  shown(
    await Promise.all(
      [...system.actors.keys()].map(async (key) => {
        try {
          const { address, status, value, context } = await runtime.actor(key);
          return { address, status, value, context };
        } catch {
          return { address: key, status: 'nowhere', value: null, context: null };
        }
      }),
    ),
  );

const shown = (
  actors: readonly { address: string; status: string; value: unknown; context: unknown }[],
): string =>
  actors
    .map(({ address, status, value, context }) =>
      // What a machine keeps is what the log can hold.
      [
        address,
        status,
        canonicalJson((value ?? null) as Json),
        canonicalJson((context ?? null) as Json),
      ].join(' '),
    )
    .sort()
    .join('\n');

const isAt = async (runtime: Runtime, moment: Moment): Promise<void> => {
  const wanted = foreseen(moment);
  let last = await found(runtime, moment);
  for (let turn = 0; turn < TURNS_MAX && last !== wanted; turn += 1) {
    await setImmediate();
    last = await found(runtime, moment);
  }
  expect(last).toBe(wanted);
};
