import { agentActor } from './agent-machine.ts';
import { contextActor } from './context-machine.ts';
import { coordinatorActor } from './coordinator-machine.ts';
import { definitionActor } from './definition-machine.ts';
import { feedbackActor } from './feedback-machine.ts';
import { fixVerifyActor } from './fix-verify-machine.ts';
import { questionActor } from './question-machine.ts';
import { reworkActor } from './rework-machine.ts';
import { storyActor } from './story-machine.ts';
import type { Workflow } from './workflow.ts';

/** The machines that come with every runtime, under names that users cannot take. */
export const OWN_ACTORS: readonly Workflow[] = [
  questionActor,
  contextActor,
  agentActor,
  feedbackActor,
  reworkActor,
  storyActor,
  coordinatorActor,
  fixVerifyActor,
  definitionActor,
];
