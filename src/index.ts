// Running workflows.

export type { Agent, AgentFunction, AgentOptions, AgentRequest } from './actors/agent.ts';
// Agents.
export { agent } from './actors/agent.ts';
export type { Progress } from './actors/call-runner.ts';
export type { Clock } from './actors/clock.ts';
export type { CommandOptions } from './actors/command-options.ts';
export type { Command } from './actors/commands.ts';
export type { Escalation } from './actors/escalations.ts';
export type {
  FeedbackApi,
  NotifiedConstraint,
  TriggeredFeedback,
  WaitOptions,
} from './actors/feedback.ts';
export type { Receipt } from './actors/host.ts';
export type { CommandOutcome } from './actors/inbox-drain.ts';
export type { AnswerOptions } from './actors/questions.ts';
export type { ReplayReport } from './actors/replay.ts';
export type { ActorState, Run, RunContext, RunResult, SendOptions } from './actors/run-handle.ts';
export type { AuditFilter } from './audit/audit-filter.ts';
export type {
  ActorChanged,
  AuditEntry,
  AuditTrail,
  ContextChanged,
  DecidedBy,
  FollowingChange,
} from './audit/audit-trail.ts';
export type { CompareOptions, Comparison, ComparisonKind } from './audit/compare.ts';
export type { Difference, DifferentRow } from './audit/difference.ts';
export { toMermaid, toSequenceDiagram } from './audit/mermaid.ts';
export type { AnyMetLimit } from './audit/met-limits.ts';
export type { RecordedCall, RecordedWork } from './audit/recorded-calls.ts';
export type { PlayOptions, Replay, ReplayStep } from './audit/replay.ts';
export type { ChangedAnswer, NeededCall, WhatIfOptions } from './audit/what-if-options.ts';
export type { Cause, Why } from './audit/why.ts';
export type { Branch } from './branch.ts';
export {
  type ErrorCode,
  type ErrorFields,
  type FileProblem,
  isRuntimeError,
  RuntimeError,
} from './errors.ts';
export { type Answer, type AnswerDetails, answer, isAnswer } from './events/answer.ts';
export type { BlobRef } from './events/blob.ts';
export { blobRefsIn, isBlobRef, resolveBlobs } from './events/blob.ts';
export { type Delivery, delivery, type PureFunction } from './events/delivery.ts';
export type { Address, EventKind, RecordedEvent, StateValue } from './events/event.ts';
export type {
  DecisionRule,
  FeedbackDetails,
  FeedbackOption,
  FeedbackType,
  GivenFeedback,
} from './events/feedback.ts';
// Values and errors.
export { inputInWords } from './events/input-in-words.ts';
export type { Failure, Json, JsonObject } from './events/json.ts';
export { questionFingerprint } from './events/question-fingerprint.ts';
export { createRedactor, type Redactor, type SecretOptions } from './events/redact.ts';
export type { Severity } from './events/severity.ts';
export type { StandardSchema } from './events/standard-schema.ts';
export type { FeedbackItem, FeedbackKind, FeedbackText, Priority } from './events/tree-feedback.ts';
export {
  type FeedbackRow,
  type FeedbackStatus,
  formatFeedback,
  parseFeedback,
  type ReadFeedbackLines,
  type RefusedLine,
} from './events/tree-feedback-lines.ts';
export type { RunRecord, Verdict } from './events/turn.ts';
export type { Spent, Usage } from './events/usage.ts';
export { startActor, stopActor, WAITING_TAG } from './events/vocabulary.ts';
// Workflow files.
export { workflowOf } from './files/compile.ts';
export { type AgentDescription, agentsOf, type FileAgentsOptions } from './files/file-agents.ts';
export type { UsedLines } from './files/script-agent.ts';
export { parseWorkflowFile, readWorkflowFile, type WorkflowFile } from './files/workflow-file.ts';
export type { FeedbackImport } from './import/feedback-file.ts';
export { type ImportedRun, type ImportedRunOptions, importedRun } from './import/imported-run.ts';
export type { ProgressImport } from './import/progress-file.ts';
// What other systems have written.
export { detectImport, type ReadImport, type ReadImportOptions, readImport } from './import/read-import.ts';
export {
  type AcceptedRow,
  IMPORT_LIMITS,
  type ImportFormat,
  type ReadRows,
  type RefusedRow,
} from './import/rows.ts';
export { readSettingsFile, type SettingsImport, type SettingsLoop } from './import/settings-file.ts';
export { type GivenStoryFile, readStoryFiles, type StoriesImport } from './import/story-files.ts';
export { loopsIn, workflowText } from './import/workflow-text.ts';
export { auditOf, type LogReader, type LookingBack, recordedCalls, replay } from './looking-back.ts';
export type { AgentCallLogic, AgentCallOptions } from './machines/agent-call.ts';
export { agentCall } from './machines/agent-call.ts';
export type { StoriesEvent, StoriesOutput, StoryEnd } from './machines/board-machine.ts';
export type {
  Comparator,
  GivenCheck,
  GivenConsistencyCheck,
  GivenQualityGate,
} from './machines/check.ts';
export { DEFINITION } from './machines/definition-machine.ts';
export { type FeedbackRequest, isFeedbackRequest, type TargetAnswer } from './machines/feedback-work.ts';
export type { Gap, GapRule } from './machines/gap.ts';
export { fingerprint, type Issue, type IssueRecord } from './machines/issues.ts';
export { type GivenLimits, LIMITS, type LimitName, type Limits, type MetLimit } from './machines/limits.ts';
export type { Reclassification } from './machines/phase-decisions.ts';
export { GUIDELINE } from './machines/phase-guideline.ts';
export type { PhaseEvent, PhaseRunOutput } from './machines/phase-machine.ts';
export { type GivenPhase, type PhaseKind, PIPELINE, type Shape } from './machines/phase-plan.ts';
export { type PhaseInput, type PhaseRun, type PhaseRunOptions, phaseRun } from './machines/phase-run.ts';
export type { Correction, Defect } from './machines/phase-state.ts';
export type { Gate, GateRule, GivenStep, Plan } from './machines/plan.ts';
export {
  type Decision,
  type PersonOptions,
  type PlanRun,
  type PlanRunOptions,
  planRun,
  type RoleOptions,
  type StepInput,
} from './machines/plan-run.ts';
export type { QuestionLevel, QuestionOption } from './machines/question-machine.ts';
export {
  type RepeatInput,
  type RepeatLoop,
  type RepeatLoopOptions,
  type RepeatOutput,
  repeatLoop,
} from './machines/repeat-loop.ts';
export { ROSTER } from './machines/roster.ts';
export type { RunEvent, RunInput } from './machines/run-machine.ts';
export type { RunOutput } from './machines/run-output.ts';
export {
  nextActions,
  STORY_PRIORITIES,
  type StoryAction,
  type StoryActionName,
  type StoryCard,
  type StoryPriorities,
} from './machines/story-actions.ts';
export type { GivenStory } from './machines/story-given.ts';
export {
  type GivenStories,
  type RefinementOptions,
  type StoryLoop,
  type StoryLoopOptions,
  storyLoop,
} from './machines/story-loop.ts';
export {
  FAULT_TABLE,
  type FaultTable,
  phaseAtFault,
  type StoryPhase,
  type WorkPhase,
} from './machines/story-phases.ts';
export {
  joinReviews,
  type ReviewDecision,
  type ReviewIssue,
  type ReviewResult,
  type ReviewSeverity,
  SEVERITY_OF_STORY,
  type StorySeverity,
  summaryOfReview,
} from './machines/story-review.ts';
export type { LimitPolicy } from './machines/story-state.ts';
export type { StoryWork } from './machines/story-text.ts';
export {
  type CheckerInput,
  type TightLoop,
  type TightLoopOptions,
  tightLoop,
} from './machines/tight-loop.ts';
export type { TightEvent, TightOutput } from './machines/tight-machine.ts';
export type { DeveloperInput } from './machines/tight-text.ts';
export type { TreeEvent, TreeOutput } from './machines/tree-machine.ts';
export type { Condition, GivenNode, Loop, TreeNode } from './machines/tree-plan.ts';
export type { NodeFeedback, NodeInput } from './machines/tree-request.ts';
export { type TreeGiven, type TreeRun, type TreeRunOptions, treeRun } from './machines/tree-run.ts';
export type { Debt, EarlierTry } from './machines/tree-state.ts';
export type { Counter, Migration, Workflow, WorkflowOptions } from './machines/workflow.ts';
// What workflows are made of.
export { workflow } from './machines/workflow.ts';
export type { Change } from './projections/changes.ts';
export { type ContextView, contextView } from './projections/context-view.ts';
export {
  type FeedbackLoop,
  type FeedbackResolution,
  type FeedbackResponse,
  type FeedbackRound,
  feedbackLoops,
} from './projections/feedback-loops.ts';
export { type OpenQuestion, openQuestions } from './projections/open-questions.ts';
export type { PhaseMetrics, PhaseYield } from './projections/phase-metrics.ts';
export {
  type PhaseTelemetry,
  phaseTelemetry,
  type TelemetryCorrection,
  type TelemetryDefect,
} from './projections/phase-telemetry.ts';
export type { Projection } from './projections/projection.ts';
export { projection } from './projections/projection.ts';
export { runSummary } from './projections/run-summary.ts';
export {
  type Ranked,
  refinementRanking,
  type StoryAnalytics,
  storyAnalytics,
} from './projections/story-analytics.ts';
export { showStory, storyLines } from './projections/story-lines.ts';
export {
  type StoriesView,
  type StoryEntry,
  type StoryView,
  storyView,
} from './projections/story-view.ts';
export { type TightProgress, tightFiles, tightProgress } from './projections/tight-progress.ts';
export {
  type FeedbackAuditRow,
  type FeedbackStatistics,
  feedbackRows,
  feedbackStatistics,
  type TreeFeedbackLog,
  treeFeedbackLog,
} from './projections/tree-feedback-log.ts';
export type { WayStep } from './proofs/graph.ts';
export type { AgentOutcome } from './proofs/outcomes.ts';
export type { Endless, Proof } from './proofs/proof.ts';
export type { Reduce, Reductions } from './proofs/reduce.ts';
export type { WorstCase, WorstCaseOptions } from './proofs/worst-case.ts';
// What is read from the log.
export { createRuntime, openLog } from './runtime.ts';
export type { DeadLetter, RunOf, Runtime, StartOptions } from './runtime-api.ts';
export type { AgentsOf, RuntimeLimits, RuntimeOptions } from './runtime-options.ts';
export { type SendCommandOptions, sendCommand } from './send-command.ts';
export type {
  EventLog,
  EventQuery,
  Head,
  KeptHead,
  RunFilter,
  VerifyOptions,
  VerifyReport,
} from './store/event-log.ts';
export { sqliteVersion } from './store/sqlite/open-database.ts';
export { logOwner } from './store/sqlite/writer-lock.ts';
export { importLog } from './store/transfer.ts';
