import { once } from 'node:events';
import { inspect } from '../../inspect/index.ts';
import type { AddCommand } from '../command-table.ts';
import { escapeLine } from '../escape.ts';
import { EXIT } from '../exit-codes.ts';
import { numberOf } from '../numbers.ts';
import { findRun, openToLook } from '../open.ts';

const EXAMPLES = `
Examples:
  loopwright inspect last            the run in Stately Inspector: open the page that is printed
  loopwright inspect --speed 10      all runs, ten times as fast as they were`;

interface Options {
  readonly port?: string;
  readonly speed?: string;
}

/** `inspect`: the log in Stately Inspector. */
export const addInspect: AddCommand = (command, { terminal, action }) =>
  void command
    .description('Shows actors, messages and states of the log in Stately Inspector, until Ctrl-C.')
    .argument('[run]', 'only this run')
    .option('--port <port>', 'the port of this machine; any that is free unless set')
    .option('--speed <factor>', '1 is as fast as it was; as fast as can be unless set')
    .addHelpText('after', EXAMPLES)
    .action(
      action<Options>(async ([given], { port = '0', speed, ...common }) => {
        const { runtime } = await openToLook(common);
        try {
          const run = given === undefined ? undefined : (await findRun(runtime, given)).id;
          const pace = speed === undefined ? undefined : numberOf('--speed', speed);
          const inspection = await inspect(() => runtime.replay(run === undefined ? {} : { run }), {
            port: numberOf('--port', port),
            ...(run !== undefined && { run }),
            ...(pace !== undefined && pace > 0 && { speed: pace }),
            onWarning: (warning) => terminal.note(escapeLine(warning)),
          });
          const told = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
          try {
            if (terminal.isJson) terminal.json({ page: inspection.page, url: inspection.url });
            else terminal.say(`Open ${inspection.page ?? inspection.url} in a browser. Ctrl-C ends it.`);
            await told;
          } finally {
            await inspection.close();
          }
          return EXIT.ok;
        } finally {
          await runtime.close();
        }
      }),
    );
