import { isRuntimeError } from '../errors.ts';
import { failureOf } from '../events/failure.ts';
import type { Inbox, InboxCommand } from '../store/inbox.ts';
import type { Clock } from './clock.ts';
import { type Command, parseCommand } from './commands.ts';
import type { Receipt } from './host.ts';

/** What the sender of a command reads back. */
export type CommandOutcome =
  | { readonly ok: true; readonly taken: boolean; readonly position: number | null }
  | {
      readonly ok: false;
      readonly error: { readonly name: string; readonly message: string; readonly code?: string };
    };

export interface InboxPorts {
  readonly inbox: Inbox;
  readonly clock: Clock;
  /** What became of a command that is in the log already: its owner was killed before it could say so. */
  readonly findDone: (id: string) => Promise<Pick<Receipt, 'taken' | 'position'> | undefined>;
  readonly execute: (
    command: Command,
    header: { readonly id: string; readonly by: string | null },
  ) => Promise<Receipt>;
  readonly warn: (warning: string) => void;
}

const POLL_MS = 50;
const COMMANDS_AT_ONCE = 100;

/** What says nothing about the command itself. */
const PASSING_TROUBLES = [
  'DISK_FULL',
  'DISK_LOW',
  'LOG_WRITE_FAILED',
  'LOG_FAULT',
  'RUNTIME_CLOSED',
  'QUEUE_FULL',
] as const;

/** Carries out the commands of other processes, each exactly once: its id is the id of the stimulus that it becomes. */
export interface InboxDrain {
  /** Carries out what waits, then looks for more now and then. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export const createInboxDrain = (ports: InboxPorts): InboxDrain => {
  let timer: NodeJS.Timeout | undefined;
  let draining: Promise<void> | undefined;
  let isLeft = true;

  const drain = async (): Promise<void> => {
    try {
      isLeft = true;
      for (
        let commands = ports.inbox.pending(COMMANDS_AT_ONCE);
        commands.length > 0;
        commands = ports.inbox.pending(COMMANDS_AT_ONCE)
      ) {
        for (const command of commands) {
          ports.inbox.settle(command.id, JSON.stringify(await outcomeOf(command)), ports.clock.now());
        }
      }
      isLeft = false;
    } catch (error) {
      ports.warn(`Commands wait in the inbox: ${String(error)}`);
    }
  };

  const outcomeOf = async ({ id, body, by }: InboxCommand): Promise<CommandOutcome> => {
    try {
      const receipt = (await ports.findDone(id)) ?? (await ports.execute(parseCommand(body), { id, by }));
      return { ok: true, taken: receipt.taken, position: receipt.position ?? null };
    } catch (error) {
      // While the disk is full nothing is settled: the command stays, and is tried again.
      if (isRuntimeError(error, ...PASSING_TROUBLES)) throw error;
      return { ok: false, error: failureOf(error) };
    }
  };

  /** What it throws would be thrown in a timer, and end the process. */
  const hasNews = (): boolean => {
    try {
      return ports.inbox.changed() || isLeft;
    } catch (error) {
      ports.warn(`The inbox cannot be read: ${String(error)}`);
      return false;
    }
  };

  const poll = () => {
    if (draining || !hasNews()) return;
    draining = drain().finally(() => {
      draining = undefined;
    });
  };
  return {
    async start() {
      await drain();
      timer = setInterval(poll, POLL_MS);
      timer.unref();
    },
    async stop() {
      clearInterval(timer);
      await draining;
      ports.inbox.close();
    },
  };
};
