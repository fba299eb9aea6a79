/** Mutants that nothing finds, each with the reason. The command fails if one is not on the list, or if one on it is found. */
export const SURVIVORS: Readonly<Record<string, string>> = {
  'src/machines/coordinator-machine.ts: guard isVoid always false':
    'a fix would have to speak in the turn in which the plan makes its feedback void: no scene has that, and then a dead letter is all that differs',
  'src/machines/story-machine.ts: guard isReworked always true':
    'a story at its limit is not sent to be reworked, so that a rework is never refused: the guard is there for a fault of the board',
  'src/machines/story-rules.ts: limit in reviewed is never met':
    'a reviewer is tried once for each request, and is not asked without a budget: its failure never says that the budget was used up',
  'src/machines/tree-machine.ts: guard isStuck always false':
    'never true unless a rule is wrong: the proofs of trees hold that there is no standstill',
};
