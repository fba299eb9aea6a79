/** Reasons that a loop takes back by itself. */
const isOfLoop = (reason: string): boolean => reason.startsWith('feedback loop-') || reason === 'parent';

/** Of the reasons for which a run is paused, those that hold it until somebody takes them back. */
export const heldFor = (pauseReasons: readonly string[]): readonly string[] =>
  pauseReasons.filter((reason) => !isOfLoop(reason));
