import type { AnyStateMachine } from 'xstate';
import type { Address, RecordedEvent } from '../events/event.ts';
import { isReservedType, TYPE } from '../events/vocabulary.ts';
import { nameOf } from './in-words.ts';

type Node = AnyStateMachine['root'];

/** A machine as a diagram of Mermaid: every state, region and transition, with events and the names of guards. */
export const toMermaid = (machine: AnyStateMachine): string => {
  const ids = new Map(nodesIn(machine.root).map((node, index) => [node.id, `s${index}`]));
  return [
    'stateDiagram-v2',
    ...indented([...statesOf(machine.root, ids), ...transitionsOf(machine.root, ids)]),
    '',
  ].join('\n');
};

type Ids = ReadonlyMap<string, string>;

const nodesIn = (node: Node): readonly Node[] => [node, ...Object.values(node.states).flatMap(nodesIn)];

const indented = (lines: readonly string[]): readonly string[] => lines.map((line) => `  ${line}`);

const idOf = (node: { readonly id: string }, ids: Ids): string => ids.get(node.id) ?? 'unknown';

/** The states below one, and where each begins and ends. */
const statesOf = (node: Node, ids: Ids): readonly string[] => {
  const children = Object.values(node.states);
  const [first] = node.type === 'compound' ? (node.initial.target ?? []) : [];
  return [
    ...(first ? [`[*] --> ${idOf(first, ids)}`] : []),
    ...children.flatMap((child, index) => [
      // Regions of a parallel state stand beside each other.
      ...(node.type === 'parallel' && index > 0 ? ['--'] : []),
      `state ${quoted(labelOf(child))} as ${idOf(child, ids)}`,
      ...(Object.keys(child.states).length > 0
        ? [`state ${idOf(child, ids)} {`, ...indented(statesOf(child, ids)), '}']
        : []),
      ...(child.type === 'final' ? [`${idOf(child, ids)} --> [*]`] : []),
    ]),
  ];
};

const labelOf = ({ key, type, history, invoke }: Node): string => {
  const calls = invoke.map(({ id, src }) => (typeof src === 'string' ? src : id));
  const kind = type === 'history' ? ` (${history === 'deep' ? 'deep ' : ''}history)` : '';
  return `${key}${kind}${calls.length === 0 ? '' : ` / ${calls.join(', ')}`}`;
};

const transitionsOf = (node: Node, ids: Ids): readonly string[] => {
  const own = [...node.transitions.values(), node.always ?? []]
    .flat()
    .flatMap(({ eventType, target, guard, source }) => {
      const label = oneLine(`${eventType === '' ? 'always' : eventName(eventType)}${guardName(guard)}`);
      // What the root does wherever it is has no state of its own to begin at.
      const from = source.parent ? idOf(source, ids) : undefined;
      const targets = target ?? [source];
      return targets.flatMap((to) => {
        if (from !== undefined) return [`${from} --> ${to.parent ? idOf(to, ids) : from} : ${label}`];
        return to.parent
          ? Object.values(node.states).map((child) => `${idOf(child, ids)} --> ${idOf(to, ids)} : ${label}`)
          : [];
      });
    });
  return [...own, ...Object.values(node.states).flatMap((child) => transitionsOf(child, ids))];
};

/** Events that XState makes are told by what they stand for. */
const eventName = (type: string): string =>
  type
    .replace(/^xstate\.done\.actor\.(.+)$/, 'done: $1')
    .replace(/^xstate\.error\.actor\.(.+)$/, 'error: $1')
    .replace(/^xstate\.done\.state\.(.+)$/, 'done: $1')
    .replace(/^xstate\.after\.(.+?)\..+$/, 'after $1');

const guardName = (guard: unknown): string => {
  if (guard === undefined || guard === null) return '';
  if (typeof guard === 'string') return ` [${guard}]`;
  const name = typeof guard === 'object' && 'type' in guard ? String(guard.type) : nameOfFunction(guard);
  // One that was written in its place is called after that: it has no name, nor has it in a definition that was read from JSON.
  return name === '' || name === 'guard' ? ' [if]' : ` [${name}]`;
};

const nameOfFunction = (guard: unknown): string => (typeof guard === 'function' ? guard.name : '');

const quoted = (text: string): string => `"${oneLine(text)}"`;

/** Nothing in a name may end its line or its quotes: Mermaid has codes for such characters. */
const oneLine = (text: string): string =>
  text.replaceAll(/[\r\n]+/g, ' ').replaceAll(/[#;"<>{}:|]/g, (character) => `#${character.codePointAt(0)};`);

const MESSAGES_MAX = 2_000;

/** The messages between the actors of a run as a sequence diagram of Mermaid: who told whom what, in order. */
export const toSequenceDiagram = (events: readonly RecordedEvent[]): string => {
  const participants = new Map<Address | null, string>();
  const nameFor = (address: Address | null): string => {
    const known = participants.get(address) ?? `p${participants.size}`;
    participants.set(address, known);
    return known;
  };
  const lines = events.slice(0, MESSAGES_MAX).map((event) => lineOf(event, nameFor));
  const left = events.length - lines.length;
  return [
    'sequenceDiagram',
    ...[...participants].map(
      ([address, id]) => `  participant ${id} as ${oneLine(address === null ? 'outside' : nameOf(address))}`,
    ),
    ...lines.map((line) => `  ${line}`),
    ...(left > 0 ? [`  Note over ${nameFor(null)}: ${left} more`] : []),
    '',
  ].join('\n');
};

const lineOf = (event: RecordedEvent, nameFor: (address: Address | null) => string): string => {
  const { kind, type, from, actor, data } = event;
  const to = nameFor(actor);
  const what = oneLine(type);
  switch (kind) {
    case 'fact':
      return `Note over ${to}: ${what}`;
    case 'undelivered':
    case 'late':
      return `${nameFor(from)}-x${to}: ${what}`;
    case 'failed':
    case 'stopped':
    case 'migrated':
      return `Note over ${to}: ${what}`;
    default: {
      const isAnswer = type === TYPE.callDone || type === TYPE.callFailed;
      const about = typeof data['call'] === 'string' ? ` ${data['call']}` : '';
      return `${nameFor(from)}${isAnswer ? '-->>' : '->>'}${to}: ${what}${isReservedType(type) ? oneLine(about) : ''}`;
    }
  }
};
