import { hash } from 'node:crypto';
import type { RecordedEvent } from '../events/event.ts';
import type { Origin } from '../events/turn.ts';

/** The chain of a log without turns. */
export const EMPTY_CHAIN = '0'.repeat(64);

/** A row without its payloads: those are hashed as the texts that are stored, never as parsed values. */
export type RowHead = Omit<RecordedEvent, 'data' | 'state'>;

export interface RowTexts {
  readonly dataJson: string;
  readonly stateJson: string;
}

/** What the chain covers of a turn, besides the digests of its rows. */
export interface TurnHeader {
  readonly turn: number;
  readonly id: string;
  readonly atMs: number;
  readonly origin: Origin;
  readonly by: string | null;
  readonly cause: number | null;
}

/**
 * The digest of a row over all its columns, with names where a database may keep integers: else a swap in its dictionary
 * would pass. The lengths of the texts stand before them, so that no newline in a name can make two rows look the same;
 * the data is last and needs none.
 */
export function rowDigest(row: RowHead, texts: RowTexts): string {
  const { id, run, actor, type, from, machine } = row;
  const { stateJson, dataJson } = texts;
  // Joined, and not one template: that would be made of thirty pieces, and copied once more before it is hashed.
  const text = [
    row.position,
    row.turn,
    row.atMs,
    row.version,
    row.kind,
    row.typeVersion,
    row.machineVersion,
    row.cause ?? '',
    `${id.length} ${run.length} ${actor.length} ${type.length} ${from?.length ?? '-'} ${machine.length} ${stateJson.length}`,
    id,
    run,
    actor,
    type,
    from ?? '',
    machine,
    stateJson,
    dataJson,
  ].join('\n');
  return hash('sha256', text, 'base64url');
}

/**
 * The chain after a turn. It goes from turn to turn, not from commit to commit: how many turns shared a transaction depends
 * on timing, and an import must give an equal head all the same.
 */
export function turnChain(previous: string, header: TurnHeader, digests: readonly string[]): string {
  const { turn, id, atMs, origin, by, cause } = header;
  return hash(
    'sha256',
    `${previous}\n${turn}\n${atMs}\n${origin}\n${cause ?? ''}\n${id.length} ${by?.length ?? '-'}\n${id}\n${
      by ?? ''
    }\n${digests.join('\n')}`,
    'hex',
  );
}

/** The digest of a row of a derived table (`what`): it is no part of the chain, but damage to it must be seen as well. */
export function derivedDigest(what: string, fields: readonly (string | number | null)[]): string {
  return hash('sha256', JSON.stringify([what, ...fields]), 'base64url');
}
