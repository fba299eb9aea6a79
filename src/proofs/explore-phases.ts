import type { Registry } from '../actors/registry.ts';
import type { PureFunction } from '../events/delivery.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import { phasesBefore } from '../machines/phase-report.ts';
import type { PhaseRunInput } from '../machines/phase-state.ts';
import { workersOf } from '../machines/plan.ts';
import type { AgentOutcome } from './outcomes.ts';
import { freshArtifact, freshIssue } from './reduce.ts';

const FAILS: AgentOutcome = { name: 'fails', fails: true };
const MISSHAPEN = '$misshapen';

/** So many phases can be explored with all that their agents may do. */
const PHASES_MAX = 3;

/** What is left out for a longer pipeline: it has more states than anybody would wait for. */
export const ASSUMED =
  ' (as long as what runs again makes something new, reports can be read, and no phase returns issues in place of an output)';

export const isCoarse = ({ plan }: PhaseRunInput): boolean => plan.steps.length > PHASES_MAX;

const NEW: AgentOutcome = { name: 'makes something new', output: ({ nth }) => freshArtifact(nth) };

/** Whatever the agents of a phase run may do, as far as it makes a difference to it. */
export const outcomesOfPhases = (
  input: PhaseRunInput,
  everything: readonly AgentOutcome[],
): ((agent: string) => readonly AgentOutcome[]) => {
  const { plan, phases } = input;
  const isAll = !isCoarse(input);
  const places = plan.steps.map((step) => {
    const earlier = phasesBefore(input, step.id).filter((id) => phases[id]?.kind === 'work');
    const hasShape =
      phases[step.id]?.output !== null ||
      Object.values(phases).some(({ input: shapes }) => Object.hasOwn(shapes, step.id));
    const worker = isAll ? [...everything, ...reporter(earlier)] : [NEW, FAILS];
    const wrong = hasShape ? [WRONG] : [];
    const outcomes = step.gate ? reviewer(earlier, isAll) : [...worker, ...wrong];
    return { workers: workersOf(step), outcomes };
  });
  return (agent) => {
    const own = places.filter(({ workers }) => workers.includes(agent)).flatMap(({ outcomes }) => outcomes);
    return [...new Map(own.map((outcome) => [outcome.name, outcome])).values()];
  };
};

const WRONG: AgentOutcome = {
  name: 'makes something of the wrong shape',
  output: ({ nth }) => ({ ...(freshArtifact(nth) as object), [MISSHAPEN]: nth }),
};

const found = (phase: string, nth: number): Json => ({
  ...freshIssue(nth, 'critical'),
  affectedPhases: [phase],
});

const reviewer = (earlier: readonly string[], isAll: boolean): readonly AgentOutcome[] => [
  { name: 'approves', output: { assessment: 'pass', issues: [] } },
  ...earlier.map(
    (phase): AgentOutcome => ({
      name: `finds a new issue in ${phase}`,
      output: ({ nth }) => ({ assessment: 'fail', issues: [found(phase, nth)] }),
    }),
  ),
  FAILS,
  ...(isAll ? [sameIssue(earlier[0] ?? ''), UNREADABLE] : []),
];

const sameIssue = (phase: string): AgentOutcome => ({
  name: 'finds the same issue',
  output: {
    assessment: 'fail',
    issues: [{ severity: 'critical', category: 'same', description: 'the same', affectedPhases: [phase] }],
  },
});

const UNREADABLE: AgentOutcome = {
  name: 'reports what cannot be read',
  output: ({ nth }) => ({ assessment: 'fail', issues: [found(`?${nth}`, nth)] }),
};

const reporter = (earlier: readonly string[]): readonly AgentOutcome[] =>
  earlier.map((phase) => ({
    name: `finds a new issue in ${phase}`,
    output: null,
    issues: ({ nth }) => [found(phase, nth)],
  }));

/** Which shape something has is up to whoever explores: functions of users would refuse all that is made up. */
export const withExploredShapes = (registry: Registry, name: string, { phases }: PhaseRunInput): Registry => {
  const names = Object.values(phases).flatMap(({ input, output }) => [
    ...Object.values(input),
    ...(output === null ? [] : [output]),
  ]);
  const explored: Readonly<Record<string, PureFunction>> = Object.fromEntries(
    names.map((each) => [each, shape]),
  );
  const changed = <Known extends ReturnType<Registry['newest']>>(known: Known): Known =>
    known && known.name === name
      ? {
          ...known,
          workflow: {
            ...known.workflow,
            options: {
              ...known.workflow.options,
              functions: { ...known.workflow.options.functions, ...explored },
            },
          },
        }
      : known;
  return {
    ...registry,
    find: (other, version) => changed(registry.find(other, version)),
    newest: (other) => changed(registry.newest(other)),
  };
};

const shape: PureFunction = (value = null) => {
  const nth = isJsonObject(value) ? value[MISSHAPEN] : undefined;
  return typeof nth === 'number' ? [freshIssue(nth)] : [];
};
