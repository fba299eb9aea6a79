import { stringify } from 'yaml';
import type { SettingsImport, SettingsLoop } from './settings-file.ts';

const AGENTS: Readonly<Record<SettingsLoop, readonly string[]>> = {
  stories: ['research', 'plan', 'implement', 'review', 'create-pr'],
  tight: ['developer', 'reviewer', 'tester'],
};

/** A workflow file with imported settings. Its agents are programs that its reader has yet to name: settings do not say who works. */
export const workflowText = (read: SettingsImport, loop: SettingsLoop): string => {
  const agents = Object.fromEntries(AGENTS[loop].map((name) => [name, { command: [`./agents/${name}`] }]));
  return [
    '# yaml-language-server: $schema=./node_modules/loopwright/schema/workflow.schema.json',
    '# Made from the settings of another system. Put the program of each agent in the place of its command:',
    '# it is started for each call, and reads its request from standard input.',
    stringify({ name: loop, loop, ...read.settings[loop] }, { lineWidth: 0 }).trimEnd(),
    stringify({ agents }, { lineWidth: 0 }).trimEnd(),
    '',
  ].join('\n');
};

/** The loops that there are settings of. */
export const loopsIn = ({ settings }: SettingsImport): readonly SettingsLoop[] =>
  (['stories', 'tight'] as const).filter((loop) => settings[loop] !== undefined);
