import { setup } from 'xstate';
import { workflow } from './workflow.ts';

/** The workflow under whose runs a log keeps descriptions of other workflows. */
export const DEFINITION = 'lw.definition';

/** Final at once: what it is started with is all that it is for. */
const definitionMachine = setup({}).createMachine({
  id: DEFINITION,
  initial: 'kept',
  states: { kept: { type: 'final' } },
});

export const definitionActor = workflow(DEFINITION, definitionMachine);
