import type { RecordedEvent } from './events/event.ts';
import { createProjectionEngine, type ProjectionEngine } from './projections/engine.ts';
import { OWN_PROJECTIONS } from './projections/own-projections.ts';
import type { Projection } from './projections/projection.ts';
import type { EventLog } from './store/event-log.ts';

export interface ViewPorts {
  readonly log: EventLog;
  readonly projections: readonly Projection[];
  /** Events of older versions as the newest code wants to see them. */
  readonly upcast: (event: RecordedEvent) => RecordedEvent;
  /** Then nothing is stored: see `RuntimeOptions.readOnly`. */
  readonly isReadOnly: boolean;
  readonly warn: (warning: string) => void;
}

/** The views of a runtime: its own projections and the host's, over its log. */
export const createViews = ({ log, projections, upcast, isReadOnly, warn }: ViewPorts): ProjectionEngine =>
  createProjectionEngine({
    source: {
      events: async (query) => (await log.events(query)).map(upcast),
      scan: async (query) => (await log.scan(query)).map(upcast),
      loadView: (key) => log.loadView(key),
      saveViews: async (views, given) => (isReadOnly ? undefined : log.saveViews(views, given)),
      dropViews: async (keys) => (isReadOnly ? undefined : log.dropViews(keys)),
      head: () => log.head(),
    },
    projections: [...OWN_PROJECTIONS, ...projections],
    trusted: new Set(OWN_PROJECTIONS.map(({ name }) => name)),
    onFault: (error, projection, partition) =>
      warn(`The projection "${projection}" of "${partition}" failed: ${String(error)}`),
  });
