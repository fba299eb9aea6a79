import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { RecordedEvent } from '../events/event.ts';
import type { RecordedTurn } from '../events/turn.ts';
import type { Projection } from '../projections/projection.ts';
import { replaceFile } from './replace-file.ts';

/** A view of a run that is kept as files in the folder of the run. */
export interface FileView<State> {
  readonly projection: Projection<State>;
  /** Null if the run has no folder. */
  readonly folder: (state: State) => string | null;
  readonly files: (state: State) => Readonly<Record<string, string>>;
}

export interface RunFiles {
  /** Brings the files of runs that are open up to date: a crash may have come between a commit and its files. */
  restore(runs: readonly string[]): Promise<void>;
  /** Writes what a turn changed. Done when it returns: the calls that the turn opened may read it. */
  committed(turn: RecordedTurn): void;
}

export interface FilePorts {
  readonly read: <State>(projection: Projection<State>, run: string) => Promise<State>;
  readonly warn: (warning: string) => void;
}

/** Keeps views as files. They are derived: the log has everything, and a folder that cannot be written is a warning. */
export const createRunFiles = <State>(
  { projection, folder, files }: FileView<State>,
  { read, warn }: FilePorts,
): RunFiles => {
  const states = new Map<string, State>();

  const write = (run: string, state: State): void => {
    const place = folder(state);
    if (place === null) return;
    try {
      mkdirSync(place, { recursive: true, mode: 0o700 });
      for (const [name, text] of Object.entries(files(state))) replaceFile(join(place, name), text);
    } catch (error) {
      warn(`The files of the run "${run}" could not be written to ${place}: ${String(error)}`);
    }
  };

  /** Nothing of the state is shared: a fold changes it in place. */
  const stateOf = (run: string): State => {
    const state = states.get(run) ?? structuredClone(projection.initial);
    states.set(run, state);
    return state;
  };

  return {
    async restore(runs) {
      for (const run of runs) {
        const state = structuredClone(await read(projection, run));
        if (folder(state) === null) continue;
        states.set(run, state);
        write(run, state);
      }
    },
    committed({ events, runs }) {
      const changed = new Set<string>();
      for (const event of events) if (foldInto(projection, stateOf, event)) changed.add(event.run);
      for (const run of changed) write(run, stateOf(run));
      for (const { id, verdict } of runs) if (verdict !== null) states.delete(id);
    },
  };
};

const foldInto = <State>(
  { on }: Projection<State>,
  stateOf: (run: string) => State,
  event: RecordedEvent,
): boolean => {
  const fold = Object.hasOwn(on, event.type) ? on[event.type] : undefined;
  if (!fold) return false;
  // A fold is written for data that may be changed; this copy is nobody else's.
  fold(stateOf(event.run) as never, event);
  return true;
};
