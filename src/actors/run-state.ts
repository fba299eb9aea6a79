import type { Observable } from 'rxjs';
import { RuntimeError } from '../errors.ts';
import type { Address, RecordedEvent } from '../events/event.ts';
import type { ActorRecord } from './actor-record.ts';
import { type ActorState, isSettled, toActorState } from './run-handle.ts';
import { type ReportFault, SafeObservable } from './safe-observable.ts';

export interface StatePorts {
  readonly actor: (address: Address) => Promise<ActorRecord | null>;
  /** The actor as it was committed last, if it is in memory. */
  readonly peek: (address: Address) => ActorRecord | null | undefined;
  readonly events: (id: string) => Observable<RecordedEvent>;
  readonly onFault: ReportFault;
}

/** The state of a run's root now, then after each commit that changed it, until it ends. */
export const stateOf$ = (ports: StatePorts, id: string): Observable<ActorState> =>
  new SafeObservable<ActorState>(ports.onFault, (subscriber) => {
    let version = 0;
    const tell = (record: ActorRecord) => {
      // Several events of one commit lead to one state: tell of it once.
      if (record.version <= version) return;
      version = record.version;
      subscriber.next(toActorState(record));
      if (record.status !== 'active') subscriber.complete();
    };
    const subscription = ports.events(id).subscribe({
      next: (event) => {
        const record = event.actor === id ? ports.peek(id) : undefined;
        if (record) tell(record);
      },
      complete: () => subscriber.complete(),
    });
    ports.actor(id).then(
      (record) => (record ? tell(record) : subscriber.error(new RuntimeError('UNKNOWN_RUN', { run: id }))),
      (error: unknown) => subscriber.error(error),
    );
    return subscription;
  });

/** The state once the run has ended or waits for a person. `failure` says why it never will, if the runtime has failed. */
export const settledState = (
  ports: StatePorts,
  id: string,
  failure: () => RuntimeError | undefined,
): Promise<ActorState> =>
  new Promise((resolve, reject) => {
    const subscription = stateOf$(ports, id).subscribe({
      next: (state) => {
        if (!isSettled(state)) return;
        resolve(state);
        // It may be settled before `subscribe` has returned.
        queueMicrotask(() => subscription.unsubscribe());
      },
      error: reject,
      complete: () =>
        reject(failure() ?? new RuntimeError('RUNTIME_CLOSED', { action: `waiting for "${id}"` })),
    });
  });
