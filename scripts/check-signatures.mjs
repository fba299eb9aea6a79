// Whether what is installed has the registry's signatures and, where its makers give one, their statement of provenance: npm run signatures
// Skipped, and said so, where the registry does not sign what it has, or nobody can be asked.

import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

/** What npm says if it could not find out: no network, or a registry that has no keys. */
const UNKNOWN =
  /\b(?:ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT)\b|supported registry/;

const { stdout, stderr, status, error } = spawnSync('npm', ['audit', 'signatures', '--json'], {
  cwd: root,
  encoding: 'utf8',
});

/** @returns {{ invalid?: { name: string; version: string }[]; missing?: { name: string; version: string }[]; error?: object }} */
function said() {
  try {
    return JSON.parse(stdout);
  } catch {
    return { error: { summary: `${stdout}${stderr}` } };
  }
}

const { invalid = [], missing = [], error: failure } = said();
if (error) throw error;
if (failure && UNKNOWN.test(JSON.stringify(failure))) {
  console.log('Signatures: skipped. The registry cannot be asked, or signs nothing:');
  console.log(`  ${JSON.stringify(failure).slice(0, 300)}`);
} else if (failure || status !== 0 || invalid.length > 0 || missing.length > 0) {
  for (const { name, version } of invalid) console.error(`Signatures: ${name}@${version} has a wrong one.`);
  for (const { name, version } of missing) console.error(`Signatures: ${name}@${version} has none.`);
  if (failure) console.error(`Signatures: ${JSON.stringify(failure)}`);
  process.exitCode = 1;
} else console.log('Signatures: all that is installed has valid ones.');
