import type { EventLog, Head, VerifyReport } from './event-log.ts';

/**
 * Holds a log that is whole by itself against a head of it that was kept elsewhere: a log whose tail is gone is a whole, shorter log,
 * and one that was written anew is whole as well.
 */
export const againstHead = async (
  log: Pick<EventLog, 'turns'>,
  report: VerifyReport,
  kept: Pick<Head, 'turn' | 'chain'>,
): Promise<VerifyReport> => {
  if (!report.ok || kept.turn === 0) return report;
  const wrong = (position: number, what: string): VerifyReport => ({
    ...report,
    ok: false,
    problem: { position, what },
  });
  const { turn: last, position } = report.head;
  if (kept.turn > last)
    return wrong(position, `it ends with turn ${last}, but had ${kept.turn} when the head was kept`);
  const [turn] = await log.turns({ after: kept.turn - 1, limit: 1 });
  if (turn?.chain === kept.chain) return report;
  return wrong(turn?.events[0]?.position ?? 0, `turn ${kept.turn} is not the one whose head was kept`);
};
