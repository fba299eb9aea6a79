/** Every value that the log can hold and give back exactly as it was. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;

export interface JsonObject {
  readonly [key: string]: Json;
}

/** The fields of a failure, as they are logged: an `Error` itself does not survive JSON. */
export interface Failure {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  /** Trying again is no use. */
  readonly final?: true;
  /** How long whoever refused asks to be left alone. */
  readonly retryAfterMs?: number;
}

export const isJsonObject = (value: Json | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
