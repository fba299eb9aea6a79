import { measureThroughput } from './throughput.ts';

console.log(await measureThroughput({ loops: 1_000, pairs: Number(process.argv[2] ?? 8) }));
