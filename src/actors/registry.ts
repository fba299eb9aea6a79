import type { AnyStateMachine } from 'xstate';
import { RuntimeError } from '../errors.ts';
import { checkId } from '../events/address.ts';
import { createReaders } from '../events/versions.ts';
import { type AgentCallOptions, isAgentCall } from '../machines/agent-call.ts';
import type { Workflow } from '../machines/workflow.ts';
import { isPromiseLogic, isStateMachine, type PromiseCreator } from './actor-logic.ts';
import { validateMachine } from './validate-machine.ts';
import { type Behavior, behaviorOf } from './xstate-adapter.ts';

/** What a name under a machine's `actors` stands for. */
export type Source =
  | {
      readonly kind: 'call';
      readonly options: AgentCallOptions<never>;
      readonly creator: PromiseCreator | undefined;
    }
  | { readonly kind: 'machine'; readonly machine: string; readonly version: number };

/** A registered machine: how it behaves, and what it invokes. */
export interface Definition {
  readonly workflow: Workflow;
  readonly name: string;
  readonly version: number;
  readonly behavior: Behavior;
  readonly sources: ReadonlyMap<string, Source>;
  readonly read: ReturnType<typeof createReaders>;
}

/** Every machine that the runtime knows, by name and version. */
export interface Registry {
  /**
   * Registers workflows that may invoke each other. All of them, or none. Whoever invokes a machine of `standIns` invokes the
   * workflow that is given for it.
   */
  register(workflows: readonly Workflow[], standIns?: ReadonlyMap<AnyStateMachine, Workflow>): void;
  find(name: string, version: number): Definition | undefined;
  newest(name: string): Definition | undefined;
  names(): readonly string[];
  versions(name: string): readonly number[];
}

export const createRegistry = (): Registry => {
  let definitions: ReadonlyMap<string, ReadonlyMap<number, Definition>> = new Map();

  const find = (name: string, version: number) => definitions.get(name)?.get(version);
  const versions = (name: string) => [...(definitions.get(name)?.keys() ?? [])].sort((a, b) => a - b);
  return {
    register(workflows, standIns = new Map()) {
      const next = new Map([...definitions].map(([name, byVersion]) => [name, new Map(byVersion)]));
      const registered = [...next.values()].flatMap((byVersion) =>
        [...byVersion.values()].map(({ workflow }) => workflow),
      );
      const owners = new Map([
        ...[...registered, ...workflows].map((workflow) => [workflow.machine, workflow] as const),
        ...standIns,
      ]);
      for (const workflow of workflows) {
        const byVersion = next.get(workflow.name) ?? new Map<number, Definition>();
        if (byVersion.has(workflow.version)) {
          throw new RuntimeError('BAD_OPTION', {
            option: 'workflows',
            found: `a second "${workflow.name}" of version ${workflow.version}`,
            expected: 'each workflow once, and a new version number for each change',
          });
        }
        byVersion.set(workflow.version, define(workflow, owners));
        next.set(workflow.name, byVersion);
      }
      definitions = next;
    },
    find,
    newest(name) {
      const version = versions(name).at(-1);
      return version === undefined ? undefined : find(name, version);
    },
    names: () => [...definitions.keys()],
    versions,
  };
};

/** Which workflow a machine was registered as. */
type Owners = ReadonlyMap<AnyStateMachine, Workflow>;

/** What was found to be in order stays so. */
const valid = new WeakSet<AnyStateMachine>();

const define = (workflow: Workflow, owners: Owners): Definition => {
  const { name, version, machine, options } = workflow;
  checkId(name);
  if (!Number.isSafeInteger(version) || version < 1) {
    throw new RuntimeError('BAD_OPTION', {
      option: `version of "${name}"`,
      found: String(version),
      expected: 'an integer from 1',
    });
  }
  if (!valid.has(machine)) validateMachine(name, machine);
  valid.add(machine);
  const sources = new Map<string, Source>();
  for (const [src, logic] of Object.entries<unknown>(machine.implementations.actors)) {
    const source = toSource(logic, owners);
    // Logic that the validator let pass although it cannot be durable is never invoked.
    if (source) sources.set(src, source);
    else if (isStateMachine(logic)) throw unregisteredChild(name, src);
  }
  return {
    workflow,
    name,
    version,
    behavior: behaviorOf(machine),
    sources,
    read: createReaders(options.readers ?? {}),
  };
};

const toSource = (logic: unknown, owners: Owners): Source | undefined => {
  if (isAgentCall(logic)) return { kind: 'call', options: logic.agentCall, creator: undefined };
  if (isPromiseLogic(logic)) return { kind: 'call', options: {}, creator: logic.config };
  const owner = isStateMachine(logic) ? owners.get(logic) : undefined;
  return owner && { kind: 'machine', machine: owner.name, version: owner.version };
};

const unregisteredChild = (machine: string, src: string): RuntimeError =>
  new RuntimeError('MACHINE_REFUSED', {
    machine,
    problems: [
      `it invokes the machine "${src}", which is not registered: add workflow('${src}', …) with that machine to workflows`,
    ],
  });
