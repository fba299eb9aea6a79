import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { FAULT_TABLE, WORK_PHASES } from '../machines/story-phases.ts';
import type { AgentOutcome } from './outcomes.ts';
import type { AfterDecisions, Proof } from './proof.ts';

const rejectedFor = (category: string): Json => ({
  decision: 'rejected',
  passed: false,
  issues: [{ severity: 'critical', category, description: 'a fault' }],
  feedback: '',
});

/** One category for each phase that it can point to, whatever the user's table says of it: see `explore`. */
const CATEGORIES = WORK_PHASES.flatMap(
  (phase) => Object.entries(FAULT_TABLE.categories).find(([, target]) => target === phase)?.[0] ?? [],
);

/** Whatever a reviewer of stories may say, as far as it makes a difference. */
export const REVIEWS: readonly AgentOutcome[] = [
  { name: 'approves', output: { decision: 'approved', passed: true, issues: [], feedback: '' } },
  ...CATEGORIES.map((category) => ({ name: `rejects for ${category}`, output: rejectedFor(category) })),
  { name: 'cannot review', output: { decision: 'failed', passed: false, issues: [], feedback: 'no' } },
];

/** A file as it is found: with what it is to become, if that is something else. */
export const found = (intended: string | null): Json => ({
  kind: 'found',
  hash: 'found',
  author: { title: 'a story', body: '', fields: {}, max: null },
  fields: {},
  notes: null,
  section: null,
  conflict: null,
  intended,
});

/** What a look at a story's file, and the writing of it, may come to. */
export const LOOKS: readonly AgentOutcome[] = [
  { name: 'is to be written', output: found('intended') },
  { name: 'is up to date', output: found(null) },
  {
    name: 'cannot be read',
    output: { kind: 'unreadable', reason: 'gone', theirs: null, mine: null, hash: null },
  },
];
export const WRITES: readonly AgentOutcome[] = [
  { name: 'is written', output: { kind: 'written', fields: {}, notes: null } },
  { name: 'was changed', output: { kind: 'changed' } },
  { name: 'cannot be written', output: { kind: 'failed', reason: 'no' } },
];

/**
 * A board with several stories as several boards with one each. Stories of the same kind take the same. In manual mode they do
 * the same as by themselves, one action after the other.
 */
export const inputsApart = (given: unknown): readonly { readonly kind: string; readonly input: Json }[] => {
  const input = given as Json; // What a run is started with has been prepared before.
  const listed = isJsonObject(input) ? input['stories'] : input;
  const rest: JsonObject = isJsonObject(input) ? input : {};
  return (Array.isArray(listed) ? listed : []).map((story: Json) => {
    const { id, max_refinement_attempts: max = null }: JsonObject = isJsonObject(story) ? story : {};
    return {
      kind: id === undefined ? 'file' : `given ${JSON.stringify(max)}`,
      input: { ...rest, stories: [story], mode: 'auto' },
    };
  });
};

/** One after the other. Whatever keeps one of them from being proved keeps all. */
export const sumOf = (all: readonly Proof[], distinct: readonly Proof[]): Proof => {
  const [first] = distinct;
  const doubtful = distinct.find(({ result }) => result !== 'proved');
  const total = (member: 'turns' | 'calls' | 'requests'): number | null =>
    doubtful ? null : all.reduce((sum, proof) => sum + (proof[member] ?? 0), 0);
  const agents = [...new Set(distinct.flatMap(({ callsByAgent }) => Object.keys(callsByAgent)))];
  return {
    result: doubtful?.result ?? first?.result ?? 'inconclusive',
    problem: doubtful?.problem ?? null,
    states: distinct.reduce((sum, { states }) => sum + states, 0),
    transitions: distinct.reduce((sum, { transitions }) => sum + transitions, 0),
    turns: total('turns'),
    calls: total('calls'),
    requests: total('requests'),
    ...(doubtful || first?.costUsd === undefined
      ? {}
      : { costUsd: all.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0) }),
    callsByAgent: doubtful
      ? {}
      : Object.fromEntries(
          agents.map((agent) => [
            agent,
            all.reduce((sum, proof) => sum + (proof.callsByAgent[agent] ?? 0), 0),
          ]),
        ),
    verdicts: [...new Set(distinct.flatMap(({ verdicts }) => verdicts))].sort(),
    mayAsk: distinct.some(({ mayAsk }) => mayAsk),
    afterDecisions: afterAll(all, distinct),
    deadEnds: distinct.flatMap(({ deadEnds }) => deadEnds),
    unreachable: neverReached(distinct),
    endless: doubtful?.endless ?? null,
  };
};

/** While a person decides on one of them, all others may go on from wherever they are. */
const afterAll = (all: readonly Proof[], distinct: readonly Proof[]): AfterDecisions | null => {
  const afters = distinct.flatMap(({ afterDecisions }) => afterDecisions ?? []);
  if (afters.length === 0) return null;
  const doubtful = afters.find(({ result }) => result !== 'proved');
  const total = (member: 'turns' | 'calls' | 'requests'): number | null =>
    doubtful
      ? null
      : all.reduce(
          (sum, proof) => sum + Math.max(proof[member] ?? 0, proof.afterDecisions?.[member] ?? 0),
          0,
        );
  return {
    result: doubtful?.result ?? 'proved',
    problem: doubtful?.problem ?? null,
    turns: total('turns'),
    calls: total('calls'),
    requests: total('requests'),
    verdicts: [...new Set(afters.flatMap(({ verdicts }) => verdicts))].sort(),
    deadEnds: afters.flatMap(({ deadEnds }) => deadEnds),
    unreachable: neverReached(afters),
  };
};

/** What none of them gets to. */
const neverReached = (proofs: readonly Pick<Proof, 'unreachable'>[]): Proof['unreachable'] => {
  const [first] = proofs;
  const machines = Object.entries(first?.unreachable ?? {}).map(([machine, states]) => [
    machine,
    states.filter((state) =>
      proofs.every(({ unreachable }) => unreachable[machine]?.includes(state) === true),
    ),
  ]);
  return Object.fromEntries(machines) as Proof['unreachable'];
};
