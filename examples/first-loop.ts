/**
 * A first self-correcting loop: a writer drafts a function, a checker runs it against examples, what it finds goes back to
 * the writer, until all examples hold or the drafts are used up. Then a second runtime reads the run back from the log.
 */
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { agentCall, createRuntime, runSummary, type Verdict, workflow } from 'loopwright';
import { assign, setup } from 'xstate';

interface Draft {
  readonly code: string;
}
interface Finding {
  readonly given: string;
  readonly expected: string;
  readonly got: string;
}

const slugLoop = setup({
  types: {
    context: {} as { drafts: number; code: string; findings: readonly Finding[]; draftsMax: number },
    input: {} as { draftsMax: number },
    output: {} as { verdict: Verdict; drafts: number; code: string },
    events: {} as { type: 'STOP' },
  },
  actors: {
    writer: agentCall<{ draft: number; findings: readonly Finding[] }, Draft>(),
    checker: agentCall<Draft, readonly Finding[]>(),
  },
  guards: { hasDraftsLeft: ({ context }) => context.drafts < context.draftsMax },
}).createMachine({
  context: ({ input }) => ({ drafts: 0, code: '', findings: [], draftsMax: input.draftsMax }),
  initial: 'writing',
  states: {
    writing: {
      entry: assign({ drafts: ({ context }) => context.drafts + 1 }),
      invoke: {
        id: 'write',
        src: 'writer',
        input: ({ context }) => ({ draft: context.drafts, findings: context.findings }),
        onDone: { target: 'checking', actions: assign({ code: ({ event }) => event.output.code }) },
        onError: 'failed',
      },
    },
    checking: {
      invoke: {
        id: 'check',
        src: 'checker',
        input: ({ context }) => ({ code: context.code }),
        onDone: [
          { guard: ({ event }) => event.output.length === 0, target: 'verified' },
          {
            guard: 'hasDraftsLeft',
            target: 'writing',
            actions: assign({ findings: ({ event }) => event.output }),
          },
          { target: 'exhausted', actions: assign({ findings: ({ event }) => event.output }) },
        ],
        onError: 'failed',
      },
    },
    verified: { type: 'final', output: 'verified' },
    exhausted: { type: 'final', output: 'exhausted' },
    failed: { type: 'final', output: 'failed' },
  },
  output: ({ context, event }) => ({
    verdict: event.output as Verdict,
    drafts: context.drafts,
    code: context.code,
  }),
});

/** Stands for a model: it drafts, and mends what the findings show. */
const write = ({ draft, findings }: { draft: number; findings: readonly Finding[] }): Draft => {
  const steps = ['text.toLowerCase()'];
  if (findings.some(({ got }) => got.includes(' '))) steps.push("replaceAll(' ', '-')");
  if (findings.some(({ got }) => /[^a-z0-9 -]/.test(got))) steps.push("replace(/[^a-z0-9-]+/g, '')");
  console.log(`  draft ${draft}: ${steps.join('.')}`);
  return { code: steps.join('.') };
};

/** A real check: it runs the draft. */
const check = ({ code }: Draft): readonly Finding[] => {
  const examples = { 'Hello World': 'hello-world', 'What, again?': 'what-again', plain: 'plain' };
  const findings = Object.entries(examples)
    .map(([given, expected]) => ({ given, expected, got: String(runInNewContext(code, { text: given })) }))
    .filter(({ expected, got }) => got !== expected);
  console.log(
    findings.length === 0
      ? '  check: all examples hold'
      : `  check: ${findings.map(({ given, got }) => `"${given}" gave "${got}"`).join(', ')}`,
  );
  return findings;
};

const file = process.argv[2] ?? join(mkdtempSync(join(tmpdir(), 'loopwright-')), 'first-loop.db');
const open = () =>
  createRuntime({
    file,
    workflows: [workflow('slug-loop', slugLoop)],
    agents: { writer: ({ input }) => write(input), checker: ({ input }) => check(input) },
  });

console.log('A loop that corrects itself:');
const runtime = await open();
const run = await runtime.start('slug-loop', { draftsMax: 4 });
const result = await run.result();
console.log(`  ended ${result.verdict} after ${result.output?.drafts} drafts and ${result.turns} turns`);
await runtime.close();

console.log('\nThe same run, read back from the log by a second runtime:');
const second = await open();
for (const event of await second.audit({ run: run.id })) {
  console.log(
    `  ${String(event.position).padStart(3)}  ${event.type.padEnd(16)} -> ${JSON.stringify(event.state)}`,
  );
}
const summary = await second.read(runSummary, run.id);
const { log, replay } = await second.verify();
console.log(
  `  the run ${summary.status} (${summary.verdict}); chain ${log.ok ? 'whole' : 'broken'}, replay ${replay.ok ? 'identical' : 'different'}`,
);
console.log(`  kept in ${file}`);
await second.close();
