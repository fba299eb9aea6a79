import {
  type AgentOutcome,
  type GivenNode,
  isFeedbackRequest,
  PIPELINE,
  phaseRun,
  planRun,
  repeatLoop,
  storyLoop,
  tightLoop,
  treeRun,
  type Workflow,
  type WorstCaseOptions,
} from 'loopwright';

/** A loop as it is shipped: with the limits that it has unless others are set. */
export interface ShippedLoop {
  readonly name: string;
  readonly workflow: Workflow;
  readonly workflows?: readonly Workflow[];
  readonly input: unknown;
  readonly options?: WorstCaseOptions;
}

const FEEDBACK_TYPES = [
  'technical_infeasibility',
  'constraint_violation',
  'missing_requirement',
  'quality_gate',
  'a type of our own',
] as const;

const NEW: AgentOutcome = { name: 'makes something new', output: ({ nth }) => ({ $fresh: nth }) };
const FAILS: AgentOutcome = { name: 'fails', fails: true };

const sends = (type: string, targets: readonly string[] = ['pm']): AgentOutcome => ({
  name: `sends ${type}`,
  output: null,
  feedback: [{ type, targets, severity: 'blocking', description: type, requirement: type }],
});

/** Two agents, of which the second may send feedback of a type to the first, which may decide anything. */
const feedbackLoop = (type: string): ShippedLoop => ({
  name: `feedback: ${type}`,
  workflow: planRun('pair', {
    steps: [
      { id: 'prd', agent: 'pm' },
      { id: 'design', agent: 'architect', needs: ['prd'] },
    ],
  }) as Workflow,
  input: null,
  options: {
    outcomes: (agent, input) =>
      isFeedbackRequest(input) ? [] : [NEW, FAILS, ...(agent === 'architect' ? [sends(type)] : [])],
  },
});

/** Two agents whose results may contradict each other, and a third that says so to both. */
const inconsistencyLoop = (): ShippedLoop => ({
  name: 'feedback: inconsistency, between two',
  workflow: planRun('three', {
    steps: [
      { id: 'prd', agent: 'pm' },
      { id: 'look', agent: 'designer' },
      { id: 'design', agent: 'architect', needs: ['prd', 'look'] },
    ],
  }) as Workflow,
  input: null,
  options: {
    outcomes: (agent, input) =>
      isFeedbackRequest(input)
        ? []
        : [NEW, FAILS, ...(agent === 'architect' ? [sends('inconsistency', ['pm', 'designer'])] : [])],
    statesMax: 1_000_000,
  },
});

/** Every rooted tree of a size, each once: a node is put below any that came before it. */
export const treesOf = (size: number): readonly (readonly number[])[] => {
  const all = (parents: readonly number[]): readonly (readonly number[])[] =>
    parents.length === size - 1
      ? [parents]
      : Array.from({ length: parents.length + 1 }, (_, parent) => all([...parents, parent])).flat();
  const byForm = new Map<string, readonly number[]>();
  for (const parents of all([])) {
    const form = formOf(parents, 0);
    if (!byForm.has(form)) byForm.set(form, parents);
  }
  return [...byForm.values()];
};

/** What a tree looks like, whatever its nodes are called. */
const formOf = (parents: readonly number[], node: number): string =>
  `(${parents
    .flatMap((parent, index) => (parent === node ? [formOf(parents, index + 1)] : []))
    .sort()
    .join('')})`;

/** The nodes of such a tree, named by their place. */
export const nodesOf = (parents: readonly number[]): readonly GivenNode[] => [
  { id: 'n0' },
  ...parents.map((parent, index) => ({ id: `n${index + 1}`, parent: `n${parent}` })),
];

/** Each node may make something, ask a node above it for a fix (any, or the nearest in trees of more than 4), be refused, or fail. */
const treeLoop = (parents: readonly number[]): ShippedLoop => ({
  name: `tree ${formOf(parents, 0)}`,
  workflow: treeRun('tree', { nodes: nodesOf(parents) }) as Workflow,
  input: { task: null },
  options: { statesMax: 2_000_000 },
});

const nestedRun = (): ShippedLoop => {
  const draft = planRun('draft', {
    steps: [
      { id: 'write', agent: 'writer' },
      { id: 'check', needs: ['write'], gate: { reviewers: ['critic'], corrects: 'write' } },
    ],
  });
  const whole = planRun('whole', {
    steps: [
      { id: 'outline', agent: 'planner' },
      { id: 'draft', run: draft, needs: ['outline'] },
      { id: 'approve', needs: ['draft'], gate: { reviewers: ['editor'], corrects: 'outline' } },
    ],
  });
  return {
    name: 'a plan in a plan',
    workflow: whole as Workflow,
    workflows: [draft as Workflow],
    input: null,
    options: { statesMax: 1_000_000 },
  };
};

/** An outline, loops one after the other, and somebody who approves what the last of them made or sends it back. */
const nestOf = (name: string, loops: readonly Workflow[]): ShippedLoop => {
  const last = loops.at(-1)?.name ?? '';
  const whole = planRun('whole', {
    steps: [
      { id: 'outline', agent: 'planner' },
      ...loops.map((run, index) => ({ id: run.name, run, needs: [loops[index - 1]?.name ?? 'outline'] })),
      { id: 'approve', needs: [last], gate: { reviewers: ['editor'], corrects: last } },
    ],
  });
  return {
    name,
    workflow: whole as Workflow,
    workflows: loops,
    input: null,
    options: { statesMax: 1_000_000 },
  };
};

const STORIES = storyLoop('refine') as Workflow;
const TIGHT = tightLoop({ name: 'build' }) as Workflow;

/** One of every kind. */
const ALL_KINDS: readonly Workflow[] = [
  repeatLoop('sketch', { agent: 'sketcher' }) as Workflow,
  STORIES,
  phaseRun('deliver', {
    phases: [
      { id: 'design' },
      { id: 'code', needs: ['design'] },
      { id: 'inspect', kind: 'review', needs: ['code'] },
    ],
  }) as Workflow,
  treeRun('tree', { nodes: nodesOf([0]) }) as Workflow,
  TIGHT,
];

/** Every loop of the package, and trees with up to so many nodes. */
export const shippedLoops = (nodesMax: number): readonly ShippedLoop[] => [
  { name: 'tight', workflow: tightLoop() as Workflow, input: 'a task' },
  { name: 'repeat', workflow: repeatLoop('repeat', { agent: 'developer' }) as Workflow, input: 'a task' },
  ...FEEDBACK_TYPES.map(feedbackLoop),
  inconsistencyLoop(),
  {
    name: 'refinement',
    workflow: storyLoop('stories', { mode: 'auto' }) as Workflow,
    input: { stories: [{ id: 'a' }] },
  },
  {
    // More phases than three are proved for agents that do less: the report says which.
    name: 'seven phases, what runs again makes something new',
    workflow: phaseRun('phases', { phases: PIPELINE }) as Workflow,
    input: null,
    options: { statesMax: 1_000_000 },
  },
  ...Array.from({ length: nodesMax }, (_, index) => treesOf(index + 1).map(treeLoop)).flat(),
  nestedRun(),
  nestOf('stories and a tight loop in a plan', [STORIES, TIGHT]),
  // As dear as a tree of four nodes.
  ...(nodesMax > 3 ? [nestOf('every kind of loop in a plan', ALL_KINDS)] : []),
];
