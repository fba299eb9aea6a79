import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';

const runExample = (name: string): string =>
  execFileSync(process.execPath, [`build/examples/${name}.js`], { encoding: 'utf8' });

it('X1, X4: one plan ends in all six verdicts, each within the worst case that was told before', () => {
  const shown = runExample('six-verdicts');
  const verdicts = ['verified', 'accepted', 'exhausted', 'stalled', 'cancelled', 'failed'];
  const ends = [...shown.matchAll(/^ {2}(\w+): .* (\d+) calls, \$/gm)].map(([, verdict, calls]) => [
    verdict,
    Number(calls),
  ]);
  expect(ends.map(([verdict]) => verdict)).toEqual(verdicts);
  const most = [...shown.matchAll(/at most \d+ calls of agents \((\d+) with retries/g)].map(([, calls]) =>
    Number(calls),
  );
  expect(most).toHaveLength(verdicts.length);
  for (const [index, [, calls]] of ends.entries()) expect(calls).toBeLessThanOrEqual(most[index] ?? 0);
});
