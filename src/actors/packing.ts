import { encodeOwn } from '../events/encode-own.ts';
import { invariant } from '../invariant.ts';
import type { ActorRecord, StoredActor } from './actor-record.ts';
import { storedActor } from './fold.ts';
import type { Definition, Registry } from './registry.ts';

/**
 * An actor as one short text: what it takes in memory while nothing happens to it. As objects, the three actors of a tight loop
 * that has just begun take 5 KB in some fifty pieces, which the collector visits again and again.
 */
export interface PackedActor {
  readonly definition: Definition;
  readonly version: number;
  readonly run: string;
  readonly text: string;
}

export interface Packing {
  /** Undefined if there is something in its context that a text cannot hold: then it stays as it is. */
  pack(record: ActorRecord): PackedActor | undefined;
  unpack(packed: PackedActor): ActorRecord;
}

/** The text of the first actor of a machine, cut into pieces, and where each piece comes first. */
interface Pattern {
  readonly pieces: readonly string[];
  readonly places: ReadonlyMap<string, number>;
}

/** Actors of one machine have most of their text in common: each is written down as what is different from the first of them. */
export const createPacking = (registry: Registry): Packing => {
  const patterns = new Map<Definition, Pattern>();
  return {
    pack(record) {
      const definition = registry.find(record.machine, record.machineVersion);
      const text = definition && textOf(definition, record);
      if (definition === undefined || text === undefined) return undefined;
      const { run, version } = record;
      const pieces = withoutRun(text, run).split(CUT);
      const pattern = patterns.get(definition) ?? toPattern(pieces);
      patterns.set(definition, pattern);
      return { definition, version, run, text: shortened(pieces, pattern) };
    },
    unpack({ definition, run, text }) {
      const pattern = patterns.get(definition);
      invariant(pattern, 'a packed actor was packed here');
      const actor = JSON.parse(withRun(lengthened(text, pattern), run)) as StoredActor; // `pack` wrote it.
      return { ...actor, snapshot: actor.snapshot && definition.behavior.restore(actor.snapshot) };
    },
  };
};

const textOf = (definition: Definition, record: ActorRecord): string | undefined => {
  const stored = storedActor(definition, record);
  try {
    encodeOwn(stored, 'actor');
  } catch {
    return undefined;
  }
  // Not in canonical order: a machine that goes through the keys of its context must find them as it left them.
  return JSON.stringify(stored);
};

const CUT = ',';
/** None of them can stand in JSON as it is: there they are escaped. */
const LINE = '\n';
const SAME = '\t';
const RUN = '\r';

/** The name of the run stands in an actor many times. One that JSON would escape is left where it is, and so is a short one. */
const RUN_LENGTH_MIN = 8;
const withoutRun = (text: string, run: string): string =>
  run.length >= RUN_LENGTH_MIN ? text.replaceAll(run, RUN) : text;
const withRun = (text: string, run: string): string => text.replaceAll(RUN, () => run);

const toPattern = (pieces: readonly string[]): Pattern => ({
  pieces,
  places: new Map(pieces.map((piece, index): [string, number] => [piece, index]).toReversed()),
});

/** The pieces line by line; in place of those that the pattern has, where they are in it and how many. */
const shortened = (pieces: readonly string[], { pieces: known, places }: Pattern): string => {
  const lines: string[] = [];
  let expected = 0;
  for (let index = 0; index < pieces.length; ) {
    const piece = pieces[index] ?? '';
    const place = known[expected] === piece ? expected : places.get(piece);
    if (place === undefined) {
      lines.push(piece);
      index += 1;
      expected += 1;
      continue;
    }
    let count = 1;
    while (index + count < pieces.length && known[place + count] === pieces[index + count]) count += 1;
    lines.push(`${SAME}${place}${SAME}${count}`);
    index += count;
    expected = place + count;
  }
  return lines.join(LINE);
};

const lengthened = (text: string, { pieces }: Pattern): string =>
  text
    .split(LINE)
    .map((line) => {
      if (!line.startsWith(SAME)) return line;
      const [, place, count] = line.split(SAME).map(Number);
      invariant(place !== undefined && count !== undefined, 'a packed text says where, and how many');
      return pieces.slice(place, place + count).join(CUT);
    })
    .join(CUT);
