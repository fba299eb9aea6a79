/**
 * How fast it is, as ratios measured in one run: `npm run bench`, `npm run bench -- --json`, `-- --quick` for a first look,
 * `-- --only throughput` for one figure.
 */
import { parseArgs } from 'node:util';
import { measureGrowth } from './growth.ts';
import { measureLatency } from './latency.ts';
import { measureMemory } from './memory.ts';
import { measurePeers } from './peers.ts';
import { measureProof } from './proof.ts';
import { measureRebuild } from './rebuild.ts';
import { measureRecovery } from './recovery.ts';
import { measureThroughput } from './throughput.ts';

const FIGURES = [
  'throughput',
  'latency',
  'recovery',
  'rebuild',
  'growth',
  'memory',
  'proof',
  'peers',
] as const;

const options = () => {
  try {
    const { values } = parseArgs({
      options: {
        json: { type: 'boolean', default: false },
        quick: { type: 'boolean', default: false },
        only: { type: 'string' },
        help: { type: 'boolean', default: false },
      },
    });
    if (values.only !== undefined && !FIGURES.some((figure) => figure === values.only)) {
      throw new Error(`--only takes one of ${FIGURES.join(', ')}, not "${values.only}".`);
    }
    return values;
  } catch (error) {
    console.error(
      `${error instanceof Error ? error.message : String(error)}\nTry: npm run bench -- [--json] [--quick] [--only FIGURE]`,
    );
    process.exit(2);
  }
};

const { json, quick, only, help } = options();
if (help) {
  console.log('npm run bench -- [--json] [--quick] [--only FIGURE]');
  console.log(`FIGURE: ${FIGURES.join(', ')}`);
  process.exit(0);
}

const wants = (figure: (typeof FIGURES)[number]): boolean => only === undefined || only === figure;
const say = (line: string): void => {
  if (!json) console.log(line);
};
const whole = (value: number): string => Math.round(value).toLocaleString('en-US').padStart(10);

const results: Record<string, unknown> = {};
if (wants('throughput')) {
  const { events, bytes_per_event, ...throughput } = await measureThroughput({
    loops: 1_000,
    pairs: quick ? 6 : 20,
  });
  results.throughput = throughput;
  results.size = { bytes_per_event, events };
  say(`throughput  ${whole(throughput.events_per_s)} events/s  ${whole(throughput.steps_per_s)} steps/s`);
  say(
    `            ${whole(throughput.raw_transitions_per_s)} bare transitions/s: ratio ${throughput.ratio.toFixed(2)} (${throughput.ratio_moved.toFixed(2)} of events that moved a machine)`,
  );
  say(`size        ${whole(bytes_per_event)} bytes/event`);
}
if (wants('latency')) {
  const latency = await measureLatency({ loops: quick ? 100 : 400 });
  results.latency = latency;
  say(
    `latency     ${whole(latency.turn_p50_us)} us a turn, ${whole(latency.raw_commit_p50_us)} us a bare commit: ratio ${latency.ratio.toFixed(2)}`,
  );
}
if (wants('recovery')) {
  const recovery = await measureRecovery({
    small: 10_000,
    large: quick ? 100_000 : 1_000_000,
    times: quick ? 5 : 11,
  });
  results.recovery = recovery;
  say(
    `recovery    ${recovery.open_ms_10k.toFixed(1)} ms in 10,000 events, ${recovery.open_ms_1m.toFixed(1)} ms in ${recovery.events_large.toLocaleString('en-US')}: ratio ${recovery.ratio.toFixed(2)}`,
  );
}
if (wants('rebuild')) {
  const rebuild = await measureRebuild({ events: quick ? 100_000 : 1_000_000, times: quick ? 3 : 5 });
  results.rebuild = rebuild;
  say(
    `rebuild     ${whole(rebuild.events_per_s)} events/s (${whole(rebuild.events_per_cpu_s).trim()} by its own time), ${rebuild.partitions.toLocaleString('en-US')} views of ${rebuild.events.toLocaleString('en-US')} events`,
  );
}
if (wants('growth')) {
  const growth = await measureGrowth({ events: quick ? 100_000 : 2_000_000 });
  results.growth = growth;
  say(
    `growth      ${whole(growth.first_tenth_events_per_s)} events/s in the first tenth of ${growth.events.toLocaleString('en-US')}, ${whole(growth.last_tenth_events_per_s).trim()} in the last: ratio ${growth.ratio.toFixed(2)}`,
  );
}
if (wants('memory')) {
  const memory = await measureMemory({ loops: quick ? 10_000 : 100_000 });
  results.memory = memory;
  say(
    `memory      ${whole(memory.rss_mb_100k_loaded)} MB for ${memory.loops.toLocaleString('en-US')} open loops, all loaded; ${whole(memory.rss_mb_100k_idle).trim()} after they left memory`,
  );
}
if (wants('proof')) {
  const proof = await measureProof({ times: quick ? 5 : 15, nodesMax: quick ? 3 : 5, tell: say });
  results.proof = proof;
  say(
    `proof       ${whole(proof.states_per_s)} states/s (${whole(proof.states_per_cpu_s).trim()} by its own time), ${proof.loops.length} loops in ${proof.all_loops_s.toFixed(1)} s, ${proof.threads} at a time`,
  );
}
if (wants('peers')) {
  const peers = await measurePeers({
    loops: 1_000,
    pairs: quick ? 4 : 10,
    tell: (sentence) => console.error(sentence),
  });
  results.peers = peers;
  for (const [name, { loops, alone, ...many }] of Object.entries(peers)) {
    const inFlight = loops === 1 ? 'one loop at a time' : `${loops.toLocaleString('en-US')} loops in flight`;
    say(
      `peers       ${whole(many.steps_per_s)} steps/s ${name}, ${inFlight}; ours ${whole(many.own_steps_per_s).trim()}: ratio ${many.ratio.toFixed(2)}`,
    );
    say(
      `            ${whole(alone.steps_per_s)} steps/s ${name}, one loop alone; ours ${whole(alone.own_steps_per_s).trim()}: ratio ${alone.ratio.toFixed(2)}`,
    );
  }
}
if (json) console.log(JSON.stringify(results));
