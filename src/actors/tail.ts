import { stripVTControlCharacters } from 'node:util';

/** How much of it is kept at least. */
const KEPT_BYTES = 64 * 1024;
/** How much of it is shown: the log keeps 4,000 characters of an error. */
const SHOWN_LENGTH = 2_000;

/** The end of what someone writes, whatever the amount of it. */
export interface Tail {
  take(piece: Buffer): void;
  /** Its last lines, without the codes that steer terminals, and without secrets: those are taken out before it is cut. */
  text(redact: (text: string) => string): string;
}

export const createTail = (): Tail => {
  let pieces: Buffer[] = [];
  let bytes = 0;
  return {
    take(piece) {
      pieces.push(piece);
      bytes += piece.byteLength;
      if (bytes <= 2 * KEPT_BYTES) return;
      // A copy: a part of a large buffer would keep all of it.
      pieces = [Buffer.from(Buffer.concat(pieces).subarray(-KEPT_BYTES))];
      bytes = KEPT_BYTES;
    },
    text: (redact) =>
      lastPart(redact(stripVTControlCharacters(Buffer.concat(pieces).toString('utf8'))).trim()),
  };
};

/** Begins at a line, or at least at a word: what is left of a secret that was cut in two is not known as one any more. */
const lastPart = (text: string): string => {
  if (text.length <= SHOWN_LENGTH) return text;
  const part = text.slice(-SHOWN_LENGTH);
  const line = part.indexOf('\n');
  const start = line >= 0 ? line : part.search(/\s/);
  return start >= 0 ? `…${part.slice(start).trimEnd()}` : '…';
};
