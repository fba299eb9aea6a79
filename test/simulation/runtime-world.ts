import type { AgentRequest } from '../../src/actors/agent.ts';
import { createRegistry, type Registry } from '../../src/actors/registry.ts';
import { answer, type Workflow } from '../../src/index.ts';
import { OWN_ACTORS } from '../../src/machines/own-actors.ts';
import { HostScript } from './host-script.ts';
import { checkEnd, checkSafety } from './invariants.ts';
import { Ledger } from './ledger.ts';
import { LoopScript, startOf } from './loop-script.ts';
import { checkLoopCommit, checkLoopEnd, checkLoopSafety, type SimulatedLoop, saidIn } from './loop-world.ts';
import { outputOf } from './plain-world.ts';
import type { Random } from './random.ts';
import { SentMessages, watched } from './sent-messages.ts';
import { AGENT_LIMIT_MS, allWorkflows, type Task, upgradedWorkflows, workflows } from './workflows.ts';
import type { Command, Fate, Script, ScriptPorts, World } from './world.ts';

/** A call of an agent under way in a real runtime. */
export interface RuntimeJob {
  readonly agent: string;
  readonly request: AgentRequest<unknown>;
  readonly fate: Fate;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: Error) => void;
  hasActed: boolean;
}

/** What schedules of a whole runtime are about. */
export interface RuntimeWorld extends Pick<World, 'checkCommit' | 'checkSafety' | 'checkEnd' | 'limitMs'> {
  /** With every version of every machine: for those who look from outside. */
  readonly registry: Registry;
  readonly workflows: (isUpgraded: boolean) => readonly Workflow[];
  readonly agents: readonly string[];
  readonly fates: readonly Fate[];
  readonly createLedger: () => Ledger;
  readonly createScript: (ports: ScriptPorts) => Script;
  /** Whether an agent was given what belongs to its call. */
  readonly isWhole: (request: AgentRequest<unknown>) => boolean;
  /** What an agent returns. The key of its call is in it. */
  readonly returned: (job: RuntimeJob, ledger: Ledger, random: Random) => unknown;
  /** What the host starts: the workflow, and its input as the host has it. */
  readonly started: (command: Command) => { readonly workflow: string; readonly input: unknown };
}

const registryOf = (all: readonly Workflow[]): Registry => {
  const registry = createRegistry();
  registry.register(all);
  return registry;
};

const isKeyOfItsCall = ({ idempotencyKey, callId, attempt }: AgentRequest<unknown>): boolean =>
  idempotencyKey === `${callId}/${attempt}`;

const plainRegistry = registryOf(allWorkflows);

/** The small workflow that has one of everything, which a restart may upgrade. */
export const plainRuntimeWorld: RuntimeWorld = {
  registry: plainRegistry,
  workflows: (isUpgraded) => (isUpgraded ? upgradedWorkflows : workflows),
  agents: ['build', 'check'],
  fates: ['passes', 'passes', 'passes', 'finds fault', 'fails', 'garbage', 'silent', 'late'],
  limitMs: AGENT_LIMIT_MS,
  createLedger: () => new Ledger(plainRegistry),
  createScript: (ports) => new HostScript(ports),
  isWhole: (request) => {
    const { piece, attempt } = request.input as Task; // Its machines ask for nothing else.
    return isKeyOfItsCall(request) && piece === request.callId && attempt === request.attempt;
  },
  returned: ({ agent, request, fate }) => outputOf(agent, request.idempotencyKey, fate),
  started: ({ incoming }) => ({
    workflow: 'loop',
    input: incoming.kind === 'start' ? incoming.input.value : null,
  }),
  checkCommit: () => undefined,
  checkSafety,
  checkEnd,
};

/** Who works in any of the loops. Persons are none of them. */
const ROLES = [
  'developer',
  'reviewer',
  'tester',
  'worker',
  'writer',
  'critic',
  'ann',
  'ben',
  'cat',
  'dan',
  'thinker',
  'judge',
  'pm',
  'architect',
  'planning',
  'design',
  'review',
  'n0',
  'n1',
  'n2',
  'n3',
  'sketcher',
  'inspect',
  'research',
  'plan',
  'implement',
  'create-pr',
];

/** A world in which a real runtime runs one shipped loop. */
export const createRuntimeLoopWorld = (loop: SimulatedLoop): RuntimeWorld => {
  const registry = registryOf([...OWN_ACTORS, ...loop.workflows]);
  const watching = watched(registry);
  const say = saidIn(loop);
  const start = startOf(loop);
  return {
    registry,
    workflows: () => loop.workflows,
    agents: ROLES,
    fates: [
      'passes',
      'passes',
      'passes',
      'passes',
      'finds fault',
      'finds fault',
      'fails',
      'garbage',
      'silent',
      'late',
    ],
    limitMs: 5_000,
    createLedger: () => new Ledger(watching.registry, new SentMessages(watching), { areAnswersKeyed: true }),
    createScript: (ports) => new LoopScript(loop, start, ports),
    isWhole: isKeyOfItsCall,
    returned: ({ request: { idempotencyKey: key }, fate }, ledger, random) => {
      const call = ledger.callOf(key);
      const { output, ...details } = call ? say(call, fate, random) : { output: null };
      // What is garbage has not the types of what is not.
      return answer(output, { ...(details as object), artifacts: { key } });
    },
    started: () => ({ workflow: loop.workflow, input: loop.input }),
    checkCommit: (ledger) => checkLoopCommit(loop, ledger),
    checkSafety: (ledger) => checkLoopSafety(loop, ledger),
    checkEnd: checkLoopEnd,
  };
};
