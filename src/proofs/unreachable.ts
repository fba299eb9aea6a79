import type { Registry } from '../actors/registry.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import type { Workflow } from '../machines/workflow.ts';

type Node = Workflow['machine']['root'];

/** States of machines in which no actor was seen to rest, by the values of those in which some were. */
export const unreachableStates = (
  registry: Registry,
  seen: ReadonlyMap<string, ReadonlySet<string>>,
): Readonly<Record<string, readonly string[]>> => {
  const found: Record<string, readonly string[]> = {};
  for (const [machine, values] of seen) {
    const root = registry.newest(machine)?.workflow.machine.root;
    if (!root) continue;
    const reached = new Set([...values].flatMap((value) => pathsOf(JSON.parse(value) as Json, '')));
    const missing = restingStates(root).filter((path) => !reached.has(path));
    if (missing.length > 0) found[machine] = missing;
  }
  return found;
};

/** Those without further states in them that are not left at once: where they lead has been seen. */
const restingStates = (node: Node): readonly string[] => {
  const below = Object.values(node.states);
  if (below.length > 0) return below.flatMap(restingStates);
  const isPassedThrough = (node.always ?? []).length > 0 || node.type === 'history';
  return node.path.length === 0 || isPassedThrough ? [] : [node.path.join('.')];
};

const pathsOf = (value: Json, above: string): readonly string[] => {
  const at = (key: string): string => (above === '' ? key : `${above}.${key}`);
  if (typeof value === 'string') return [at(value)];
  return isJsonObject(value)
    ? Object.entries(value).flatMap(([key, inner]) => [at(key), ...pathsOf(inner ?? null, at(key))])
    : [];
};
