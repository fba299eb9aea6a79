/** A first workflow: it runs as it is, and says where to put real agents. */
export const WORKFLOW = `# yaml-language-server: $schema=./node_modules/loopwright/schema/workflow.schema.json
# A developer is corrected until a review and the tests both pass.
# Run it:   loopwright run workflow.yaml "Export rows as CSV."
# Prove it: loopwright prove workflow.yaml
name: first-loop
loop: tight
maxIterations: 5
onLimit: stop # or ask: then a person decides at the limit
input: Export rows as CSV.
agents:
  # These answer line by line, so that you can see a loop at once. Put commands in their place:
  #
  #   developer:
  #     command: [my-coding-agent]   # is given its task, and what was wrong with earlier work, on standard input
  #     input: text
  #     output: text
  #   tester:
  #     command: [npm, test]         # the exit code counts
  #     output: text
  developer:
    script:
      - { summary: wrote csv.mjs }
      - { summary: quotes what needs quotes }
  reviewer:
    script:
      - { passed: true, issues: [] }
      - { passed: true, issues: [] }
  tester:
    script:
      - passed: false
        failures: [{ description: a comma inside of a value is not quoted }]
      - { passed: true }
`;

/** Its test, for Node's own test runner. */
export const TEST = `// Run it: node --test
// It needs the package: npm install --save-dev loopwright, or npm link loopwright where it was linked from a clone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { agentsOf, createRuntime, readWorkflowFile, workflowOf } from 'loopwright';
import { expectTerminates } from 'loopwright/testing';

const file = await readWorkflowFile(fileURLToPath(new URL('workflow.yaml', import.meta.url)));
const workflow = workflowOf(file.definition, 1);

test('every run ends, whatever the agents do', async () => {
  const { calls } = await expectTerminates(workflow, { input: file.input });
  assert.ok(calls > 0);
});

test('the second pass is verified', async () => {
  const agents = agentsOf(file.agents, { directory: import.meta.dirname });
  const runtime = await createRuntime({ file: ':memory:', workflows: [workflow], agents });
  const run = await runtime.start(file.name, file.input);
  const { verdict, output } = await run.result();
  assert.equal(verdict, 'verified');
  assert.equal(output.iterations, 2);
  await runtime.close();
});
`;

export const IGNORED = `# Runs of Loopwright, with all that agents said.
.loopwright/
`;
