import { createRegistry, type Registry } from '../../src/actors/registry.ts';
import type { Outcome } from '../../src/actors/stimulus.ts';
import { createKernel } from '../../src/actors/turn.ts';
import { encodeOwn } from '../../src/events/encode-own.ts';
import type { Json } from '../../src/events/json.ts';
import type { OpenCall } from '../../src/events/turn.ts';
import { HostScript } from './host-script.ts';
import { checkEnd, checkSafety } from './invariants.ts';
import { AGENT_FAILURE, idempotencyKey, Ledger } from './ledger.ts';
import { memoized } from './memoized-registry.ts';
import { AGENT_LIMIT_MS, workflows } from './workflows.ts';
import type { Core, Fate, World } from './world.ts';

export const createCore = (registry: Registry): Core => {
  const kernel = (turnsPerRun: number) =>
    createKernel({ registry, limits: { deliveriesPerTurn: 100, turnsPerRun } });
  return { registry, patient: kernel(1_000), hasty: kernel(12) };
};

const outcomeOf = (call: OpenCall, fate: Fate): Outcome => {
  const key = idempotencyKey(call);
  if (fate === 'fails') return { failure: { name: AGENT_FAILURE, message: key } };
  if (fate === 'silent') return TIME_IS_UP;
  return { output: encodeOwn(outputOf(call.call, key, fate), 'output') };
};

/** What the shell says in place of an agent that does not answer. */
export const TIME_IS_UP: Outcome = {
  failure: { name: 'RuntimeError', message: 'time is up', code: 'AGENT_TIMED_OUT' },
};

/** What an agent says of a piece of work. Garbage lacks what the machine looks for. */
export const outputOf = (call: string, key: string, fate: Fate): Json => {
  if (fate === 'garbage') return { key, quality: null, passed: null };
  if (call === 'build') return { key, quality: { level: fate === 'finds fault' ? 0 : 1 } };
  return { key, passed: { really: fate !== 'finds fault' } };
};

const registry = createRegistry();
registry.register(workflows);

/** The small workflow that has one of everything: see workflows.ts. */
export const plainWorld: World = {
  core: createCore(memoized(registry)),
  plainCore: createCore(registry),
  // Half of them are of use, or no schedule would get far.
  fates: [
    'passes',
    'passes',
    'passes',
    'finds fault',
    'fails',
    'garbage',
    'silent',
    'late',
    'twice',
    'resent',
  ],
  passes: 0.08,
  limitMs: AGENT_LIMIT_MS,
  createLedger: (known) => new Ledger(known),
  createScript: (ports) => new HostScript(ports),
  outcomeOf,
  checkCommit: () => undefined,
  checkSafety,
  checkEnd,
};
