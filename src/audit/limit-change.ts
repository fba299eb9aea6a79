import type { Stimulus } from '../actors/stimulus.ts';
import type { Address } from '../events/event.ts';
import { isJsonObject, type JsonObject } from '../events/json.ts';
import { boardMachine } from '../machines/board-machine.ts';
import { fixLimits } from '../machines/limits.ts';
import { STORY } from '../machines/story-machine.ts';
import { type ChangedLimits, type PartOfRun, partAt, withLimits, withPart } from './limits-in.ts';
import { type Moves, moveOf } from './moves.ts';
import type { Past } from './past.ts';
import { encoded } from './past-stimulus.ts';
import type { WhatIfOptions } from './what-if-options.ts';
import type { World } from './world.ts';

interface LimitChange {
  /** For a run that has them from its start. */
  readonly start?: (given: Stimulus) => Stimulus;
  /** Else after which turn they change, and how. */
  readonly turn?: number;
  readonly patch: (world: World) => Moves;
}

/** Other limits in what a loop is started with, or knows; undefined if there is no place for them. */
type Change = (held: JsonObject) => JsonObject | undefined;

/**
 * How other limits come about in a branch. What is wrong with them is added to the problems.
 *
 * @throws {RuntimeError} BAD_OPTION for limits that there are not
 */
export const limitChange = (
  past: Past,
  { limits: given = {}, at, of = past.run }: WhatIfOptions,
  problems: string[],
): LimitChange | undefined => {
  const { turns, ...limits } = given;
  if (turns !== undefined && !(Number.isSafeInteger(turns) && turns >= 1))
    problems.push(`"turns" is ${String(turns)}: a run has an integer from 1 of them`);
  // It knows which there are, and what they may be.
  fixLimits({ ...limits, unbounded: 'a branch' });
  if (Object.keys(limits).length === 0) return undefined;
  const start = past.stimuli.find((stimulus) => stimulus.kind === 'start' && stimulus.run === past.run);
  const input = start?.kind === 'start' ? start.input.value : null;
  const part = isJsonObject(input) ? partAt(input, past.run, of) : undefined;
  const change = part ? changeOfPart(part, limits, problems) : (held: JsonObject) => withLimits(held, limits);
  return at === undefined && (part || of === past.run)
    ? fromStart(past, change, { start, limits, problems })
    : later(past, change, { at, of: part ? past.run : of, limits, problems });
};

const changeOfPart = (part: PartOfRun, limits: ChangedLimits, problems: string[]): Change => {
  const others = Object.keys(limits).filter((name) => name !== part.limit);
  if (others.length > 0)
    problems.push(`the ${part.kind} "${part.id}" has no limit of its own on ${others.join(', ')}`);
  return (held) => withPart(held, part, limits[part.limit] ?? null);
};

interface Starting {
  readonly start: Stimulus | undefined;
  readonly limits: ChangedLimits;
  readonly problems: string[];
}

const fromStart = (
  past: Past,
  change: Change,
  { start, limits, problems }: Starting,
): LimitChange | undefined => {
  if (start?.kind !== 'start') return undefined;
  const input = start.input.value;
  if (!isJsonObject(input) || !change(input))
    problems.push(`its workflow "${start.workflow}" is started without limits`);
  else if (limits.timeMs !== undefined && !('limits' in input))
    problems.push('stories have no limit of time: only calls of agents have');
  return {
    start: (each) =>
      each.kind === 'start' && each.run === past.run && isJsonObject(each.input.value)
        ? { ...each, input: encoded(change(each.input.value) ?? each.input.value) }
        : each,
    patch: () => [],
  };
};

interface Later {
  readonly at: number | undefined;
  readonly of: Address;
  readonly limits: ChangedLimits;
  readonly problems: string[];
}

const later = (past: Past, change: Change, { at, of, limits, problems }: Later): LimitChange | undefined => {
  // What a story has of its own is known when its file has been read.
  const isThere = (turn: Past['turns'][number], type: 'lw.started' | 'story.imported'): boolean =>
    turn.events.some((event) => event.actor === of && event.type === type);
  const turn =
    at === undefined
      ? (past.turns.find((each) => isThere(each, 'story.imported')) ??
        past.turns.find((each) => isThere(each, 'lw.started')))
      : past.turns.find(({ events }) => events.some(({ position }) => position === at));
  if (!changedContext(past.world, of, change)) problems.push(`"${of}" has no limits`);
  if (limits.timeMs !== undefined)
    problems.push('the time of a run is counted from its start: leave `at` and `of` out to change it');
  if (!turn) problems.push(`"${of}" was not there at any time`);
  return turn && { turn: turn.turn, patch: (world) => patched(world, of, change) };
};

const changedContext = (world: World, of: Address, change: Change): JsonObject | undefined => {
  const context: unknown = world.actor(of)?.snapshot?.context;
  // Contexts are JSON: a machine whose context is not could not be stored.
  return typeof context === 'object' && context !== null ? change(context as JsonObject) : undefined;
};

/** A run of stories has given its settings to those that have begun. */
const patched = (world: World, of: Address, change: Change): Moves => {
  const { machine = '', machineVersion = 0 } = world.actor(of) ?? {};
  const isBoard = world.registry.find(machine, machineVersion)?.workflow.machine === boardMachine;
  const stories = [...world.actors.values()].filter(
    (each) => isBoard && each.machine === STORY && each.parent === of,
  );
  return [of, ...stories.map(({ address }) => address)].flatMap((address) => {
    const record = world.actor(address);
    const context = changedContext(world, address, change);
    return record?.status === 'active' && context
      ? [moveOf(world, address, { version: record.machineVersion, context })]
      : [];
  });
};
