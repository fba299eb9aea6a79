import { hash as digestOf } from 'node:crypto';
import type { Json, JsonObject } from './json.ts';

export const BLOB_KEY = '$loopwright.blob';

/** Stands for a string that is too large for an event: the log keeps it once, by its hash. */
export type BlobRef = {
  /** SHA-256 of the string's UTF-8, in lower-case hex digits. */
  readonly [BLOB_KEY]: string;
  /** How many bytes of UTF-8 the string has. */
  readonly bytes: number;
};

/** SHA-256 of a text's UTF-8, in hex digits. */
export const hashText = (text: string): string => digestOf('sha256', text, 'hex');

export const blobRef = (text: string): BlobRef => ({
  [BLOB_KEY]: hashText(text),
  bytes: Buffer.byteLength(text),
});

/** Whether a value is a reference and nothing else. */
export const isBlobRef = (value: unknown): value is BlobRef => {
  if (typeof value !== 'object' || value === null || !(BLOB_KEY in value) || !('bytes' in value))
    return false;
  const { [BLOB_KEY]: hash, bytes } = value;
  return (
    Object.keys(value).length === 2 &&
    typeof hash === 'string' &&
    /^[0-9a-f]{64}$/.test(hash) &&
    Number.isSafeInteger(bytes) &&
    Number(bytes) >= 0
  );
};

/** What stands for a large string where only its name can be shown. */
export const largeInWords = ({ bytes }: BlobRef): string => `(a text of ${bytes} bytes)`;

/** The hashes that a value refers to, each once, in the order in which they are met. */
export const blobRefsIn = (value: Json): string[] => {
  const hashes = new Set<string>();
  collect(value, hashes);
  return [...hashes];
};

const collect = (value: Json, hashes: Set<string>): void => {
  if (typeof value !== 'object' || value === null) return;
  if (isBlobRef(value)) hashes.add(value[BLOB_KEY]);
  else for (const child of Object.values(value)) collect(child, hashes);
};

/** The value with its strings in place of the references to them. References that are not among the blobs stay. */
export const resolveBlobs = (value: Json, blobs: ReadonlyMap<string, string>): Json => {
  if (typeof value !== 'object' || value === null || blobs.size === 0) return value;
  if (isBlobRef(value)) return blobs.get(value[BLOB_KEY]) ?? value;
  if (isList(value)) return value.map((item) => resolveBlobs(item, blobs));
  return Object.fromEntries(Object.entries(value).map(([key, child]) => [key, resolveBlobs(child, blobs)]));
};

const isList = (value: readonly Json[] | JsonObject): value is readonly Json[] => Array.isArray(value);
