import type { Address, RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json } from '../events/json.ts';
import { TYPE } from '../events/vocabulary.ts';
import { compareArtifact } from '../machines/issues.ts';
import { hashOf } from '../machines/plan.ts';
import { type AnyMetLimit, isHalt, type Met } from './met-limits.ts';

/** What a loop and those below it took and stated up to where a limit was met. */
interface Seen {
  readonly own: readonly RecordedEvent[];
  readonly below: readonly RecordedEvent[];
  readonly all: readonly RecordedEvent[];
  readonly met: AnyMetLimit;
}

/** The events that a limit counts, in order: its last ones, if there are more than were used. */
type Count = (seen: Seen) => readonly RecordedEvent[];

const facts = (events: readonly RecordedEvent[], ...types: readonly string[]): readonly RecordedEvent[] =>
  events.filter(({ kind, type }) => kind === 'fact' && types.includes(type));

const messages = (events: readonly RecordedEvent[], ...types: readonly string[]): readonly RecordedEvent[] =>
  events.filter(({ kind, type }) => kind === 'message' && types.includes(type));

const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');

const names = (value: Json | undefined, evidence: readonly string[]): boolean => {
  if (typeof value === 'string') return evidence.includes(value);
  if (typeof value !== 'object' || value === null) return false;
  return Object.values(value).some((child: Json) => names(child, evidence));
};

const rejections: Count = ({ own }) =>
  facts(own, 'gate.rejected', 'correction.opened', 'loop.pass').filter(
    ({ type, data }) => type !== 'loop.pass' || data['status'] !== 'verified',
  );

/** Of a gate or phase that is named, its own; else all. */
const passes: Count = (seen) =>
  rejections(seen).filter(
    ({ type, data }) =>
      seen.met.evidence.length === 0 ||
      type === 'loop.pass' ||
      names(data['gate'] ?? data['detected'], seen.met.evidence),
  );

const same: Count = (seen) => rejections(seen).filter(({ data }) => names(data, seen.met.evidence));

const failuresInRow: Count = ({ own, met }) =>
  facts(own, 'loop.pass').filter(({ data }) => {
    const check = data[met.evidence[0] ?? ''];
    return isJsonObject(check) && check['passed'] === false;
  });

/** A node of a tree says which repeat is over; an agent that has a loop of its own just answers. */
const repeats: Count = ({ own, met }) => {
  const ofNode = facts(own, 'loop.repeated').filter(({ data }) => names(data['node'], met.evidence));
  return ofNode.length > 0 ? ofNode : messages(own, 'agent.done');
};

const fates =
  (fate: 'unchanged' | 'oscillating'): Count =>
  ({ own }) => {
    const told = facts(own, 'step.done', 'phase.same').filter(({ data }) => data['fate'] === fate);
    return told.length > 0 ? told : madeAgain(own, fate);
  };

/** What a developer made is compared when it answers, from the second pass on, if it names what it made. */
const madeAgain = (own: readonly RecordedEvent[], fate: string): readonly RecordedEvent[] => {
  const earlier: string[] = [];
  const found: RecordedEvent[] = [];
  const [pass] = facts(own, 'loop.pass');
  for (const event of messages(own, 'agent.done')) {
    const { answer } = event.data;
    const artifacts = isJsonObject(answer) ? answer['artifacts'] : undefined;
    if (artifacts === undefined) continue;
    const hash = hashOf(artifacts);
    const isLater = pass !== undefined && event.position > pass.position;
    if (isLater && compareArtifact(earlier, hash) === fate) found.push(event);
    earlier.push(hash);
  }
  return found;
};

/** Feedback between agents by source, target and subject; a defect by the phases that it went between. */
const rounds: Count = (seen) => {
  const sent = facts(seen.own, 'feedback.sent').filter(({ data }) =>
    pairsOf(data['loop'], seen.below).some((pair) => seen.met.evidence.includes(pair)),
  );
  return sent.length > 0 ? sent : defectRounds(seen);
};

/** As a plan run names who says something to whom about what. */
const pairsOf = (loop: Json | undefined, below: readonly RecordedEvent[]): readonly string[] => {
  const opened = facts(below, 'feedback.opened').find(({ actor }) => actor === loop);
  const { source, targets, subject } = opened?.data ?? {};
  return Array.isArray(targets)
    ? targets.map((target: Json) => `${text(source)} > ${text(target)}: ${text(subject)}`)
    : [];
};

/** Of the defects that were found again, the one that went back most often. */
const defectRounds = ({ own, met }: Seen): readonly RecordedEvent[] => {
  const opened = facts(own, 'correction.opened');
  const again = opened.at(-1);
  const routed = new Map<string, RecordedEvent[]>();
  for (const event of facts(own, 'correction.routed')) {
    const correction = opened.find(({ data }) => data['id'] === event.data['id']);
    if (!correction || correction.data['detected'] !== again?.data['detected']) continue;
    for (const way of waysOf(correction, met.evidence).filter(({ to }) => names(event.data['phases'], [to])))
      routed.set(way.key, [...(routed.get(way.key) ?? []), event]);
  }
  const ways = again ? waysOf(again, met.evidence) : [];
  return ways
    .map(({ key }) => routed.get(key) ?? [])
    .reduce((most, each) => (each.length > most.length ? each : most), []);
};

/** Where the defects of a correction that are meant go. */
const waysOf = (
  { data }: RecordedEvent,
  fingerprints: readonly string[],
): readonly { readonly key: string; readonly to: string }[] =>
  (Array.isArray(data['defects']) ? data['defects'] : []).flatMap((defect: Json) => {
    const { fingerprint = null, phases = [] } = isJsonObject(defect) ? defect : {};
    if (!names(fingerprint, fingerprints) || !Array.isArray(phases)) return [];
    return phases.map((to: Json) => ({ key: `${text(fingerprint)} > ${text(to)}`, to: text(to) }));
  });

/** Of each feedback of a tree the fact that put it on record. */
const firstOfEach = (events: readonly RecordedEvent[]): readonly RecordedEvent[] => {
  const known = new Set<Json | undefined>();
  return events.filter(({ data }) => !known.has(data['id']) && known.add(data['id']));
};

/** The feedback for which there is none left has a fact as well, which is not counted. */
const feedbacks: Count = ({ own, below, met }) => {
  const sent = facts(own, 'feedback.sent');
  if (sent.length > 0) return sent;
  return firstOfEach(facts(below, 'feedback.queued', 'feedback.escalated')).slice(0, met.used);
};

const pairRounds: Count = ({ below, met }) =>
  facts(below, 'feedback.queued').filter(({ data }) =>
    met.evidence.includes(`${text(data['source'])} → ${text(data['target'])}`),
  );

const hops: Count = ({ below, met }) =>
  firstOfEach(facts(below, 'feedback.queued')).filter(({ data }) => names(data['id'], met.evidence));

/** The plans that added nodes, and the one that would have added too many. */
const addedNodes: Count = ({ own, all }) => {
  const planned = facts(own, 'tree.planned').filter(
    ({ data: { added } }) => Array.isArray(added) && added.length > 0,
  );
  const refused = facts(all, 'node.refused').at(-1);
  return refused ? [...planned, refused] : planned;
};

const answers: Count = ({ below }) => messages(below, TYPE.callDone, TYPE.callFailed);

const usages: Count = (seen) =>
  answers(seen).filter(({ data: { output } }) => isJsonObject(output) && output['usage'] !== undefined);

const turns: Count = ({ all }) => {
  const known = new Set<number>([all.at(-1)?.turn ?? 0]);
  return all.filter(({ turn }) => !known.has(turn) && known.add(turn));
};

/** What each limit of the package counts. */
const COUNTED: Readonly<Partial<Record<string, Count>>> = {
  passes,
  sameIssue: same,
  sameFailure: same,
  failuresInRow,
  repeats,
  unchanged: fates('unchanged'),
  oscillations: fates('oscillating'),
  rounds,
  reworks: ({ below }) => facts(below, 'rework.recorded'),
  // The first try is none of those that are allowed besides.
  reviewRetries: ({ own, met }) =>
    facts(own, 'story.unreviewed').filter(
      ({ data }) => names(data['reviewer'], met.evidence) && data['times'] !== 1,
    ),
  feedbacks,
  pairRounds,
  hops,
  replans: ({ own }) => facts(own, 'tree.planned').filter(({ data }) => data['replan'] !== null),
  addedNodes,
  calls: answers,
  costUsd: usages,
  tokens: usages,
  timeMs: ({ own }) => own.filter(({ kind, type }) => kind === 'started' || type === TYPE.timerFired),
  turns,
};

/** These add up what events say; the others count the events themselves. */
const SUMS: readonly string[] = ['costUsd', 'tokens', 'timeMs', 'addedNodes'];

/** The events that a limit counted, in order. */
export const countedBy = (
  { met, loop, position }: Met,
  events: readonly RecordedEvent[],
): readonly RecordedEvent[] => {
  const all = events.filter((event) => event.position <= position && isWithin(event, loop));
  const own = all.filter(({ actor }) => actor === loop);
  const below = all.filter(({ actor }) => actor !== loop);
  const count = Object.hasOwn(COUNTED, met.limit) ? COUNTED[met.limit] : undefined;
  const found = (count ?? statedBefore)({ own, below, all, met });
  if (SUMS.includes(met.limit)) return found;
  const used = Math.ceil(met.used);
  return used > 0 ? found.slice(-used) : [];
};

const isWithin = ({ actor }: RecordedEvent, loop: Address): boolean =>
  actor === loop || actor.startsWith(`${loop}/`);

/** Of a limit of somebody else's loop: what names its evidence, else what the loop always states before it looks at its limits. */
const statedBefore: Count = ({ own, all, met }) => {
  const last = all.at(-1);
  const stated = own.findLast(
    (event) =>
      event.turn === last?.turn && event.kind === 'fact' && event.position < last.position && !isHalt(event),
  );
  return own.filter(
    (event) =>
      event.kind === 'fact' &&
      !isHalt(event) &&
      (met.evidence.length > 0 ? names(event.data, met.evidence) : event.type === stated?.type),
  );
};
