import { type OpenQuestion, questionFingerprint, type RunResult, type Runtime } from '../index.ts';
import { escapeLine, quoted } from './escape.ts';
import { glanceAt } from './glance.ts';
import { howToAnswer, questionText } from './question-text.ts';
import { contextIn } from './run-context.ts';
import type { Terminal } from './terminal.ts';
import { duration, inColor, money } from './text.ts';
import { hint } from './ways-on.ts';

export interface Telling {
  readonly terminal: Terminal;
  readonly say: (line: string) => void;
  /** The log that was named, for the command lines that are shown. */
  readonly log: { readonly db?: string };
}

/** Says how a run ended, what it took, and where to look further. */
export const tellEnd = async (
  runtime: Runtime,
  { run: id, verdict, output, reason, turns }: RunResult,
  { terminal, say, log }: Telling,
): Promise<void> => {
  const [record] = await runtime.runs({ reverse: true }).then((runs) => runs.filter((run) => run.id === id));
  const { calls, costUsd, pass } = glanceAt(await runtime.actor(id));
  const tookMs = record?.endedAtMs == null ? 0 : record.endedAtMs - record.startedAtMs;
  if (terminal.isJson) {
    terminal.json({
      type: 'ended',
      run: id,
      verdict,
      reason,
      output,
      turns,
      passes: pass,
      calls,
      costUsd,
      tookMs,
    });
    return;
  }
  const took = [
    ...(pass === null ? [] : [`${pass} ${pass === 1 ? 'pass' : 'passes'}`]),
    `${calls} ${calls === 1 ? 'call' : 'calls'}`,
    money(costUsd),
    duration(tookMs),
  ].join(', ');
  say(`${escapeLine(id)}: ${inColor(terminal, verdict)} (${took})`);
  const why = reasonOf(reason, output);
  if (why !== undefined) say(quoted(why, { label: 'reason, as the run states it', linesMax: 10 }));
  say(`See: ${hint(log, 'show', id)}, ${hint(log, 'why', id)}`);
};

const reasonOf = (reason: string | undefined, output: unknown): string | undefined => {
  if (reason !== undefined) return reason;
  const stated =
    typeof output === 'object' && output !== null && 'reason' in output ? output.reason : undefined;
  return typeof stated === 'string' && stated !== '' ? stated : undefined;
};

/** A question for programs, with what "answer --expect" takes. */
export const withFingerprint = (question: OpenQuestion): OpenQuestion & { readonly fingerprint: string } => ({
  ...question,
  fingerprint: questionFingerprint(question),
});

/** Says what a run waits for, and how it goes on. */
export const tellWaiting = async (
  runtime: Runtime,
  id: string,
  { terminal, say, log }: Telling,
): Promise<void> => {
  const questions = await runtime.questions({ run: id });
  if (terminal.isJson) {
    terminal.json({ type: 'waiting', run: id, questions: questions.map(withFingerprint) });
    return;
  }
  for (const question of questions) {
    say(questionText(question));
    say(`Answer with: ${howToAnswer(question, log)}`);
  }
  const { whole, pauseReasons } = contextIn(await (await runtime.run(id)).state());
  const isManual = questions.length === 0 && pauseReasons.length === 0 && whole['mode'] === 'manual';
  const what =
    questions.length > 0
      ? 'it waits for a person'
      : isManual
        ? 'its stories are worked on step by step'
        : 'it is paused, or waits for a message';
  const then = hint(log, 'resume', id, ...(isManual ? ['--auto'] : []));
  say(`${escapeLine(id)}: ${terminal.colors.yellow('waiting')} (${what}). Then: ${then}`);
};

/** Says that a run is paused, for what, and how it goes on. */
export const tellPaused = (id: string, reasons: readonly string[], { terminal, say, log }: Telling): void => {
  if (terminal.isJson) {
    terminal.json({ type: 'paused', run: id, reasons });
    return;
  }
  const why = escapeLine(reasons.join(', '));
  say(`${escapeLine(id)}: ${terminal.colors.yellow('paused')} (${why}). Then: ${hint(log, 'resume', id)}`);
};
