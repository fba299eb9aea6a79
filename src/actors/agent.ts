import { RuntimeError } from '../errors.ts';
import type { Json } from '../events/json.ts';
import { isStandardSchema, type StandardSchema } from '../events/standard-schema.ts';
import type { PromiseCreator } from './actor-logic.ts';
import type { CallLink, LINK } from './call-link.ts';
import { commandFunction } from './command-agent.ts';
import { type CommandOptions, checkedCommand } from './command-options.ts';

/** What an agent is given with each call. */
export interface AgentRequest<Input> {
  readonly input: Input;
  /** Aborted when nobody waits for the answer any more: cancelled, timed out, or the runtime closes. */
  readonly signal: AbortSignal;
  /** The same over retries and restarts: the piece of work. */
  readonly callId: string;
  /** `callId/attempt`: the same over restarts. An agent that was killed is called again with it: use it to act once only. */
  readonly idempotencyKey: string;
  readonly attempt: number;
  readonly run: string;
  readonly actor: string;
  /** What was said about earlier work on this, oldest first. */
  readonly feedback: readonly Json[];
  /** What was done on this before, oldest first. */
  readonly history: readonly Json[];
  /** What it should know beside its input. */
  readonly context: Json;
  /** Why the attempt before this one failed; null for the first. */
  readonly failure: string | null;
  /** For agents of this package: a request that is passed on to one must keep it, as `{ ...request }` does. */
  readonly [LINK]?: CallLink;
  /** Tells whoever watches how far it is. Not in the log; more than a hundred a second are dropped. */
  readonly progress: (update: Json) => void;
}

export type AgentFunction<Input, Output> = (request: AgentRequest<Input>) => Output | PromiseLike<Output>;

export interface AgentOptions {
  /** How many calls may run at once, over all runs in this process; 8 unless set. */
  readonly concurrency?: number;
  /** How long one call may run; 30 minutes unless set, Infinity for no limit. */
  readonly timeoutMs?: number;
  /** After how many failures in a row it is not called for a while; 50 failures and 30 seconds unless set. */
  readonly quarantine?: { readonly failures: number; readonly forMs: number };
  /** What its output must fit: any Standard Schema (zod, valibot, arktype). One that does not is a failed attempt. */
  readonly schema?: StandardSchema;
}

/** What does work. It lives outside of the log: its calls and answers are in it. */
export interface Agent<Input = never, Output = unknown> {
  readonly run: AgentFunction<Input, Output>;
  readonly options: Required<Omit<AgentOptions, 'schema'>> & Pick<AgentOptions, 'schema'>;
  /** Shared by all runtimes in the process that use this agent. */
  readonly slots: Slots;
}

const DEFAULTS: Required<Omit<AgentOptions, 'schema'>> = {
  concurrency: 8,
  timeoutMs: 30 * 60_000,
  quarantine: { failures: 50, forMs: 30_000 },
};

/** Makes an agent of a function. */
const makeAgent = <Input, Output>(
  run: AgentFunction<Input, Output>,
  options: AgentOptions = {},
): Agent<Input, Output> => {
  const filled = { ...DEFAULTS, ...options };
  if (typeof run !== 'function')
    throw new RuntimeError('BAD_OPTION', { option: 'agent', found: typeof run, expected: 'a function' });
  if (!Number.isSafeInteger(filled.concurrency) || filled.concurrency < 1) {
    throw new RuntimeError('BAD_OPTION', {
      option: 'concurrency',
      found: String(filled.concurrency),
      expected: 'an integer from 1',
    });
  }
  if (!(filled.timeoutMs > 0)) {
    throw new RuntimeError('BAD_OPTION', {
      option: 'timeoutMs',
      found: String(filled.timeoutMs),
      expected: 'a number above 0',
    });
  }
  const { failures, forMs } = filled.quarantine;
  if (!(failures >= 1 && forMs >= 0)) {
    throw new RuntimeError('BAD_OPTION', {
      option: 'quarantine',
      found: `${failures} failures and ${forMs} ms`,
      expected: 'a number of failures from 1, and of milliseconds from 0',
    });
  }
  const { schema } = filled;
  if (schema !== undefined && !isStandardSchema(schema))
    throw new RuntimeError('BAD_OPTION', {
      option: 'schema',
      found: `a ${typeof schema}`,
      expected: 'a Standard Schema (of zod, valibot, arktype or another library)',
    });
  return { run, options: filled, slots: createSlots(filled.concurrency) };
};

/**
 * Makes an agent of a program, which is started for each call: without a shell, in a process group of its own, with a minimal
 * environment. What a run has to say to it goes to its standard input, never into its arguments. What it answers is known to no
 * type: it fits every caller, unless its author states the output.
 *
 * @throws {RuntimeError} BAD_OPTION
 */
const command = <Input = unknown, Output = never>(
  file: string,
  args: readonly string[] = [],
  options: CommandOptions = {},
): Agent<Input, Output> => {
  // Two that write the same file at once would read each other's results.
  const { concurrency = options.resultsFile === undefined ? undefined : 1, ...others } = options;
  const { timeoutMs, quarantine, schema, ...rest } = others;
  return makeAgent(commandFunction<Input, Output>(checkedCommand(file, args, rest)), {
    ...(concurrency !== undefined && { concurrency }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    ...(quarantine !== undefined && { quarantine }),
    ...(schema !== undefined && { schema }),
  });
};

/** Makes an agent of a function, or (`agent.command`) of a program. */
export const agent: typeof makeAgent & { readonly command: typeof command } = Object.assign(makeAgent, {
  command,
});

/** The function inside a `fromPromise` of a machine, as the agent that its author meant. */
export const agentOfCreator = (creator: PromiseCreator): Agent =>
  agent(({ input, signal }) => creator({ input, signal }));

/** Places for calls at work. First come, first served. */
export interface Slots {
  /** Calls back when a place is free, at once if one is. Returns what gives the place back, or leaves the queue. */
  take(begin: () => void): () => void;
}

const createSlots = (concurrency: number): Slots => {
  const waiting = new Set<() => void>();
  let taken = 0;
  const next = () => {
    for (const begin of waiting) {
      if (taken >= concurrency) return;
      waiting.delete(begin);
      taken += 1;
      begin();
    }
  };
  return {
    take(begin) {
      let state: 'waiting' | 'working' | 'over' = 'waiting';
      const enter = () => {
        state = 'working';
        begin();
      };
      if (taken < concurrency && waiting.size === 0) {
        taken += 1;
        enter();
      } else {
        waiting.add(enter);
        next();
      }
      return () => {
        if (state === 'working') taken -= 1;
        else waiting.delete(enter);
        if (state !== 'over') next();
        state = 'over';
      };
    },
  };
};
