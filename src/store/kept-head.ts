import type { EventLog, KeptHead, VerifyReport } from './event-log.ts';

/**
 * Holds a log that is whole by itself against a head of it that was kept elsewhere: a log whose tail is gone is a whole, shorter log,
 * and one that was written anew is whole as well.
 */
export const againstHead = async (
  log: Pick<EventLog, 'turns' | 'events'>,
  report: VerifyReport,
  kept: KeptHead | undefined,
): Promise<VerifyReport> => {
  if (!report.ok || !kept) return report;
  const problem =
    'turn' in kept ? await turnProblem(log, report, kept) : await positionProblem(log, report, kept);
  return problem ? { ...report, ok: false, problem } : report;
};

type Log = Parameters<typeof againstHead>[0];

const turnProblem = async (
  log: Log,
  { head }: VerifyReport,
  kept: Extract<KeptHead, { turn: number }>,
): Promise<VerifyReport['problem']> => {
  if (kept.turn === 0) return undefined;
  if (kept.turn > head.turn)
    return {
      position: head.position,
      what: `it ends with turn ${head.turn}, but had ${kept.turn} when the head was kept`,
    };
  const [turn] = await log.turns({ after: kept.turn - 1, limit: 1 });
  if (turn?.chain === kept.chain) return undefined;
  return {
    position: turn?.events[0]?.position ?? 0,
    what: `turn ${kept.turn} is not the one whose head was kept`,
  };
};

const positionProblem = async (
  log: Log,
  { head }: VerifyReport,
  { position, chain }: Extract<KeptHead, { position: number }>,
): Promise<VerifyReport['problem']> => {
  if (position === 0) return undefined;
  if (position > head.position)
    return {
      position: head.position,
      what: `it ends with position ${head.position}, but had ${position} when the head was kept`,
    };
  const [event] = await log.events({ after: position - 1, limit: 1 });
  // The turn that made the event, and those after it that made none: each of them has ended at this position.
  for (let turn = event?.turn; turn !== undefined; turn += 1) {
    const [ended] = await log.turns({ after: turn - 1, limit: 1 });
    const last = ended?.events.at(-1)?.position ?? position;
    if (!ended || last !== position) break;
    if (ended.chain === chain) return undefined;
  }
  return { position, what: `what ends at position ${position} is not what the head was kept of` };
};
