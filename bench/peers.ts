import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { median } from './measure.ts';
import { type PeerProcess, readBackOf, startPeer } from './peers-process.ts';
import type { Slice } from './peers-task.ts';

export interface PeerFigures {
  /** With so many loops in flight as it can have, at most ours. */
  readonly steps_per_s: number;
  readonly own_steps_per_s: number;
  /** Ours by theirs. */
  readonly ratio: number;
  readonly loops: number;
  /** One loop alone. */
  readonly alone: {
    readonly steps_per_s: number;
    readonly own_steps_per_s: number;
    readonly ratio: number;
  };
  /** Steps that another process read back from its disk afterwards, in whole loops: as many as were counted. */
  readonly steps_on_disk: number;
}

interface Peer {
  readonly name: string;
  readonly module: string;
  readonly variant: string;
  /** One that fails with several loops in flight runs them one after the other. */
  readonly loopsMax?: number;
  /** A variable of the environment that it needs. */
  readonly needs?: string;
}

const built = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
// From build/bench to the sources: the peers find their packages beside them.
const folderOfPeers = built('../../bench/peers/');

const OWN = { module: built('./peers-own.js'), variant: '' };
const PEERS: readonly Peer[] = [
  { name: 'xstate', module: built('./peers-xstate.js'), variant: '' },
  { name: 'langgraph', module: join(folderOfPeers, 'langgraph.mjs'), variant: 'full' },
  { name: 'langgraph_default', module: join(folderOfPeers, 'langgraph.mjs'), variant: 'default' },
  { name: 'emmett', module: join(folderOfPeers, 'emmett.mjs'), variant: '', loopsMax: 1 },
  { name: 'dbos', module: join(folderOfPeers, 'dbos.mjs'), variant: '', needs: 'DBOS_DATABASE_URL' },
];

export interface PeersOptions {
  readonly loops: number;
  readonly pairs: number;
  /** Told why a peer is left out. */
  readonly tell: (sentence: string) => void;
}

/**
 * The same loops of six steps with what people use today: steps a second, ours by theirs, in slices that take turns, each in a
 * process of its own.
 */
export const measurePeers = async (options: PeersOptions): Promise<Record<string, PeerFigures>> => {
  const figures: Record<string, PeerFigures> = {};
  for (const peer of PEERS) {
    const obstacle = obstacleOf(peer);
    if (obstacle !== undefined) {
      options.tell(`peers.${peer.name} is left out: ${obstacle}`);
      continue;
    }
    try {
      figures[peer.name] = await measurePeer(peer, options);
    } catch (error) {
      options.tell(`peers.${peer.name} has no figure: ${String(error)}`);
      process.exitCode = 1;
    }
  }
  return figures;
};

const obstacleOf = ({ module, needs }: Peer): string | undefined => {
  if (module.startsWith(folderOfPeers) && !existsSync(join(folderOfPeers, 'node_modules')))
    return 'it is not installed. Run `npm ci --prefix bench/peers`.';
  if (needs !== undefined && !process.env[needs])
    return `it needs a PostgreSQL that is running. Set ${needs}, for instance to postgresql://user@localhost/peers.`;
  return undefined;
};

const SLICE_MS = 250;
/** Loops are started in so many groups, one after the other, or all of them would start, and end, in the same slice. */
const GROUPS = 6;

const measurePeer = async (peer: Peer, { loops, pairs }: PeersOptions): Promise<PeerFigures> => {
  const folders = { own: tempFolder(), peer: tempFolder() };
  const own = startPeer(OWN, folders.own);
  const theirs = startPeer(peer, folders.peer);
  try {
    await Promise.all([own.ready(), theirs.ready()]);
    const peerLoops = Math.min(loops, peer.loopsMax ?? loops);
    for (let group = 1; group <= GROUPS; group += 1)
      await warmUp(own, theirs, {
        own: Math.ceil((loops * group) / GROUPS),
        peer: Math.ceil((peerLoops * group) / GROUPS),
      });
    const many = await takeTurns(own, theirs, { pairs, own: loops, peer: peerLoops });
    // After the others: files that still grow are slower to sync than those that are written over again.
    const alone = await takeTurns(own, theirs, { pairs, own: 1, peer: 1 });
    await finish(own, OWN.module, folders.own);
    const steps = await finish(theirs, peer.module, folders.peer);
    return { ...many, loops: peerLoops, alone, steps_on_disk: steps };
  } finally {
    own.kill();
    theirs.kill();
    for (const folder of Object.values(folders)) rmSync(folder, { recursive: true, force: true });
  }
};

const tempFolder = (): string => mkdtempSync(join(tmpdir(), 'loopwright-peers-'));

interface InFlight {
  readonly own: number;
  readonly peer: number;
}

const warmUp = async (own: PeerProcess, theirs: PeerProcess, inFlight: InFlight): Promise<void> => {
  await own.slice(SLICE_MS, inFlight.own);
  await theirs.slice(SLICE_MS, inFlight.peer);
};

const takeTurns = async (
  own: PeerProcess,
  theirs: PeerProcess,
  { pairs, ...inFlight }: InFlight & { readonly pairs: number },
) => {
  const rates: { own: number; peer: number }[] = [];
  for (let pair = 0; pair < pairs; pair += 1) {
    // Each goes first as often as second.
    const ownFirst = pair % 2 === 0 ? await own.slice(SLICE_MS, inFlight.own) : undefined;
    const peer = await theirs.slice(SLICE_MS, inFlight.peer);
    rates.push({
      own: rateOf(ownFirst ?? (await own.slice(SLICE_MS, inFlight.own))),
      peer: rateOf(peer),
    });
  }
  return {
    steps_per_s: median(rates.map((rate) => rate.peer)),
    own_steps_per_s: median(rates.map((rate) => rate.own)),
    ratio: median(rates.map((rate) => rate.own / rate.peer)),
  };
};

const rateOf = ({ steps, seconds }: Slice): number => steps / seconds;

/** Lets all loops end, and reads them back with another process. */
const finish = async (peer: PeerProcess, module: string, folder: string): Promise<number> => {
  const counted = await peer.finish();
  const found = await readBackOf(module, folder);
  if (found.steps !== counted.steps || found.loops !== counted.loops)
    throw new Error(
      `${module} has ${found.steps} steps of ${found.loops} loops on disk, but counted ${counted.steps} of ${counted.loops}.`,
    );
  return found.steps;
};
