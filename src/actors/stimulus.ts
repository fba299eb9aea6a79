import type { Encoded } from '../events/encode.ts';
import type { Address } from '../events/event.ts';
import type { Failure } from '../events/json.ts';
import type { Origin, Verdict } from '../events/turn.ts';

interface Header {
  /** Unique for ever: the same stimulus is committed at most once. */
  readonly id: string;
  /** Never less than that of the one before. */
  readonly atMs: number;
  readonly origin: Origin;
  readonly by: string | null;
  /** Position of the event that led to it, if one did. */
  readonly cause: number | null;
}

/** How an agent's call ended. */
export type Outcome = { readonly output: Encoded } | { readonly failure: Failure };

/** One thing that came from outside. Everything in it was checked and redacted at the door. */
export type Stimulus = Header &
  (
    | {
        readonly kind: 'start';
        readonly run: string;
        readonly workflow: string;
        readonly version: number;
        readonly input: Encoded;
        /** Its id was made for this very start: no log can have a run of that name. */
        readonly isFresh?: boolean;
      }
    | {
        readonly kind: 'message';
        readonly to: Address;
        readonly type: string;
        readonly data: Encoded;
        /** Refused unless the actor's stream is at this version: two people cannot both decide. */
        readonly expectedVersion: number | undefined;
      }
    | {
        readonly kind: 'answer';
        readonly actor: Address;
        readonly call: string;
        readonly generation: number;
        readonly outcome: Outcome;
      }
    | { readonly kind: 'begun'; readonly actor: Address; readonly call: string; readonly generation: number }
    | { readonly kind: 'fired'; readonly actor: Address; readonly timer: string; readonly generation: number }
    /** The actor goes on under another version of its machine, in this state. */
    | { readonly kind: 'migrate'; readonly actor: Address; readonly from: number; readonly state: Encoded }
    | { readonly kind: 'end'; readonly run: string; readonly verdict: Verdict; readonly reason: string }
  );
