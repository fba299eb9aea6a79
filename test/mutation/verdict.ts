import type { Tried } from './mutate.ts';

/** So much of all must be found, in per cent. */
const FOUND_MIN = 90;

/** What a run of the command comes to. */
export interface Summary {
  readonly mutants: number;
  readonly found: number;
  readonly percent: number;
  /** Found by what a reader of the chart sees: states, transitions, ways that end; the others by rows, facts and contexts alone. */
  readonly foundInChart: number;
  readonly machines: Readonly<Record<string, { readonly mutants: number; readonly found: number }>>;
  readonly survivors: readonly { readonly name: string; readonly reason: string | null }[];
  /** On the list of survivors, although something finds them. */
  readonly outdated: readonly string[];
  readonly isGood: boolean;
}

const FINE = ['rows', 'facts', 'contexts'];

export const summaryOf = (tried: readonly Tried[], reasons: Readonly<Record<string, string>>): Summary => {
  const found = tried.filter(({ by }) => by !== null);
  const survivors = tried
    .filter(({ by }) => by === null)
    .map(({ name }) => ({ name, reason: reasons[name] ?? null }));
  const outdated = found.map(({ name }) => name).filter((name) => Object.hasOwn(reasons, name));
  const percent = tried.length === 0 ? 0 : Math.floor((found.length / tried.length) * 1_000) / 10;
  const machines = [...new Set(tried.map(({ machine }) => machine))].sort().map((machine) => {
    const own = tried.filter((mutant) => mutant.machine === machine);
    return [machine, { mutants: own.length, found: own.filter(({ by }) => by !== null).length }] as const;
  });
  return {
    mutants: tried.length,
    found: found.length,
    percent,
    foundInChart: found.filter(({ difference }) => !FINE.includes(difference ?? '')).length,
    machines: Object.fromEntries(machines),
    survivors,
    outdated,
    isGood: percent >= FOUND_MIN && outdated.length === 0 && survivors.every(({ reason }) => reason !== null),
  };
};

/** The same for a person. */
export const tableOf = (summary: Summary): string => {
  const width = Math.max(...Object.keys(summary.machines).map(({ length }) => length), 'machine'.length);
  const row = (name: string, ...cells: readonly (string | number)[]): string =>
    `${name.padEnd(width)} ${cells.map((cell) => String(cell).padStart(8)).join(' ')}`;
  return [
    row('machine', 'mutants', 'found'),
    ...Object.entries(summary.machines).map(([name, { mutants, found }]) => row(name, mutants, found)),
    row('all', summary.mutants, summary.found),
    '',
    `${summary.percent} % were found (${FOUND_MIN} % must be): ${summary.foundInChart} by states, transitions and messages, the others by rows, facts and contexts alone.`,
    ...summary.survivors.map(
      ({ name, reason }) =>
        `survives: ${name}\n    ${reason ?? 'NO REASON IS GIVEN (test/mutation/survivors.ts)'}`,
    ),
    ...summary.outdated.map((name) => `is found, but on the list of survivors: ${name}`),
  ].join('\n');
};
