import { isDeepStrictEqual } from 'node:util';
import {
  isRuntimeError,
  type Json,
  type JsonObject,
  openLog,
  type RunRecord,
  type Runtime,
  type Workflow,
} from '../index.ts';
import { readDefinitions } from './definitions.ts';
import { workflowOfRun } from './registered.ts';
import { isObject } from './run-context.ts';

/**
 * What a run would be started with under another workflow. The log keeps the input of its machine: what of it the old workflow gives to
 * every run is replaced by what the new one gives, and what the run was given itself stays. Undefined if that cannot be told apart.
 */
export const startedAgain = async (
  runtime: Runtime,
  log: string,
  { record, workflow }: { readonly record: RunRecord; readonly workflow: Workflow },
): Promise<Json | undefined> => {
  const old = await workflowIn(log, record);
  const [started] = await runtime.audit({ run: record.id, limit: 1 });
  const input: unknown = started?.data['input'];
  const [was, is] = [old && settingsOf(old), settingsOf(workflow)];
  if (!isObject(input) || !was || !is) return undefined;
  const given = Object.entries(input).filter(([name, value]) => !isDeepStrictEqual(was[name], value));
  const settings = Object.entries(is).filter(([name]) => !given.some(([own]) => own === name));
  return { ...input, ...Object.fromEntries(settings) } as JsonObject; // Both are JSON.
};

const workflowIn = async (file: string, record: RunRecord): Promise<Workflow | undefined> => {
  const log = await openLog(file);
  try {
    return workflowOfRun(await readDefinitions(log), record);
  } finally {
    await log.close();
  }
};

/** Something that each of the loops can be started with. */
const ANYTHING: readonly Json[] = [null, { task: null }, { stories: [{ id: 'a', title: 'a' }] }];

/** What a workflow gives to every run. */
const settingsOf = ({ options }: Workflow): Readonly<Record<string, unknown>> | undefined => {
  for (const given of ANYTHING) {
    try {
      const prepared: unknown = options.prepare?.(given);
      if (isObject(prepared)) return prepared;
    } catch (error) {
      if (!isRuntimeError(error)) throw error;
    }
  }
  return undefined;
};
