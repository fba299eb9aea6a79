import { rmSync } from 'node:fs';
import { createRuntime } from 'loopwright';
import { median, tempFile } from './measure.ts';
import { mixedLoops, writeMixedLog } from './mixed-log.ts';

export interface Rebuild {
  readonly events_per_s: number;
  /** By the time that the process had, whatever else the machine did. */
  readonly events_per_cpu_s: number;
  readonly events: number;
  readonly partitions: number;
}

/** The rate at which all views of all runs are folded anew from a log with all loops in it, and stored. */
export const measureRebuild = async ({
  events,
  times,
}: {
  readonly events: number;
  readonly times: number;
}): Promise<Rebuild> => {
  const file = tempFile('mixed');
  await writeMixedLog(file, events);
  const runtime = await createRuntime({
    file,
    workflows: [...mixedLoops()],
    agents: {} as never,
    idle: true,
    durability: 'normal',
  });
  const rates: number[] = [];
  const cpuRates: number[] = [];
  let rebuilt = { events: 0, partitions: 0 };
  for (let time = 0; time < times; time += 1) {
    const [startMs, startCpu] = [performance.now(), process.cpuUsage()];
    rebuilt = await runtime.rebuildViews();
    const { user, system } = process.cpuUsage(startCpu);
    rates.push((rebuilt.events / (performance.now() - startMs)) * 1_000);
    cpuRates.push((rebuilt.events / (user + system)) * 1_000_000);
  }
  await runtime.close();
  rmSync(file, { force: true });
  return { events_per_s: median(rates), events_per_cpu_s: median(cpuRates), ...rebuilt };
};
