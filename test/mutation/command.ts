import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { mutate } from './mutate.ts';
import { SURVIVORS } from './survivors.ts';
import { summaryOf, tableOf } from './verdict.ts';

const HELP = `npm run mutate -- [--only <machine or part of a name>] [--sample <so many of each machine>] [--killers <part of the names of scenes>]
  [--workers <n>] [--json]
Exit code 1: less than 90 % were found, or a survivor has no reason in test/mutation/survivors.ts.`;

const numberOf = (name: string, given: string | undefined): number | undefined => {
  if (given === undefined) return undefined;
  const number = Number(given);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new TypeError(`--${name} is ${JSON.stringify(given)}: give it a number from 1.\n${HELP}`);
};

const main = async (): Promise<void> => {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      sample: { type: 'string' },
      killers: { type: 'string' },
      workers: { type: 'string' },
      json: { type: 'boolean' },
      help: { type: 'boolean' },
    },
  });
  if (values.help) return console.log(HELP);
  const sample = numberOf('sample', values.sample);
  const workers = numberOf('workers', values.workers);
  const from = performance.now();
  const tried = await mutate({
    ...(values.only !== undefined && { only: values.only }),
    ...(values.killers !== undefined && { killers: values.killers }),
    ...(sample !== undefined && { sample }),
    ...(workers !== undefined && { workers }),
    progress: (text) => process.stderr.write(`${text}\n`),
  });
  if (tried.length === 0) throw new TypeError(`--only ${values.only} names no mutant.\n${HELP}`);
  const summary = summaryOf(tried, SURVIVORS);
  const seconds = Math.round((performance.now() - from) / 1_000);
  // More than a pipe holds at once: written whole before the process may end.
  writeFileSync(
    1,
    values.json
      ? `${JSON.stringify({ seconds, ...summary, tried })}\n`
      : `${tableOf(summary)}\n${seconds} s\n`,
  );
  if (!summary.isGood) process.exitCode = 1;
};

await main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 2;
});
