// For tests of workflows: the same tools that the package is tested with.

export { type AnyAnswers, anyAnswers } from './any-agents.ts';
export { type CrashReport, type CrashScenario, crashAtEveryStep } from './crash-at-every-step.ts';
export { expectTerminates, type TerminationOptions } from './expect-terminates.ts';
export {
  type RecordedAgent,
  type RecordedRun,
  recordedAgent,
  recordedAgents,
} from './recorded-agents.ts';
export { type EndlessOptions, type EndlessReplay, replayEndless } from './replay-endless.ts';
export { type Line, type ScriptedAgent, scriptedAgent } from './scripted-agent.ts';
export { createVirtualClock, type VirtualClock } from './virtual-clock.ts';
