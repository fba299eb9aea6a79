import { RuntimeError } from '../errors.ts';
import type { RecordedEvent } from '../events/event.ts';
import { type CompiledProjection, compileProjection } from '../projections/compiled-projection.ts';
import type { Projection } from '../projections/projection.ts';
import { foldOrFault } from '../projections/replay.ts';
import type { StateData } from '../projections/state-data.ts';

const WHOLE_LOG = 'log';

/** The states of all projections while a log is replayed. What it hands out is frozen, and stays as it is. */
export class ReplayedViews {
  readonly #projections: readonly CompiledProjection[];
  readonly #states = new Map<CompiledProjection, Map<string, StateData>>();

  constructor(projections: readonly Projection[]) {
    this.#projections = projections.map(compileProjection);
    this.clear();
  }

  fold(event: RecordedEvent): void {
    for (const projection of this.#projections) {
      if (projection.foldOf(event.type) === undefined) continue;
      const id = projection.partition === 'run' ? event.run : WHOLE_LOG;
      const states = this.#states.get(projection);
      const next = foldOrFault({ projection, id }, states?.get(id) ?? projection.initial, event);
      states?.set(id, next);
    }
  }

  /** @throws {RuntimeError} UNKNOWN_PROJECTION, BAD_OPTION if a run is missing */
  read<State>({ name, version }: Projection<State>, run: string | undefined): State {
    const projection = this.#projections.find((each) => each.name === name && each.version === version);
    if (!projection) {
      const known = this.#projections.map((each) => each.name);
      throw new RuntimeError('UNKNOWN_PROJECTION', { projection: name, known });
    }
    const id = projection.partition === 'run' ? run : WHOLE_LOG;
    if (id === undefined)
      throw new RuntimeError('BAD_OPTION', { option: 'run', found: 'missing', expected: 'the id of a run' });
    // The fold of this projection made it, or it is where it begins.
    return (this.#states.get(projection)?.get(id) ?? projection.initial) as State;
  }

  clear(): void {
    for (const projection of this.#projections) this.#states.set(projection, new Map());
  }
}
