import type { EventLog } from '../../src/store/event-log.ts';

/** What there is to ask for. */
export interface Names {
  readonly actors: readonly string[];
  readonly runs: readonly string[];
  readonly turns: readonly string[];
}

export async function namesIn(log: EventLog): Promise<Names> {
  const events = await log.events({ limit: Number.POSITIVE_INFINITY });
  return {
    actors: [...new Set(events.map(({ actor }) => actor))],
    runs: [...new Set(events.map(({ run }) => run))],
    turns: [...new Set(events.map(({ id }) => id.slice(0, id.lastIndexOf('/'))))],
  };
}

/** Every way of asking a log for all that it has. */
export function questionsTo(log: EventLog, { actors, runs, turns }: Names) {
  const limit = Number.POSITIVE_INFINITY;
  return {
    head: () => log.head(),
    byPosition: () => log.events({ limit }),
    turns: () => log.turns({ limit }),
    runs: () => log.runs({}),
    openWork: () => log.openWork(),
    blobs: async () => [...(await log.blobs(await log.blobHashes({})))],
    view: () => log.loadView({ projection: 'progress', version: 1, partition: 'run-1' }),
    actors: async () => {
      const loaded = await log.load(actors);
      return { actors: [...loaded.actors], runs: [...loaded.runs] };
    },
    streams: async () => [...(await log.load(actors, { wholeStreams: true })).actors],
    byRun: () => Promise.all(runs.map((run) => log.events({ run, limit }))),
    byActor: () => Promise.all(actors.map((actor) => log.events({ actor, limit }))),
    findTurn: () => Promise.all(turns.map((id) => log.findTurn(id))),
  };
}

/** All that a log has to say. Two logs that give the same are the same to everyone. */
export async function readEverything(log: EventLog): Promise<Readonly<Record<string, unknown>>> {
  const all: Record<string, unknown> = {};
  for (const [name, ask] of Object.entries(questionsTo(log, await namesIn(log)))) all[name] = await ask();
  return all;
}

/** What a golden log is compared by: all that it holds, once. */
export async function goldenAnswers(log: EventLog): Promise<Readonly<Record<string, unknown>>> {
  const { head, turns, runs, openWork, blobs, view, actors } = questionsTo(log, await namesIn(log));
  const all: Record<string, unknown> = {};
  for (const [name, ask] of Object.entries({ head, turns, runs, openWork, blobs, view, actors }))
    all[name] = await ask();
  return all;
}
