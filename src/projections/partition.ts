import type { RecordedEvent } from '../events/event.ts';
import type { Step } from './changes.ts';
import type { CompiledProjection } from './compiled-projection.ts';
import type { ProjectionFault } from './projection-fault.ts';
import { type Folded, foldOrFault, type Replayed } from './replay.ts';
import type { StateData } from './state-data.ts';

/** Someone who is told of every change of a partition after the position `from`. */
export interface Watcher {
  readonly from: number;
  /** It does not want to be told any more. */
  readonly closed: boolean;
  /** Called once, with the state at `from`, before anything else. */
  begin(state: StateData): void;
  next(step: Step): void;
  error(error: unknown): void;
  complete(): void;
}

/** What nothing was read of yet. It is less than any position, also that of an empty log. */
const NOT_LOADED = -1;

/**
 * One partition of a projection while it is in memory: a state, the position up to which it is folded, and who watches.
 * It decides nothing; the engine moves it.
 */
export class Partition implements Folded {
  readonly projection: CompiledProjection;
  readonly id: string;
  state: StateData;
  position = NOT_LOADED;
  fault: ProjectionFault | undefined;
  /** Told of each change. Replaced and never changed in place, so that whoever is being told may come and go. */
  watchers: readonly Watcher[] = [];
  /** Those who will watch once it has come to the position that they watch from. */
  waiting: readonly Watcher[] = [];
  /** It has everything that was committed, and is given each event as it comes. */
  isLive = false;
  isPursued = false;
  hasRunEnded = false;
  /** Reads under way and subscriptions: it stays in memory while there are any. */
  users = 0;
  /** The one task that may move it by reading the log. */
  work: Promise<void> | undefined;
  /** How many events were folded since it was stored. */
  unsaved = 0;
  savedPosition = 0;

  constructor(projection: CompiledProjection, id: string) {
    this.projection = projection;
    this.id = id;
    this.state = projection.initial;
  }

  get isLoaded(): boolean {
    return this.position !== NOT_LOADED;
  }

  get isWatched(): boolean {
    return this.watchers.length > 0 || this.waiting.length > 0;
  }

  /** A partition of the whole log moves even if nothing is folded: else it would read all of that again. */
  get isDirty(): boolean {
    if (this.fault !== undefined) return false;
    return this.unsaved > 0 || (this.projection.partition === 'log' && this.position > this.savedPosition);
  }

  /** The step that an event makes, or undefined if it changes nothing; an event that is in it already does nothing. */
  fold(event: RecordedEvent): Step | undefined {
    if (event.position <= this.position) return undefined;
    if (this.projection.foldOf(event.type) === undefined) return undefined;
    const before = this.state;
    this.state = foldOrFault(this, before, event);
    this.position = event.position;
    this.unsaved += 1;
    return this.state === before ? undefined : { before, after: this.state, position: event.position };
  }

  adopt({ state, position, events }: Replayed): void {
    this.state = state;
    this.position = position;
    this.unsaved += events;
  }

  /** Lets go of everyone who watches or waits, and returns them. */
  dismiss(): readonly Watcher[] {
    const everyone = [...this.watchers, ...this.waiting];
    this.watchers = [];
    this.waiting = [];
    return everyone;
  }

  leave(watcher: Watcher): void {
    this.watchers = this.watchers.filter((other) => other !== watcher);
    this.waiting = this.waiting.filter((other) => other !== watcher);
  }
}
