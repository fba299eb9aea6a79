import { RuntimeError } from '../errors.ts';
import { type CompiledProjection, compileProjection } from './compiled-projection.ts';
import type { Projection } from './projection.ts';
import type { Subject } from './replay.ts';

/** A projection, or the name of one. */
export type Which<State> = Projection<State> | string;

/** The name of the only partition of a projection of the whole log. */
export const WHOLE_LOG = 'log';

/** The projections that there are, by name. */
export class ProjectionRegistry {
  readonly #projections = new Map<string, CompiledProjection>();

  /** @throws {RuntimeError} BAD_OPTION or PAYLOAD_UNSUPPORTED if one is not a projection, or two have the same name */
  constructor(projections: readonly Projection[]) {
    for (const projection of projections.map(compileProjection)) {
      const { name } = projection;
      if (this.#projections.has(name)) {
        const found = `two of the name "${name}"`;
        throw new RuntimeError('BAD_OPTION', { option: 'projections', found, expected: 'one of each name' });
      }
      this.#projections.set(name, projection);
    }
  }

  all(): Iterable<CompiledProjection> {
    return this.#projections.values();
  }

  /** @throws {RuntimeError} UNKNOWN_PROJECTION, or BAD_OPTION if it has no such partition */
  find(which: Which<unknown>, partition: string | undefined): Subject {
    const name = typeof which === 'string' ? which : which.name;
    const projection = this.#projections.get(name);
    if (projection === undefined || (typeof which !== 'string' && which.version !== projection.version)) {
      throw new RuntimeError('UNKNOWN_PROJECTION', {
        projection: name,
        known: [...this.#projections.keys()],
      });
    }
    const isOfRun = projection.partition === 'run';
    const id = isOfRun ? partition : WHOLE_LOG;
    if (id !== undefined && (partition ?? id) === id) return { projection, id };
    const expected = isOfRun ? 'the id of a run' : 'nothing: this projection has one partition';
    throw new RuntimeError('BAD_OPTION', { option: 'partition', found: partition ?? 'missing', expected });
  }
}
