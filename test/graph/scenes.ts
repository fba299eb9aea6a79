import type { Scene } from './scene.ts';
import { FEEDBACK_SCENES } from './scenes-feedback.ts';
import { NEST_SCENES } from './scenes-nests.ts';
import { PHASE_SCENES } from './scenes-phases.ts';
import { RUN_SCENES } from './scenes-runs.ts';
import { SMALL_SCENES } from './scenes-small.ts';
import { STORY_SCENES } from './scenes-stories.ts';
import { TALK_SCENES } from './scenes-talks.ts';
import { TIGHT_SCENES } from './scenes-tight.ts';
import { TREE_SCENES } from './scenes-trees.ts';

export const SCENES: readonly Scene[] = [
  ...SMALL_SCENES,
  ...TIGHT_SCENES,
  ...RUN_SCENES,
  ...TALK_SCENES,
  ...PHASE_SCENES,
  ...FEEDBACK_SCENES,
  ...TREE_SCENES,
  ...STORY_SCENES,
  ...NEST_SCENES,
];
