/** Where a projection stands that cannot go on. */
interface FaultPlace {
  readonly projection: string;
  readonly version: number;
  readonly partition: string;
  /** The event that its fold could not take. */
  readonly position: number;
}

/**
 * A fold threw, or left something in its state that JSON would change. That partition stays as it was before the event
 * and answers with this; every other one goes on.
 */
export class ProjectionFault extends Error {
  override readonly name = 'ProjectionFault';
  readonly projection: string;
  readonly partition: string;
  readonly position: number;

  constructor({ projection, version, partition, position }: FaultPlace, cause: unknown) {
    const problem = cause instanceof Error ? cause.message : String(cause);
    super(
      `Version ${version} of the projection "${projection}" cannot fold the event at position ${position} into ` +
        `"${partition}": ${problem} Mend its fold, give it a new version and open the log again.`,
      { cause },
    );
    this.projection = projection;
    this.partition = partition;
    this.position = position;
  }
}

/** Told of what went wrong in the background, where nobody waits for an answer. */
export type OnFault = (error: unknown, projection: string, partition: string) => void;
