import { expect } from 'vitest';
import type { RunInput } from '../../src/index.ts';
import {
  type AgentRequest,
  type Correction,
  type PhaseEvent,
  type PhaseInput,
  type PhaseRunOutput,
  type PhaseTelemetry,
  phaseTelemetry,
  type RecordedEvent,
  type Run,
  type RunResult,
  type Runtime,
  type Workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { type FakeClock, open } from './runtimes.ts';

export type Request = AgentRequest<PhaseInput>;
/** What an agent does the nth time that it is called, from 1. */
export type Work = (request: Request, nth: number) => unknown;

export interface Played {
  readonly runtime: Runtime;
  readonly run: Run<PhaseEvent>;
  readonly file: string;
  /** Who was called, in this order. */
  readonly calls: readonly string[];
  readonly requests: Readonly<Record<string, readonly Request[]>>;
  readonly workflow: Workflow;
}

const stepsOf = ({ options }: Workflow, task: unknown): RunInput['plan']['steps'] => {
  const prepared = options.prepare?.(task) as unknown as RunInput | undefined; // A phase run has a plan as well.
  return prepared?.plan.steps ?? [];
};

/** Makes something new each time. */
const makeNew: Work = ({ input }, nth) => ({ made: `${input.phase} ${nth}` });

/** A phase run with scripted agents: those that are not scripted make something new each time, and approve. */
export const play = async (
  workflow: Workflow,
  script: Readonly<Record<string, Work>> = {},
  { clock, task = 'a task' }: { readonly clock?: FakeClock; readonly task?: unknown } = {},
): Promise<Played> => {
  const file = temporaryFile();
  const calls: string[] = [];
  const requests: Record<string, Request[]> = {};
  const agents = stepsOf(workflow, task).flatMap(({ agent, gate }) =>
    (gate?.reviewers ?? [agent ?? '']).map((role) => {
      const work = script[role] ?? (gate ? () => 'PASS' : makeNew);
      return [
        role,
        (request: Request) => {
          calls.push(role);
          const own = (requests[role] ??= []);
          own.push(request);
          return work(request, own.length);
        },
      ] as const;
    }),
  );
  const runtime = await open<Workflow>({
    file,
    workflows: [workflow],
    agents: Object.fromEntries(agents),
    ...(clock && { clock }),
  });
  const run = (await runtime.start(workflow.name, task, { id: 'r' })) as unknown as Run<PhaseEvent>;
  return { runtime, run, file, calls, requests, workflow };
};

export interface ReadBack {
  readonly result: RunResult<PhaseRunOutput>;
  readonly events: readonly RecordedEvent[];
  readonly telemetry: PhaseTelemetry;
  readonly facts: (type: string) => readonly Record<string, unknown>[];
}

/** Waits for its end, closes the runtime, and gives what another one reads back from the file. */
export const readBack = async ({ runtime, run, file, workflow }: Played): Promise<ReadBack> => {
  await run.result();
  await runtime.close();
  const second = await open<Workflow>({ file, workflows: [workflow], agents: {}, idle: true });
  const again = await second.run('r');
  const result = (await again.result()) as unknown as RunResult<PhaseRunOutput>;
  const events = await second.audit({ run: 'r', limit: 100_000 });
  const telemetry = await second.read(phaseTelemetry, 'r');
  const { log, replay } = await second.verify();
  expect([log.problem, replay.problem]).toEqual([undefined, undefined]);
  await second.close();
  const facts = (type: string) =>
    events.filter((event) => event.type === type && event.kind === 'fact').map(({ data }) => data);
  return { result, events, telemetry, facts };
};

/** Answers the one question that is open. */
export const decide = async (
  { runtime, run }: Played,
  option: string,
  details: { readonly value?: number; readonly by?: string } = {},
): Promise<void> => {
  await run.settled();
  const questions = await runtime.questions();
  expect(questions).toHaveLength(1);
  await runtime.answer(questions[0]?.id ?? '', option, details);
};

/** A report with issues: described, and of which phases. */
export const fail = (
  ...issues: readonly (readonly [description: string, phases?: unknown, more?: object])[]
): unknown => ({
  assessment: 'FAIL',
  issues: issues.map(([description, affectedPhases, more]) => ({
    severity: 'critical',
    category: 'logic',
    description,
    ...(affectedPhases !== undefined && { affectedPhases }),
    ...more,
  })),
});

/** Numbers may be those of lines: words, each another. */
export const WORDS = [
  'alpha',
  'beta',
  'gamma',
  'delta',
  'epsilon',
  'zeta',
  'eta',
  'theta',
  'iota',
  'kappa',
  'lambda',
  'mu',
];

/** Fails with another issue each time, in that phase, so many times. */
export const failing =
  (times: number, phases: unknown): Work =>
  (_, nth) =>
    nth <= times ? fail([`${WORDS[nth]} is missing`, phases]) : 'PASS';

interface Told {
  readonly description: string;
  readonly foundBy: readonly string[];
}

/** The issues that an agent was told of in its nth call. */
export const toldIn = ({ requests }: Played, role: string, nth: number): readonly Told[] =>
  (requests[role]?.[nth - 1]?.feedback ?? []).flatMap(
    (each) => (each as unknown as { issues: readonly Told[] }).issues,
  );

/** What has been found so far. */
export const foundIn = async ({ runtime }: Played): Promise<Correction['defects']> => {
  const opened = await runtime.audit({ run: 'r', types: ['correction.opened'] });
  return opened.flatMap(({ data }) => data['defects'] as unknown as Correction['defects']);
};
