import { setTimeout as sleep } from 'node:timers/promises';
import { v7 as uuid } from 'uuid';
import type { Command } from './actors/commands.ts';
import type { CommandOutcome } from './actors/inbox-drain.ts';
import { isRuntimeError, RuntimeError } from './errors.ts';
import { createDoor } from './events/door.ts';
import type { SecretOptions } from './events/redact.ts';
import { openInbox } from './store/inbox.ts';

export interface SendCommandOptions {
  /** The same id is carried out once only: give it again to ask for the outcome. A new one unless set. */
  readonly id?: string;
  readonly by?: string;
  /** What must not even be in the inbox: as the runtime has it. Tokens of a known shape are taken out without it. */
  readonly secrets?: SecretOptions;
  /** How long to wait for the owner; 10 seconds unless set. */
  readonly timeoutMs?: number;
  /**
   * Opens a runtime on the log, to carry the command out if nobody else owns the log: most often
   * `() => createRuntime({ file, …, idle: true })`. Without it the command waits for the next owner.
   */
  readonly open?: () => Promise<{ close(): Promise<void> }>;
}

const LOOK_AGAIN_MS = 20;
const TIMEOUT_MS = 10_000;

/**
 * Sends a command to the process that owns a log, and waits for its outcome. Without an owner it is carried out by the runtime
 * that `open` opens, or by the next owner of the log.
 *
 * @throws {RuntimeError} COMMAND_TIMED_OUT: the command stays in the inbox, and will be carried out once; PAYLOAD_UNSUPPORTED
 */
export const sendCommand = async (
  file: string,
  command: Command,
  { id = uuid(), by, secrets = {}, timeoutMs = TIMEOUT_MS, open }: SendCommandOptions = {},
): Promise<CommandOutcome> => {
  // Checked here too, so that the sender hears of it at once and no secret is left in the inbox.
  const door = createDoor({ largeStringBytes: Number.MAX_SAFE_INTEGER, secrets });
  const body = door.admit(withoutUndefined(command), 'command').json;
  const inbox = openInbox(file);
  try {
    inbox.post({
      id,
      kind: command.kind,
      body,
      by: by === undefined ? null : door.text(by),
      atMs: Date.now(),
    });
    if (open) await carryOut(open);
    const untilMs = performance.now() + timeoutMs;
    for (;;) {
      const outcome = inbox.outcome(id);
      // The owner wrote it: see `CommandOutcome`.
      if (outcome !== undefined) return JSON.parse(outcome) as CommandOutcome;
      if (performance.now() >= untilMs) throw new RuntimeError('COMMAND_TIMED_OUT', { file, id });
      await sleep(LOOK_AGAIN_MS);
    }
  } finally {
    inbox.close();
  }
};

/** A runtime carries out what is in the inbox when it opens the log. */
const carryOut = async (open: NonNullable<SendCommandOptions['open']>): Promise<void> => {
  try {
    const runtime = await open();
    await runtime.close();
  } catch (error) {
    // Somebody owns the log, and carries the command out.
    if (!isRuntimeError(error, 'LOG_LOCKED')) throw error;
  }
};

const withoutUndefined = (command: Command): object =>
  Object.fromEntries(Object.entries(command).filter(([, value]) => value !== undefined));
