import { isJsonObject, type Json } from '../events/json.ts';
import { PRIORITIES } from '../events/tree-feedback.ts';
import { ancestorsOf } from './coordinator-checks.ts';
import { metLimit } from './limits.ts';
import { failed, finish, report, tried } from './tree-ends.ts';
import { shapeOf, type TreeNode } from './tree-plan.ts';
import { type TreeOutcome as Outcome, recordOf, type TreeState as State, withRecord } from './tree-state.ts';

/** Whether an output says that what was tried did not work. */
export const isFailure = (output: Json): boolean => {
  if (!isJsonObject(output)) return false;
  const { passed, exitCode } = output;
  return passed === false || (typeof exitCode === 'number' && exitCode !== 0);
};

interface Repeat {
  readonly isFailed: boolean;
  readonly output: Json;
  readonly reason: string;
}

/** One repeat of a loop is over: it is done, or tries again, or sends feedback after some failures in a row. */
export const loopEnded = (state: State, node: TreeNode, { isFailed, output, reason }: Repeat): Outcome => {
  const { loop, id } = node;
  const before = recordOf(state, id);
  const isDone = !isFailed && !(isJsonObject(output) && output['done'] === false);
  if (!loop || isDone) return finish(state, node, output);
  const failuresInRow = isFailed ? before.failuresInRow + 1 : 0;
  const noted = withRecord(state, id, { failuresInRow, history: tried(before, output) });
  const target = targetOf(state, node);
  const told = { type: 'loop.repeated', node: id, repeat: before.repeats, failed: isFailed };
  const then = (step: Outcome): Outcome => ({ state: step.state, messages: [told, ...step.messages] });
  if (failuresInRow >= loop.failures && target !== undefined)
    return then(report(noted, node, [feedbackOf(id, target, { output, reason, failures: failuresInRow })]));
  const repeats = loop.repeats ?? state.limits.repeats;
  const met = metLimit({ ...state.limits, repeats }, { repeats: { used: before.repeats, evidence: [id] } });
  if (met)
    return then(
      failed(noted, node, { reason: `It is not done after ${before.repeats} repeats. ${reason}`, met }),
    );
  const status = before.blockedBy.length > 0 ? 'blocked' : 'waiting';
  return then({ state: withRecord(noted, id, { status }), messages: [] });
};

/** Whom it asks for help: the one that the plan says, else the nearest above it that has an agent. */
const targetOf = ({ nodes }: State, { id, loop }: TreeNode): string | undefined => {
  const tree = shapeOf(nodes);
  return loop?.sendsTo ?? ancestorsOf(tree, id).find((above) => tree[above]?.works === true);
};

const feedbackOf = (
  from: string,
  to: string,
  { output, reason, failures }: { readonly output: Json; readonly reason: string; readonly failures: number },
): Json => {
  const { suggested_fix: fix, priority }: Readonly<Record<string, Json>> = isJsonObject(output) ? output : {};
  return {
    type: 'FEEDBACK',
    from_node: from,
    to_node: to,
    feedback_type: 'FIX_REQUEST',
    message: `${from} has failed ${failures} times in a row. The last time: ${reason}`,
    suggested_fix: typeof fix === 'string' && fix.trim() !== '' ? fix : `Mend what "${from}" was given.`,
    priority: PRIORITIES.find((known) => known === priority) ?? 'high',
  };
};
