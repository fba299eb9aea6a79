import { isRuntimeError, type Limits, type Runtime, type Spent } from '../index.ts';

/** What every loop of the package keeps in the context of its run, as far as a run has it. */
export interface LoopContext {
  readonly spent: Spent | undefined;
  readonly limits: Partial<Limits>;
  readonly pauseReasons: readonly string[];
  /** All of it, for whoever knows the loop. */
  readonly whole: Readonly<Record<string, unknown>>;
}

const NOTHING: LoopContext = { spent: undefined, limits: {}, pauseReasons: [], whole: {} };

/** The context of a run's root. Nothing of a run whose workflow is not known here. */
export const contextOf = async (runtime: Runtime, run: string): Promise<LoopContext> => {
  try {
    return toLoopContext((await runtime.actor(run)).context);
  } catch (error) {
    if (isRuntimeError(error, 'MACHINE_MISSING', 'UNKNOWN_ACTOR', 'REPLAY_DIVERGED', 'RUN_PARKED'))
      return NOTHING;
    throw error;
  }
};

export const contextIn = ({ context }: { readonly context: unknown }): LoopContext => toLoopContext(context);

export const toLoopContext = (context: unknown): LoopContext => {
  if (!isObject(context)) return NOTHING;
  const { spent, limits, pauseReasons } = context;
  return {
    spent: isSpent(spent) ? spent : undefined,
    limits: isObject(limits) ? limits : {},
    pauseReasons: Array.isArray(pauseReasons) ? pauseReasons.map(String) : [],
    whole: context,
  };
};

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isSpent = (value: unknown): value is Spent =>
  isObject(value) && typeof value['calls'] === 'number' && typeof value['costUsd'] === 'number';
