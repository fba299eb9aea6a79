import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import {
  type AgentRequest,
  type GivenStory,
  type RecordedEvent,
  type Runtime,
  type SecretOptions,
  type StoryLoopOptions,
  type StoryWork,
  storyLoop,
  storyView,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { expectReplays, type FakeClock, open } from './runtimes.ts';

export type Request = AgentRequest<StoryWork>;
export type Work = (request: Request) => unknown;

export const approve = { decision: 'approved', passed: true, issues: [], feedback: 'good' };
export const rejectFor = (category: string, severity = 'critical', description = 'a fault') => ({
  decision: 'rejected',
  passed: false,
  severity: 'high',
  issues: [{ severity, category, description, file: 'a.ts', line: 3, suggestedFix: 'mend it' }],
  feedback: 'not good',
});
export const cannotReview = { decision: 'failed', passed: false, issues: [], feedback: 'no model' };

/** What is said of a story, review by review; the last one for ever. */
export const saying = (...results: readonly unknown[]): Work => {
  const said = new Map<string, number>();
  return ({ input }) => {
    const nth = said.get(input.story.id) ?? 0;
    said.set(input.story.id, nth + 1);
    return results[Math.min(nth, results.length - 1)];
  };
};

export interface Play {
  readonly options?: StoryLoopOptions;
  readonly agents?: Readonly<Record<string, Work>>;
  readonly stories?: readonly GivenStory[];
  readonly clock?: FakeClock;
  readonly file?: string;
  readonly secrets?: SecretOptions;
}

/** A run of stories with scripted agents, and what each of them was given. */
export const play = async ({
  options = {},
  agents = {},
  stories = [{ id: 'a', title: 'A story' }],
  clock,
  file = temporaryFile(),
  secrets,
}: Play) => {
  const loop = storyLoop('stories', { mode: 'auto', ...options });
  const requests: { readonly role: string; readonly request: Request }[] = [];
  const roles = ['research', 'plan', 'implement', 'create-pr', ...(options.reviewers ?? ['review'])];
  const scripted = Object.fromEntries(
    roles.map((role) => {
      const work =
        agents[role] ??
        (role === 'review' ? () => approve : ({ input }: Request) => `${role} ${input.iteration}`);
      return [
        role,
        (request: Request) => {
          requests.push({ role, request });
          return work(request);
        },
      ];
    }),
  );
  const runtime = await open({
    file,
    workflows: [loop],
    agents: scripted,
    durability: 'normal',
    ...(clock && { clock }),
    ...(secrets && { secrets }),
  });
  const run = await runtime.start('stories', { stories }, { id: 'r' });
  const rolesCalled = (story?: string): readonly string[] =>
    requests.flatMap(({ role, request }) =>
      story === undefined || request.input.story.id === story ? role : [],
    );
  return { runtime, run, loop, file, requests, rolesCalled };
};

type Played = Awaited<ReturnType<typeof play>>;

/** What a second runtime finds in the log, which replays. */
export const reread = async ({ runtime, file, loop }: Pick<Played, 'runtime' | 'file' | 'loop'>) => {
  await runtime.close();
  await expectReplays(file, [loop]);
  const second = await open({ file, workflows: [loop], agents: {}, idle: true });
  const events = await second.audit({ run: 'r', limit: Number.POSITIVE_INFINITY });
  const { stories } = await second.read(storyView, 'r');
  const [record] = await second.runs();
  return { second: second as Runtime, events, stories, verdict: record?.verdict ?? null };
};

export const factsIn = (events: readonly RecordedEvent[], type: string, story?: string) =>
  events
    .filter(
      (event) =>
        event.kind === 'fact' &&
        event.type === type &&
        (story === undefined || event.data['story'] === story),
    )
    .map(({ data }) => data);

export const statusesOf = (events: readonly RecordedEvent[], story = 'a') =>
  factsIn(events, 'story.status', story).map(({ status }) => status);

/** Writes a story beside a log. */
export const storyFile = (log: string, name: string, text: string): string => {
  const file = join(dirname(log), `${name}.md`);
  writeFileSync(file, text);
  return file;
};
