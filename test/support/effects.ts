import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { answer, openLog, type RecordedEvent } from 'loopwright';

/** Where workers note each thing that an agent of theirs did to the world outside: it outlives them. */
const notesOf = (file: string): string => `${file}.effects`;

type AnyAgent = (request: never) => unknown;

/**
 * The same agents, each of which first notes the key of its call: that is its effect. It says the key with its answer or its failure,
 * so that the log has it. The process kills itself right after its nth effect, if asked to: nobody has heard of it then.
 */
export const noted = <Agents extends Readonly<Record<string, AnyAgent>>>(
  agents: Agents,
  { file, killAt = 0 }: { readonly file: string; readonly killAt?: number },
): Agents => {
  let effects = 0;
  const note =
    (agent: AnyAgent) =>
    (request: { readonly idempotencyKey: string }): unknown => {
      const { idempotencyKey: key } = request;
      appendFileSync(notesOf(file), `${key}\n`);
      effects += 1;
      if (effects === killAt) process.kill(process.pid, 'SIGKILL');
      try {
        return withKey(agent(request as never), key); // Each is given what its own type asks for.
      } catch (error) {
        throw new Error(`${error instanceof Error ? error.message : String(error)} [${key}]`, {
          cause: error,
        });
      }
    };
  const all = Object.entries(agents).map(([name, agent]) => [name, note(agent)]);
  return Object.fromEntries(all) as Agents; // The same names, and functions of the same requests.
};

const withKey = (returned: unknown, key: string): unknown => {
  const artifacts = { key };
  if (typeof returned !== 'object' || returned === null || !('plain' in returned))
    return answer(returned, { artifacts });
  // What `answer` makes says what it is made of.
  const { output, ...details } = (returned as ReturnType<typeof answer>).plain();
  return answer(output, { ...details, artifacts });
};

export interface Effects {
  /** How often each key was acted under. */
  readonly counts: ReadonlyMap<string, number>;
  /** What is not as it must be. */
  readonly problems: readonly string[];
}

/** Holds what agents did, over all the processes that worked on a log, against what the log has of it. */
export const effectsOf = async (
  file: string,
  { restarts }: { readonly restarts: number },
): Promise<Effects> => {
  const lines = existsSync(notesOf(file)) ? readFileSync(notesOf(file), 'utf8').trim().split('\n') : [];
  const counts = new Map<string, number>();
  for (const key of lines) counts.set(key, (counts.get(key) ?? 0) + 1);
  const answers = await answersIn(file);
  const problems = [
    ...[...counts].flatMap(([key, count]) =>
      count > 1 + restarts ? [`${key} was acted under ${count} times`] : [],
    ),
    ...[...counts.keys()].flatMap((key) =>
      answers.get(key) === 1 ? [] : [`${key} is recorded ${answers.get(key) ?? 0} times`],
    ),
    ...[...answers.keys()].flatMap((key) =>
      counts.has(key) ? [] : [`${key} is recorded, and nobody acted`],
    ),
  ];
  return { counts, problems };
};

/** How often the answer, or the failure, of each key has moved a machine. */
const answersIn = async (file: string): Promise<ReadonlyMap<string, number>> => {
  const log = await openLog(file);
  try {
    const rows = await log.events({
      kinds: ['message'],
      types: ['lw.call.done', 'lw.call.failed'],
      limit: Number.POSITIVE_INFINITY,
    });
    const counts = new Map<string, number>();
    for (const row of rows) {
      const key = keyIn(row);
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return counts;
  } finally {
    await log.close();
  }
};

const keyIn = ({ position, data }: RecordedEvent): string => {
  const { output, error } = data as {
    output?: { artifacts?: { key?: string } };
    error?: { message: string };
  };
  const key = output?.artifacts?.key ?? /\[([^\]]+)\]$/.exec(error?.message ?? '')?.[1];
  return key ?? `what was answered at ${position}`;
};
