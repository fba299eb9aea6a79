import { freeze } from 'immer';
import type { RecordedEvent } from '../events/event.ts';
import type { CompiledProjection } from './compiled-projection.ts';
import { foldDraft, foldInPlace } from './fold-event.ts';
import { GuardedState } from './guarded-state.ts';
import { projectionFault } from './projection-fault.ts';
import type { ProjectionSource } from './projection-source.ts';
import { checkData, type StateData } from './state-data.ts';

const CHUNK_EVENTS = 1_000;

/** Below this, drafts cost less than a copy of the state, and a big state is not copied for a few events. */
const PLAIN_EVENTS_MIN = 32;

/** Which partition of which projection. */
export interface Subject {
  readonly projection: CompiledProjection;
  readonly id: string;
}

/** A partition's state, frozen, and the position up to which everything is in it. */
export interface Folded {
  readonly state: StateData;
  readonly position: number;
}

export interface Replayed extends Folded {
  /** How many events were folded on the way. */
  readonly events: number;
}

/** The events of a partition that its projection reads, after one position and up to another, in chunks. */
export async function* chunksOf(
  source: ProjectionSource,
  { projection, id }: Subject,
  range: { readonly after: number; readonly to: number },
): AsyncGenerator<readonly RecordedEvent[]> {
  const query = {
    ...(projection.partition === 'run' && { run: id }),
    ...(projection.types && { types: projection.types }),
    before: range.to + 1,
    limit: CHUNK_EVENTS,
  };
  let after = range.after;
  while (after < range.to) {
    const events = await source.events({ ...query, after });
    yield events;
    after = events.length < CHUNK_EVENTS ? range.to : (events.at(-1)?.position ?? range.to);
  }
}

/** Folds a partition forward, from `from` up to and including the position `to`. Nothing that exists is changed. */
export type Replay = (subject: Subject, from: Folded, to: number) => Promise<Replayed>;

/**
 * Folds over plain data, which costs a fraction of what drafts do, wherever that is sure to give the same state. If a fold
 * throws on plain data, or puts one object in two places, the events are folded again with drafts: these tell at which
 * event it is at fault, or that it is not.
 */
export const createReplay = (source: ProjectionSource): Replay => {
  const draftsOnly = new Set<CompiledProjection>();
  return async (subject, from, to) => {
    const { projection } = subject;
    const plain = draftsOnly.has(projection) ? undefined : await replayPlain(source, subject, { from, to });
    if (plain !== undefined) return plain;
    const drafted = await replayDrafts(source, subject, { from, to });
    // It went well with drafts and not without: it would do so again, at twice the price.
    draftsOnly.add(projection);
    return drafted;
  };
};

interface Span {
  readonly from: Folded;
  readonly to: number;
}

/** Undefined if plain data will not do. */
async function replayPlain(
  source: ProjectionSource,
  subject: Subject,
  { from, to }: Span,
): Promise<Replayed | undefined> {
  let guarded: GuardedState | undefined;
  let events = 0;
  for await (const chunk of chunksOf(source, subject, { after: from.position, to })) {
    if (guarded === undefined && from.position > 0 && chunk.length < PLAIN_EVENTS_MIN) {
      return { state: foldAll(subject, from.state, chunk), position: to, events: chunk.length };
    }
    if (chunk.length === 0) continue;
    guarded ??= new GuardedState(structuredClone(from.state));
    if (!tryInPlace(subject.projection, guarded, chunk)) return undefined;
    events += chunk.length;
  }
  const state = guarded === undefined ? from.state : sealed(guarded);
  return state && { state, position: to, events };
}

async function replayDrafts(
  source: ProjectionSource,
  subject: Subject,
  { from, to }: Span,
): Promise<Replayed> {
  let { state } = from;
  let events = 0;
  for await (const chunk of chunksOf(source, subject, { after: from.position, to })) {
    state = foldAll(subject, state, chunk);
    events += chunk.length;
  }
  return { state, position: to, events };
}

const foldAll = (subject: Subject, state: StateData, events: readonly RecordedEvent[]): StateData =>
  events.reduce((folded, event) => foldOrFault(subject, folded, event), state);

/** Folds with a draft. @throws {RuntimeError} PROJECTION_FAULT if the fold cannot take the event; the state is as it was */
export function foldOrFault({ projection, id }: Subject, state: StateData, event: RecordedEvent): StateData {
  try {
    return foldDraft(projection, state, event);
  } catch (error) {
    const { name, version } = projection;
    throw projectionFault({ projection: name, version, partition: id, position: event.position }, error);
  }
}

/** False if a fold threw, or did what is not the same on plain data as on drafts. */
function tryInPlace(
  projection: CompiledProjection,
  state: GuardedState,
  events: readonly RecordedEvent[],
): boolean {
  try {
    return events.every((event) => {
      foldInPlace(projection, state.root, event);
      return state.settle();
    });
  } catch {
    return false;
  }
}

/** The state, such that it may be handed out; undefined if something in it is not JSON. */
function sealed(guarded: GuardedState): StateData | undefined {
  const state = guarded.release();
  try {
    checkData(state);
    return freeze(state, true);
  } catch {
    return undefined;
  }
}
