import type { Observable } from 'rxjs';
import { RuntimeError } from '../errors.ts';
import { readContext } from '../events/context-import.ts';
import { type ContextChange, type ContextPath, readPath, valueAt } from '../events/context-path.ts';
import type { Json } from '../events/json.ts';
import type { Change } from '../projections/changes.ts';
import { contextView } from '../projections/context-view.ts';
import type { Projection } from '../projections/projection.ts';
import type { Command } from './commands.ts';
import type { Receipt } from './host.ts';
import type { RunContext, SendOptions } from './run-handle.ts';

export interface ContextPorts {
  readonly execute: (command: Command, options: SendOptions) => Promise<Receipt>;
  readonly read: <State>(projection: Projection<State>, run: string) => Promise<State>;
  readonly watch: <State>(projection: Projection<State>, run: string, pattern: string) => Observable<Change>;
}

/** The context of a run, read from its projection and written through its actor. */
export const createRunContext = ({ execute, read, watch }: ContextPorts, run: string): RunContext => {
  const change = async (message: ContextChange, options: SendOptions = {}): Promise<void> => {
    const path = readPath(message.path);
    if (path.length === 0) throw new RuntimeError('BAD_PATH', { path: '', problem: 'it has no keys' });
    const { expectedVersion } = options;
    await execute(
      {
        kind: 'send',
        to: `${run}/context`,
        message,
        ...(expectedVersion !== undefined && { expectedVersion }),
      },
      options,
    );
  };
  const keysOf = (path: string | ContextPath): ContextPath => readPath(path);
  return {
    async get(path = []) {
      const keys = keysOf(path);
      // All that is in it came from events.
      return valueAt((await read(contextView, run)) as Json, keys);
    },
    set: async (path, value, options) => change({ type: 'context.set', path: keysOf(path), value }, options),
    update: async (path, value, options) =>
      change({ type: 'context.update', path: keysOf(path), value }, options),
    push: async (path, value, options) =>
      change({ type: 'context.push', path: keysOf(path), value }, options),
    async import(document, options) {
      const { accepted, refused } = readContext(document);
      for (const { path, value } of accepted) await change({ type: 'context.set', path, value }, options);
      return { accepted: accepted.map(({ path }) => path), refused };
    },
    watch: (pattern) => watch(contextView, run, pattern),
  };
};
