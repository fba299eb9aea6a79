import type { RecordedEvent } from '../events/event.ts';
import { isJsonObject, type Json, type JsonObject } from '../events/json.ts';
import { roundedUsd } from '../events/usage.ts';
import { type PhaseMetrics, phaseMetrics } from './phase-metrics.ts';
import { projection } from './projection.ts';

/** A phase of a pipeline, as metrics see it. */
export interface TelemetryPhase {
  id: string;
  kind: string;
  /** The phases before it, however far. */
  after: string[];
}

/** A fault, by its fingerprint: however often it was found, it is one. */
export interface TelemetryDefect {
  fingerprint: string;
  id: string;
  description: string;
  category: string;
  severity: string;
  /** The earliest phase that it is of, as was said last. */
  injected: string;
  phases: string[];
  /** The phase that found it first. */
  detected: string;
  /** Why these phases, if its finder did not say. */
  reason: string | null;
  times: number;
}

/** What was done because of one failed pass. */
export interface TelemetryCorrection {
  id: string;
  detected: string;
  pass: number;
  finding: string;
  openedAtMs: number;
  /** Fingerprints of what was found. */
  defects: string[];
  injected: string[];
  attempts: Record<string, number>;
  /** Of the attempts. */
  costUsd: number;
  latencyMs: number;
  /** Of looking again. */
  reviews: { runs: number; costUsd: number; latencyMs: number };
  outcome: string | null;
}

export interface PhaseTelemetry {
  phases: TelemetryPhase[];
  alertAbove: number | null;
  isAlerted: boolean;
  /** How often each phase was called. */
  runs: Record<string, number>;
  defects: TelemetryDefect[];
  corrections: TelemetryCorrection[];
  metrics: PhaseMetrics;
}

const nothing: Omit<PhaseTelemetry, 'metrics'> = {
  phases: [],
  alertAbove: null,
  isAlerted: false,
  runs: {},
  defects: [],
  corrections: [],
};
const initial: PhaseTelemetry = { ...nothing, metrics: phaseMetrics(nothing) };

/** What was corrected in the phases of a run, and the figures that follow from it. */
export const phaseTelemetry = projection({
  name: 'phase-telemetry',
  version: 1,
  partition: 'run',
  initial,
  on: {
    'pipeline.started': (state, event) => {
      if (!isOwn(event) || state.phases.length > 0) return;
      const { phases, alertAbove } = event.data;
      const given = objectsIn(phases);
      state.phases = given.map(({ id, kind }) => ({
        id: text(id),
        kind: text(kind),
        after: closure(given, text(id)),
      }));
      state.alertAbove = typeof alertAbove === 'number' ? alertAbove : null;
    },
    'phase.begun': (state, event) => {
      if (!isOfPipeline(state, event)) return;
      const { phase, as } = event.data;
      add(state.runs, text(phase), 1);
      const correction = correctionIn(state, event);
      if (correction && as === 'correction') add(correction.attempts, text(phase), 1);
      if (correction && as === 'review') correction.reviews.runs += 1;
      state.metrics = phaseMetrics(state);
    },
    'phase.ended': (state, event) => {
      const correction = isOfPipeline(state, event) ? correctionIn(state, event) : undefined;
      if (!correction) return;
      const { as, spent, tookMs } = event.data;
      const cost = isJsonObject(spent) ? number(spent['costUsd']) : 0;
      const part = as === 'review' ? correction.reviews : correction;
      part.costUsd = roundedUsd(part.costUsd + cost);
      part.latencyMs += number(tookMs);
      state.metrics = phaseMetrics(state);
    },
    'correction.opened': (state, event) => {
      if (isOfPipeline(state, event)) open(state, event);
    },
    'correction.closed': (state, event) => {
      const { id, outcome } = event.data;
      const correction = isOwn(event) && state.corrections.find((each) => each.id === id);
      if (correction) correction.outcome = text(outcome);
    },
    'correction.alert': (state, event) => {
      if (isOfPipeline(state, event)) state.isAlerted = true;
    },
    'issue.reclassified': (state, event) => {
      if (isOfPipeline(state, event)) reclassified(state, event.data);
    },
  },
});

/** Rows that the root of a run wrote about itself. */
const isOwn = ({ kind, actor, run }: RecordedEvent): boolean => kind === 'fact' && actor === run;

const isOfPipeline = ({ phases }: PhaseTelemetry, event: RecordedEvent): boolean =>
  phases.length > 0 && isOwn(event);

function open(state: PhaseTelemetry, { data, atMs }: RecordedEvent): void {
  const defects = objectsIn(data['defects']).map((defect) =>
    noteDefect(state, defect, text(data['detected'])),
  );
  state.corrections.push({
    id: text(data['id']),
    detected: text(data['detected']),
    pass: number(data['pass']),
    finding: text(data['finding']),
    openedAtMs: atMs,
    defects: defects.map(({ fingerprint }) => fingerprint),
    injected: inOrder(
      state,
      defects.map(({ injected }) => injected),
    ),
    attempts: {},
    costUsd: 0,
    latencyMs: 0,
    reviews: { runs: 0, costUsd: 0, latencyMs: 0 },
    outcome: null,
  });
  state.metrics = phaseMetrics(state);
}

function noteDefect(state: PhaseTelemetry, given: JsonObject, detected: string): TelemetryDefect {
  const { fingerprint, id, description, category, severity, injected, phases, reason } = given;
  const known = state.defects.find((defect) => defect.fingerprint === fingerprint);
  const defect: TelemetryDefect = {
    fingerprint: text(fingerprint),
    id: text(id),
    description: text(description),
    category: text(category),
    severity: text(severity),
    injected: text(injected),
    phases: (Array.isArray(phases) ? phases : []).map(text),
    detected: known?.detected ?? detected,
    reason: typeof reason === 'string' ? reason : null,
    times: (known?.times ?? 0) + 1,
  };
  if (known) Object.assign(known, defect);
  else state.defects.push(defect);
  return defect;
}

function reclassified(state: PhaseTelemetry, { fingerprint, phases }: JsonObject): void {
  const defect = state.defects.find((each) => each.fingerprint === fingerprint);
  const named = (Array.isArray(phases) ? phases : []).map(text);
  if (!defect || named[0] === undefined) return;
  Object.assign(defect, { phases: named, injected: named[0], reason: 'A person has put it there.' });
  for (const correction of state.corrections) {
    const own = state.defects.filter((each) => correction.defects.includes(each.fingerprint));
    correction.injected = inOrder(
      state,
      own.map(({ injected }) => injected),
    );
  }
  state.metrics = phaseMetrics(state);
}

const correctionIn = (
  { corrections }: PhaseTelemetry,
  { data }: RecordedEvent,
): TelemetryCorrection | undefined => corrections.find(({ id }) => id === data['correction']);

const inOrder = ({ phases }: PhaseTelemetry, named: readonly string[]): string[] =>
  phases.map(({ id }) => id).filter((id) => named.includes(id));

const closure = (phases: readonly JsonObject[], id: string, found: string[] = []): string[] => {
  const needs = phases.find((phase) => phase['id'] === id)?.['needs'];
  for (const need of (Array.isArray(needs) ? needs : []).map(text))
    if (!found.includes(need)) {
      found.push(need);
      closure(phases, need, found);
    }
  return found;
};

function add(counts: Record<string, number>, key: string, by: number): void {
  counts[key] = (Object.hasOwn(counts, key) ? (counts[key] ?? 0) : 0) + by;
}

const objectsIn = (value: Json | undefined): readonly JsonObject[] =>
  (Array.isArray(value) ? (value as readonly Json[]) : []).filter((each) => isJsonObject(each));
const text = (value: Json | undefined): string => (typeof value === 'string' ? value : '');
const number = (value: Json | undefined): number => (typeof value === 'number' ? value : 0);
