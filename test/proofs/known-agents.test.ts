import { describe, expect, it } from 'vitest';
import { nodesOf } from '../../bench/shipped-loops.ts';
import { planRun, treeRun, type Workflow } from '../../src/index.ts';
import { type Choice, longestOf } from '../../src/proofs/choices.ts';
import { KnownAgents } from '../../src/proofs/known-agents.ts';
import { explorationOf } from './begun.ts';

const ROLE = { attempts: 3, timeLimitMs: 1_000 };
const plan = planRun('plan', {
  steps: [{ id: 'a' }, { id: 'b', needs: ['a'] }],
  roles: { a: ROLE, b: ROLE },
});
const tree = treeRun('tree', { nodes: nodesOf([0]), roles: { n0: ROLE } });

/** A run that has just begun, and all that looks through its agents. */
const begun = (workflow: Workflow, answers = ['one', 'another']) => {
  const exploration = explorationOf(workflow, () => [
    ...answers.map((name) => ({ name, output: name })),
    { name: 'fails', fails: true },
  ]);
  const { stepper, idOf, start } = exploration;
  const system = start();
  const [agent = ''] = system.open.keys();
  return { ...exploration, system, agents: new KnownAgents(stepper, idOf), agent };
};

/** All that what happens next can depend on: numbers of calls and timers only tell later ones apart. */
const inWords = ({ label, weight, place: { record, steps } }: Choice) => ({
  label,
  weight,
  steps: steps.map((step) => step.label),
  value: record.snapshot?.value,
  context: record.snapshot?.context,
  waits: [Object.keys(record.waits.calls), Object.keys(record.waits.timers)],
});

describe('an agent whose like was looked through before', () => {
  it.each([
    ['a plan', plan as Workflow],
    ['a tree', tree as Workflow],
  ])('K5: of %s may do the same, and is left the same by its tries', (_name, workflow) => {
    const { stepper, system, agents, own, agent } = begun(workflow);
    expect(agents.choicesOf(system, agent)).toBeUndefined();
    const places = own.placesOf(system, agent);
    expect(agents.learn(system, places)).toBe(true);
    const whole = longestOf(places);
    expect(whole.map(({ label }) => label).join()).toMatch(/another.*fails/);
    expect(Math.max(...whole.map(({ weight }) => weight.calls))).toBe(2);
    const known = agents.choicesOf(system, agent) ?? [];
    expect(known.map(inWords)).toEqual(whole.map(inWords));
    // What comes of each is the same.
    const after = (choices: readonly Choice[]) =>
      choices.map(({ place, possible }) => {
        const { taken } = stepper.step(system.withPart(place), possible as NonNullable<typeof possible>);
        return taken?.turn.events.map(({ actor, type, dataJson, stateJson }) => [
          actor,
          type,
          dataJson.replaceAll(/"generation":\d+/g, ''),
          stateJson,
        ]);
      });
    expect(after(known)).toEqual(after(whole));
  });

  it('K5: is looked through again if it may say something else', () => {
    const answers = ['one', 'another'];
    const { agents, start, system, own, agent } = begun(plan as Workflow, answers);
    agents.learn(system, own.placesOf(system, agent));
    expect(agents.choicesOf(start(), agent)).toHaveLength(4);
    answers.push('something else');
    expect(agents.choicesOf(start(), agent)).toBeUndefined();
  });

  it('K5: that is not as it is known to be is found out', () => {
    const { agents, system, own, agent } = begun(plan as Workflow);
    const places = own.placesOf(system, agent);
    expect(agents.learn(system, places)).toBe(true);
    expect(agents.learn(system, places)).toBe(true);
    const [first, ...rest] = places;
    if (!first) throw new Error('It is somewhere.');
    const heavier = rest.map((place) => ({ ...place, weight: { ...place.weight, calls: 9 } }));
    expect(agents.learn(system, [first, ...heavier])).toBe(false);
  });
});
