import type { RecordedEvent } from '../events/event.ts';
import type { Registry } from './registry.ts';

/** Events of older versions as the newest code wants to see them: for whoever reads the log, actors read their own. */
export const createUpcast = (registry: Registry): ((event: RecordedEvent) => RecordedEvent) => {
  return (event) => {
    // A dead letter has its message inside of data of its own; what the runtime writes has readers of its own.
    if (event.kind !== 'message' && event.kind !== 'fact') return event;
    const definition = registry.find(event.machine, event.machineVersion) ?? registry.newest(event.machine);
    if (!definition?.workflow.options.readers) return event;
    const { data, version } = definition.read(event.type, event.typeVersion, event.data);
    // Its id and data may be read only when they are looked at: a copy has to take them along.
    return version === event.typeVersion ? event : { ...event, id: event.id, data, typeVersion: version };
  };
};
