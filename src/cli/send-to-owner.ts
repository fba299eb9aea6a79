import { type Command, createRedactor, type Redactor, RuntimeError, sendCommand } from '../index.ts';
import { openRuntime, secretsIn } from './open.ts';

export interface Sent {
  /** Whether a process works on the log, and carried it out. */
  readonly hasOwner: boolean;
  readonly position: number | null;
  /** Takes out of what is told of it what was taken out of it. */
  readonly redactor: Redactor;
}

/**
 * Has a command carried out by the process that works on a log, or here if there is none.
 *
 * @throws {CommandRefused} if it was refused
 * @throws {RuntimeError} SECRETS_UNREADABLE, WRONG_USE
 */
export const sendToOwner = async (
  file: string,
  command: Exclude<Command, { kind: 'start' | 'resend' }>,
  { by }: { readonly by?: string } = {},
): Promise<Sent> => {
  let hasOwner = true;
  const runs = [runOf(command)];
  const secrets = await secretsIn(file, runs);
  const outcome = await sendCommand(file, command, {
    ...(by !== undefined && { by }),
    secrets,
    open: async () => {
      const runtime = await openRuntime(file, { mode: 'command', runs });
      hasOwner = false;
      return runtime;
    },
  });
  if (!outcome.ok) throw new CommandRefused(outcome.error.message, outcome.error.code);
  if (!outcome.taken && command.kind === 'send')
    throw new RuntimeError('WRONG_USE', {
      problem: `"${command.to}" does not take this now.`,
      instead: `See where it stands: loopwright show ${command.to}.`,
    });
  return { hasOwner, position: outcome.position, redactor: createRedactor(secrets) };
};

/** The run that a command is for. */
const runOf = (command: Exclude<Command, { kind: 'start' | 'resend' }>): string => {
  if (command.kind === 'cancel') return command.run;
  const [run = ''] = (command.kind === 'answer' ? command.question : command.to).split('/');
  return run;
};

/** What the owner of a log said against a command: its message and code, as it would have thrown them. */
class CommandRefused extends Error {
  override readonly name = 'CommandRefused';
  readonly code: string | undefined;

  constructor(message: string, code: string | undefined) {
    super(message);
    this.code = code;
  }
}
