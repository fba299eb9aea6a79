import type { AnyStateMachine } from 'xstate';
import { createRegistry, type Registry } from '../actors/registry.ts';
import type { Workflow } from '../machines/workflow.ts';

/** Every workflow of a registry, all versions. */
export const workflowsOf = (registry: Registry): readonly Workflow[] =>
  registry
    .names()
    .flatMap((name) =>
      registry.versions(name).flatMap((version) => registry.find(name, version)?.workflow ?? []),
    );

/**
 * The same registry with other workflows in place of those of the same names, all versions of them: also for machines that
 * invoke them.
 *
 * @throws {RuntimeError} MACHINE_REFUSED, BAD_OPTION
 */
export const replacedIn = (registry: Registry, given: readonly Workflow[]): Registry => {
  const all = workflowsOf(registry);
  const standIns = new Map<AnyStateMachine, Workflow>();
  for (const { name, machine } of all) {
    const standIn = given.find((each) => each.name === name);
    // One machine may be registered under several names, as that of plan runs is: each name has a stand-in of its own, or none.
    const isShared = all.some((other) => other.machine === machine && other.name !== name);
    if (standIn && !isShared) standIns.set(machine, standIn);
  }
  const changed = createRegistry();
  changed.register(
    [...all.filter(({ name }) => !given.some((each) => each.name === name)), ...given],
    standIns,
  );
  return changed;
};

/** The same registry with further versions of its workflows: those that are given under a version that is taken get the next one. */
export const addedTo = (
  registry: Registry,
  given: readonly Workflow[],
): { readonly registry: Registry; readonly added: readonly Workflow[] } => {
  const added = given.map((workflow) => {
    const versions = registry.versions(workflow.name);
    return versions.includes(workflow.version)
      ? { ...workflow, version: Math.max(...versions) + 1 }
      : workflow;
  });
  const changed = createRegistry();
  changed.register([...workflowsOf(registry), ...added]);
  return { registry: changed, added };
};
