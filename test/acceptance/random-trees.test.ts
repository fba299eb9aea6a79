import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type Agent,
  type AgentRequest,
  agent,
  answer,
  type GivenNode,
  type Json,
  type JsonObject,
  type NodeInput,
  type RecordedEvent,
  treeFeedbackLog,
  treeRun,
  type Workflow,
} from '../../src/index.ts';
import { temporaryFile } from '../store/temporary-directory.ts';
import { open, rounds } from '../support/runtimes.ts';

/** A tree, what its agents do (each looks up its next deed in a table of numbers), and what persons say. */
interface Case {
  readonly nodes: readonly GivenNode[];
  readonly table: readonly number[];
  readonly says: readonly number[];
}

const somePlace = fc.record({
  parent: fc.nat(99),
  kind: fc.nat(9),
  need: fc.nat(99),
});

const someNodes: fc.Arbitrary<readonly GivenNode[]> = fc
  .array(somePlace, { minLength: 1, maxLength: 6, size: 'max' })
  .map((places) => {
    const nodes: GivenNode[] = [{ id: 'n0', plans: (places[0]?.kind ?? 0) > 4 }];
    for (const [index, { parent, kind, need }] of places.entries()) {
      const above = nodes[parent % nodes.length]?.id ?? 'n0';
      const other = nodes[need % nodes.length]?.id ?? 'n0';
      nodes.push({
        id: `n${index + 1}`,
        parent: above,
        ...(kind === 1 && { plans: true }),
        ...(kind === 2 && { loop: true as const }),
        ...((kind === 3 || kind > 6) && { needs: [other] }),
        ...(kind === 4 && { condition: {} }),
      });
    }
    return nodes.map((node) => withBranches(node, nodes));
  });

/** A condition chooses between the first of its children and the others. */
const withBranches = (node: GivenNode, nodes: readonly GivenNode[]): GivenNode => {
  if (!node.condition) return node;
  const [pending, ...otherwise] = nodes.flatMap(({ id, parent }) => (parent === node.id ? [id] : []));
  return { ...node, condition: { pending: pending === undefined ? [] : [pending], otherwise } };
};

const someCase: fc.Arbitrary<Case> = fc.record({
  nodes: someNodes,
  table: fc.array(fc.nat(999), { minLength: 31, maxLength: 31, size: 'max' }),
  says: fc.array(fc.nat(99), { minLength: 7, maxLength: 7, size: 'max' }),
});

const KINDS = ['FIX_REQUEST', 'CONTEXT_REQUEST', 'DEPENDENCY_MISSING', 'ARCHITECTURE_ISSUE'];
const PRIORITIES = ['low', 'medium', 'high', 'critical'];

interface Call {
  readonly node: string;
  readonly callId: string;
  readonly feedback: readonly { readonly id: string; readonly round: number }[];
}

/** Mostly someone above, as far as the plan is the one of the beginning. */
const targetOf = (from: string, number: number, nodes: readonly GivenNode[]): string => {
  const above: string[] = [];
  const parentOf = (id: string) => nodes.find((node) => node.id === id)?.parent ?? null;
  for (let id = parentOf(from); id !== null; id = parentOf(id)) above.push(id);
  const choices = number % 8 === 0 || above.length === 0 ? nodes.map(({ id }) => id) : above;
  return choices[number % choices.length] ?? 'n0';
};

const feedbackOf = (from: string, number: number, nodes: readonly GivenNode[]): Json => ({
  type: 'FEEDBACK',
  from_node: from,
  to_node: targetOf(from, number, nodes),
  feedback_type: KINDS[number % 4] ?? '',
  message: `finding ${number}`,
  suggested_fix: 'mend it',
  suggested_action: 'add it',
  requested_info: 'made, nth',
  priority: PRIORITIES[number % 4] ?? '',
});

const planOf = (number: number, { plan }: NodeInput): JsonObject | undefined => {
  const known = (plan ?? []) as unknown as readonly JsonObject[];
  if (number % 5 === 0) return { add: [{ id: `x${number % 7}`, agent: 'n0' }] };
  if (number % 5 === 1) return { nodes: known.slice(1) as readonly Json[] };
  if (number % 5 === 2)
    return {
      nodes: known.map((node, index) => (index > 0 ? { ...node, parent: words(known[0]?.['id']) } : node)),
    };
  return number % 5 === 3 ? { add: 'what?' } : undefined;
};

/** Whatever an agent may come up with. */
const deed = (
  number: number,
  { input, feedback }: AgentRequest<NodeInput>,
  nodes: readonly GivenNode[],
): unknown => {
  const plan = input.plan === null ? undefined : planOf(number, input);
  const output: JsonObject = { made: number % 3, nth: feedback.length, ...(plan && { plan }) };
  switch (number % 9) {
    case 0:
      if (number % 27 === 0) throw new Error('out of order');
      return output;
    case 1:
    case 2:
      return answer(output, { feedback: [feedbackOf(input.node, number, nodes)] });
    case 3:
      return answer(output, {
        feedback: [feedbackOf(input.node, number, nodes), feedbackOf(input.node, number + 1, nodes)],
      });
    case 4:
      if (number % 4 > 0) return output;
      return answer(output, { feedback: number % 8 === 0 ? 'nonsense' : [{ from_node: input.node }] });
    case 5:
      return { passed: false, summary: 'not yet' };
    default:
      return number % 2 === 0 ? output : { ...output, done: number % 4 !== 1 };
  }
};

const createAgents = ({ nodes, table }: Case, calls: Call[]): Record<string, Agent<NodeInput>> => {
  const working = nodes.filter(({ condition }) => !condition);
  const entries = working.map(({ id }, index) => {
    let nth = 0;
    const run = (request: AgentRequest<NodeInput>): unknown => {
      nth += 1;
      const feedback = request.feedback as unknown as Call['feedback'];
      calls.push({
        node: request.input.node,
        callId: request.callId,
        feedback: feedback.map(({ id: of, round }) => ({ id: of, round })),
      });
      return deed(table[(index * 7 + nth * 3) % table.length] ?? 0, request, nodes);
    };
    return [id, agent(run, { quarantine: { failures: 10_000, forMs: 0 } })] as const;
  });
  return Object.fromEntries(entries);
};

const LIMITS = { pairRounds: 2, hops: 3, replans: 3, addedNodes: 3, feedbacks: 12 };
const SAYS = ['continue', 'accept', 'continue', 'stop', 'cancel', 'retry'];

const workflowOf = ({ nodes }: Case) =>
  treeRun('random', {
    nodes,
    limits: { ...LIMITS, calls: 300 },
    roles: Object.fromEntries(
      nodes.filter(({ condition }) => !condition).map(({ id }) => [id, { backoffMs: 0, attempts: 2 }]),
    ),
  });

const factsOf = (events: readonly RecordedEvent[], type: string): readonly JsonObject[] =>
  events.filter((event) => event.kind === 'fact' && event.type === type).map(({ data }) => data);

const words = (value: Json | undefined): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

const pairOf = ({ source, target }: JsonObject): string => `${words(source)} > ${words(target)}`;

const countBy = (keys: readonly string[]): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>();
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
};

/** What must hold of any log, however the run went. */
const expectLimits = (events: readonly RecordedEvent[], calls: readonly Call[]): void => {
  const queued = factsOf(events, 'feedback.queued');
  const delivered = factsOf(events, 'feedback.delivered');
  const granted = new Set(factsOf(events, 'feedback.granted').map(({ id }) => words(id)));
  // Rounds: no pair has more than its two, but for what a person allowed.
  const byPerson = (pair: string): number =>
    factsOf(events, 'feedback.granted')
      .filter(({ id }) => queued.some((each) => each['id'] === id && pairOf(each) === pair))
      .reduce((sum, { rounds: more }) => sum + Number(more), 0);
  for (const [pair, count] of countBy(queued.map(pairOf)))
    expect(count, pair).toBeLessThanOrEqual(LIMITS.pairRounds + byPerson(pair));
  // Hops and cycles: nothing is handed out beyond them, but for what a person allowed.
  for (const { id, chain, source, target } of delivered) {
    const links = chain as unknown as readonly { from: string }[];
    if (granted.has(words(id))) continue;
    expect(links.length).toBeLessThan(LIMITS.hops);
    expect([...links.map(({ from }) => from), source]).not.toContain(target);
  }
  // Once: each round is handed out at most once, to one node.
  for (const [key, count] of countBy(delivered.map(({ id, round }) => `${words(id)}/${words(round)}`)))
    expect(count, key).toBe(1);
  const opened = new Set(queued.map(({ id, round }) => `${words(id)}/${words(round)}`));
  expect(opened.size).toBe(queued.length);
  for (const { id, round } of delivered) expect(opened).toContain(`${words(id)}/${words(round)}`);
  // Nobody but the target is given it.
  for (const { node, feedback } of calls)
    for (const { id, round } of feedback)
      expect(
        delivered.some((each) => each['id'] === id && each['round'] === round && each['target'] === node),
      ).toBe(true);
  // Plans.
  const planned = factsOf(events, 'tree.planned');
  expect(planned.filter(({ replan }) => replan !== null).length).toBeLessThanOrEqual(
    LIMITS.replans + granted.size + PERSONS_MAX,
  );
};

const PERSONS_MAX = 7;

interface Played {
  readonly verdict: string;
  readonly asked: number;
  readonly events: readonly RecordedEvent[];
  readonly calls: readonly Call[];
}

const play = async (given: Case): Promise<Played> => {
  const file = temporaryFile();
  const calls: Call[] = [];
  const tree = workflowOf(given);
  const first = await open({
    file,
    durability: 'normal',
    workflows: [tree],
    agents: createAgents(given, calls),
  });
  const run = await first.start('random', { task: 'a task' }, { id: 'r' });
  let asked = 0;
  for (let state = await run.settled(); state.status === 'active'; state = await run.settled()) {
    const questions = await first.questions({ run: 'r' });
    // It waits for nobody in vain.
    expect(questions.length).toBeGreaterThan(0);
    await expectOpenAreAsked(
      first,
      questions.map(({ id }) => id),
    );
    for (const { id, text, options } of questions) {
      expect(text).not.toBe('Nothing of the tree can go on.');
      const known = options.map((option) => option.id);
      const said = asked < PERSONS_MAX ? SAYS[(given.says[asked] ?? 0) % SAYS.length] : 'cancel';
      asked += 1;
      await first
        .answer(id, known.find((option) => option === said) ?? known[0] ?? null)
        .catch((error: unknown) => {
          // What another answer has ended is no longer asked.
          if (!String(error).includes('QUESTION')) expect(String(error)).toMatch(/ended|no actor|question/i);
        });
      if ((await first.runs())[0]?.verdict != null) break;
    }
  }
  const { verdict } = await run.result();
  const log = await first.read(treeFeedbackLog, 'r');
  await first.close();
  const workflows: readonly Workflow[] = [tree];
  const second = await open({ file, workflows, agents: {}, idle: true });
  expect((await (await second.run('r')).result()).verdict).toBe(verdict);
  expect(await second.read(treeFeedbackLog, 'r')).toEqual(log);
  const { log: chain, replay } = await second.verify();
  expect([chain.problem, replay.problem]).toEqual([undefined, undefined]);
  const events = await second.audit({ run: 'r', limit: Number.POSITIVE_INFINITY });
  // Whatever is said is said to someone who listens.
  if (verdict === 'verified' || verdict === 'accepted') expect(await second.deadLetters()).toEqual([]);
  await second.close();
  // None is lost: whatever was taken in is on record.
  for (const { data } of events.filter(({ type }) => type === 'tree.judged'))
    for (const id of data['ids'] as readonly string[]) expect(log.order).toContain(id);
  // Every feedback has ended, with a verdict; if the work is done, none of them by the end of the run alone.
  for (const row of Object.values(log.rows)) {
    expect(['resolved', 'failed']).toContain(row.status);
    expect(row.verdict).toMatch(/^(?:verified|accepted|exhausted|stalled|cancelled|failed)$/);
    if (verdict === 'verified') expect(row.reason).not.toBe('Its run has ended.');
  }
  return { verdict, asked, events, calls };
};

/** Whatever has not ended when nothing goes on any more is put before a person, or waits for such a one. */
const expectOpenAreAsked = async (
  runtime: { read: (projection: typeof treeFeedbackLog, run: string) => Promise<{ rows: object }> },
  questions: readonly string[],
): Promise<void> => {
  const { rows } = await runtime.read(treeFeedbackLog, 'r');
  const isOpen = Object.values(rows).some(
    (row: { status: string }) => row.status === 'queued' || row.status === 'delivered',
  );
  if (isOpen) expect(questions.length).toBeGreaterThan(0);
};

describe('any tree', () => {
  // Method: agents that do what a table of numbers says, garbage included; persons that answer anything. What must hold is
  // checked on the log alone, as a second runtime reads it.
  it('C3, C5, C6, C7, C8, C9, C17, X1: keeps its limits, loses no feedback, hands none out twice, and ends', async () => {
    const verdicts = new Map<string, number>();
    let feedbacks = 0;
    await fc.assert(
      fc.asyncProperty(someCase, async (given) => {
        const { verdict, events, calls } = await play(given);
        expectLimits(events, calls);
        feedbacks += factsOf(events, 'feedback.delivered').length;
        verdicts.set(verdict, (verdicts.get(verdict) ?? 0) + 1);
      }),
      { numRuns: rounds(40, 2_000), seed: 7 },
    );
    // A test that never gets anywhere would show nothing.
    expect(feedbacks).toBeGreaterThan(rounds(40, 2_000));
    expect(verdicts.size).toBeGreaterThan(2);
  });
});
