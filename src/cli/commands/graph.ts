import { existsSync } from 'node:fs';
import {
  openLog,
  RuntimeError,
  readWorkflowFile,
  toMermaid,
  toSequenceDiagram,
  type Workflow,
  workflowOf,
} from '../../index.ts';
import type { AddCommand, CommonOptions } from '../command-table.ts';
import { readDefinitions } from '../definitions.ts';
import { EXIT } from '../exit-codes.ts';
import { existingLog } from '../log-file.ts';
import { findRun } from '../open.ts';
import { workflowOfRun } from '../registered.ts';

const EXAMPLES = `
Examples:
  loopwright graph workflow.yaml > machine.mmd
  loopwright graph ship-3              the machine of a run, in the version that it runs under
  loopwright graph ship-3 --sequence   who told whom what`;

/** `graph FILE|RUN`: a diagram of Mermaid. */
export const addGraph: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Prints a diagram of Mermaid: the machine of a workflow, or the messages of a run.')
    .argument('<file-or-run>', 'a workflow file, or the id of a run')
    .option('--sequence', 'the messages of a run, in order')
    .addHelpText('after', EXAMPLES)
    .action(
      action<CommonOptions & { sequence?: boolean }>(
        async ([given = ''], { sequence = false, ...common }) => {
          const isFile = existsSync(given);
          if (isFile && sequence) {
            throw new RuntimeError('WRONG_USE', {
              problem: '--sequence shows a run, and this is a file.',
              instead: 'Give the id of a run, or leave --sequence out.',
            });
          }
          const mermaid = isFile ? await ofFile(given) : await ofRun(given, { sequence, common });
          if (terminal.isJson) terminal.json({ mermaid });
          else terminal.draw(mermaid);
          return EXIT.ok;
        },
      ),
    );

const ofFile = async (path: string): Promise<string> => {
  const { definition } = await readWorkflowFile(path);
  return diagramOf(workflowOf(definition, 1));
};

const diagramOf = ({ machine }: Workflow): string => toMermaid(machine);

const ofRun = async (
  given: string,
  { sequence, common }: { readonly sequence: boolean; readonly common: CommonOptions },
): Promise<string> => {
  const log = await openLog(existingLog(common));
  try {
    const run = await findRun({ runs: (filter = {}) => log.runs(filter) }, given);
    if (sequence)
      return toSequenceDiagram(await log.events({ run: run.id, limit: Number.POSITIVE_INFINITY }));
    const found = workflowOfRun(await readDefinitions(log), run);
    if (found) return diagramOf(found);
    throw new RuntimeError('WRONG_USE', {
      problem: `The log does not have the description of "${run.workflow}": the run was started by a program.`,
      instead: 'Use --sequence, or toMermaid(machine) in that program.',
    });
  } finally {
    await log.close();
  }
};
