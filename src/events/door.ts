import { isRuntimeError, RuntimeError } from '../errors.ts';
import { BLOB_KEY, blobRef, isBlobRef } from './blob.ts';
import { isLongerThan } from './bytes.ts';
import { DEFAULT_LIMITS, type EncodeLimits, encode } from './encode.ts';
import type { Json } from './json.ts';
import { type Path, pathText } from './payload-path.ts';
import { createRedactor, REDACTED, type Redactor, type SecretOptions } from './redact.ts';

/** What came in, fit to be logged. */
export interface Admitted {
  readonly value: Json;
  /** Canonical JSON of the value. */
  readonly json: string;
  /** The strings that the value refers to by hash. They have to be stored before it is. */
  readonly blobs: ReadonlyMap<string, string>;
}

/** Where everything from outside comes in: what it lets through can be logged, and holds no known secret. */
export interface Door {
  /**
   * Checks a value, takes the secrets out of it, and then the large strings. The limit on bytes holds for the rest.
   * `root` is what the path in an error begins with.
   *
   * @throws {RuntimeError} PAYLOAD_UNSUPPORTED, PAYLOAD_TOO_LARGE. No secret is shown in them, either.
   */
  admit(value: unknown, root?: string): Admitted;
  /** A text without its secrets. Do this before a text is cut: half of a secret is not known as one. */
  readonly text: (text: string) => string;
}

export interface DoorOptions {
  readonly limits?: EncodeLimits;
  /** Strings of more bytes become references: 16 KiB unless set. */
  readonly largeStringBytes?: number;
  /** A string of more bytes is refused: 16 MiB unless set. All large strings of a value may have four times as many. */
  readonly blobBytes?: number;
  readonly secrets?: SecretOptions;
}

export const createDoor = ({
  limits = DEFAULT_LIMITS,
  largeStringBytes = 16 * 1024,
  blobBytes = 16 * 1024 * 1024,
  secrets = {},
}: DoorOptions = {}): Door => {
  const redactor = createRedactor(secrets);
  const onMember = memberCheck(redactor);
  const admit = (value: unknown, root: string): Admitted => {
    const blobs = new Map<string, string>();
    let blobsLeft = blobBytes * 4;
    const onString = (text: string): Json => {
      if (text.length > blobBytes) throw tooLarge(blobBytes);
      const clean = redactor.text(text);
      if (!isLongerThan(clean, largeStringBytes)) return clean;
      if (isLongerThan(clean, Math.min(blobBytes, blobsLeft))) throw tooLarge(blobBytes);
      // Its hash and its row are of UTF-8, which has no halves of surrogate pairs.
      if (!clean.isWellFormed()) throw unsupported('a string with half a surrogate pair');
      const ref = blobRef(clean);
      blobsLeft -= ref.bytes;
      blobs.set(ref[BLOB_KEY], clean);
      return ref;
    };
    const encoded = encode(value, { limits, root, onString, onMember });
    if (encoded.json.includes(BLOB_KEY)) refuseFalseRefs(encoded.value, root, []);
    return { ...encoded, blobs };
  };
  return {
    admit(value, root = 'payload') {
      try {
        return admit(value, root);
      } catch (error) {
        throw withoutSecrets(error, redactor);
      }
    },
    text: redactor.text,
  };
};

const tooLarge = (limit: number): Error =>
  new RuntimeError('PAYLOAD_TOO_LARGE', { path: '', what: 'bytes', limit });

const unsupported = (found: string, path = ''): Error =>
  new RuntimeError('PAYLOAD_UNSUPPORTED', { path, found });

const KNOWN_KEYS_MAX = 10_000;
const KNOWN_KEY_LENGTH_MAX = 64;

/** Replaces the values of members with a secret name. Most keys come again and again: each is looked at once. */
const memberCheck = (redactor: Redactor): ((key: string) => Json | undefined) => {
  const plain = new Set<string>();
  return (key) => {
    if (plain.has(key)) return undefined;
    if (redactor.isSecretName(key)) return REDACTED;
    if (redactor.text(key) !== key) throw unsupported('a member whose key holds a secret');
    if (plain.size >= KNOWN_KEYS_MAX) plain.clear();
    if (key.length <= KNOWN_KEY_LENGTH_MAX) plain.add(key);
    return undefined;
  };
};

/** Only a real reference may look like one: else what is read back could be taken for something it never was. */
const refuseFalseRefs = (value: Json, root: string, path: Path): void => {
  if (typeof value !== 'object' || value === null || isBlobRef(value)) return;
  if (Object.hasOwn(value, BLOB_KEY)) {
    throw unsupported(`an object with "${BLOB_KEY}" that is no reference`, pathText(root, path));
  }
  for (const [key, child] of Object.entries(value)) {
    refuseFalseRefs(child, root, [...path, Array.isArray(value) ? Number(key) : key]);
  }
};

/** A path shows keys, and a key can hold a secret. */
const withoutSecrets = (error: unknown, redactor: Redactor): unknown => {
  if (isRuntimeError(error, 'PAYLOAD_UNSUPPORTED')) {
    return new RuntimeError(error.code, { ...error.fields, path: redactor.text(error.fields.path) });
  }
  if (isRuntimeError(error, 'PAYLOAD_TOO_LARGE')) {
    return new RuntimeError(error.code, { ...error.fields, path: redactor.text(error.fields.path) });
  }
  return error;
};
