import { RuntimeError } from '../errors.ts';
import type { JsonObject } from '../events/json.ts';
import { phaseRun } from '../machines/phase-run.ts';
import { planRun } from '../machines/plan-run.ts';
import { repeatLoop } from '../machines/repeat-loop.ts';
import { storyLoop } from '../machines/story-loop.ts';
import { tightLoop } from '../machines/tight-loop.ts';
import { treeRun } from '../machines/tree-run.ts';
import type { Workflow } from '../machines/workflow.ts';
import type { LoopName } from './loop-forms.ts';

/** Raised when a definition means something else than before. Older ones stay readable. */
export const FORMAT = 1;

/** What all of them have been checked for when their file was read: a definition has the options of its loop. */
type Compile = (name: string, options: never) => unknown;

const LOOPS: Readonly<Record<LoopName, Compile>> = {
  tight: (name, options: Parameters<typeof tightLoop>[0]) => tightLoop({ ...options, name }),
  plan: planRun,
  stories: storyLoop,
  phases: phaseRun,
  tree: treeRun,
  repeat: repeatLoop,
};

/**
 * The workflow that a definition describes: of a file, or one that a log has kept. The same for the same definition.
 *
 * @throws {RuntimeError} BAD_DEFINITION, BAD_PLAN, BAD_OPTION
 */
export const workflowOf = (definition: JsonObject, version: number): Workflow => {
  const { format, name, loop, ...options } = definition;
  if (format !== FORMAT)
    throw new RuntimeError('BAD_DEFINITION', {
      problem: `its format is ${JSON.stringify(format) ?? 'not there'}, and this version of Loopwright reads ${FORMAT}`,
    });
  if (typeof name !== 'string' || typeof loop !== 'string' || !Object.hasOwn(LOOPS, loop))
    throw new RuntimeError('BAD_DEFINITION', {
      problem: `it needs a name, and a loop that is one of ${Object.keys(LOOPS).join(', ')}`,
    });
  const compile = LOOPS[loop as LoopName]; // It is one of them.
  return compile(name, { ...options, version } as never) as Workflow;
};
