import { contextView } from './context-view.ts';
import { feedbackIndex, feedbackLoops } from './feedback-loops.ts';
import { openQuestions } from './open-questions.ts';
import { phaseTelemetry } from './phase-telemetry.ts';
import type { Projection } from './projection.ts';
import { runSummary } from './run-summary.ts';
import { storyAnalytics } from './story-analytics.ts';
import { storyView } from './story-view.ts';
import { tightProgress } from './tight-progress.ts';
import { treeFeedbackLog } from './tree-feedback-log.ts';

/** The projections that come with every runtime. */
export const OWN_PROJECTIONS: readonly Projection[] = [
  runSummary,
  contextView,
  openQuestions,
  tightProgress,
  feedbackLoops,
  feedbackIndex,
  storyView,
  storyAnalytics,
  treeFeedbackLog,
  phaseTelemetry,
];
