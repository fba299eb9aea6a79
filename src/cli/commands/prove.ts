import { RuntimeError, readWorkflowFile } from '../../index.ts';
import type { AddCommand, CommonOptions } from '../command-table.ts';
import { EXIT } from '../exit-codes.ts';
import { inputOf } from '../workflow-input.ts';
import { tellWorstCase, worstCaseOf } from '../worst-case.ts';

const EXAMPLES = `
Examples:
  loopwright prove workflow.yaml                  0 proved, 1 not proved, 4 inconclusive
  loopwright prove workflow.yaml --states 200000  tries longer before it gives up
  loopwright prove workflow.yaml --thorough       checks every shortcut that it takes, and not samples of them`;

interface ProveOptions extends CommonOptions {
  readonly input?: string;
  readonly states?: string;
  readonly thorough?: boolean;
  readonly farRequests?: boolean;
}

const RESULTS = { proved: EXIT.ok, 'not proved': EXIT.failed, inconclusive: EXIT.unfinished } as const;

/** `prove FILE`: whether every run of it ends, whatever its agents do. */
export const addProve: AddCommand = (command, { terminal, action }) =>
  void command
    .description(
      'Tries everything that agents may do, and says whether every run ends and what it takes at most.',
    )
    .argument('<file>', 'the workflow, in YAML or JSON')
    .argument('[input]', 'the task, as a text; what the file says unless given')
    .option('--input <json>', 'the task as JSON, or @ and the path of a file with JSON')
    .option('--states <number>', 'after how many states it gives up (default: 20000)')
    .option('--thorough', 'compares every state that is met again, which takes some times longer')
    .option('--far-requests', 'in trees of more than 4 nodes, too, a node may ask any node above it')
    .addHelpText('after', EXAMPLES)
    .action(
      action<ProveOptions>(async ([path = '', text], { input: given, states, ...trying }) => {
        const statesMax = statesOf(states);
        const file = await readWorkflowFile(path);
        const input = inputOf(file, text, given === undefined ? {} : { input: given });
        const worst = await worstCaseOf(file, input, { terminal, statesMax, ...trying });
        if (terminal.isJson) terminal.json({ workflow: file.name, ...worst });
        else tellWorstCase(terminal, file.name, worst);
        return RESULTS[worst.result];
      }),
    );

const statesOf = (states: string | undefined): number | undefined => {
  if (states === undefined) return undefined;
  const number = Number(states);
  if (Number.isSafeInteger(number) && number >= 1) return number;
  throw new RuntimeError('WRONG_USE', {
    problem: `--states is "${states}".`,
    instead: 'Give it a whole number from 1.',
  });
};
