/**
 * Owns the log given as its first argument and starts a run `orphaned`, whose agent is the shell line given as its second. What
 * that starts has TEST_MARK in its environment, as this program has. Says `STARTED` once the run is in the log; ends by being killed.
 */
import { writeSync } from 'node:fs';
import { agent, createRuntime } from 'loopwright';
import { callOnce } from '../support/machines.ts';

const [file = '', line = ''] = process.argv.slice(2);
const worker = agent.command('sh', ['-c', line], { passEnv: ['TEST_MARK'] });
const runtime = await createRuntime({ file, workflows: [callOnce], agents: { worker } });
await runtime.start('call-once', { task: 'wait' }, { id: 'orphaned' });
writeSync(1, 'STARTED\n');
