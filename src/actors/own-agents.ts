import { LOOK_AGENT, WRITE_AGENT } from '../machines/story-machine.ts';
import { agent } from './agent.ts';
import type { Agents } from './agent-finder.ts';
import { storyFileAgents } from './story-files.ts';

/** Parts of the runtime that machines of the package call like agents. */
export const ownAgents = (isBranch: boolean): Agents => {
  if (isBranch) return NO_FILES;
  const { look, write } = storyFileAgents();
  return { [LOOK_AGENT]: look, [WRITE_AGENT]: write };
};

/** What would have been must not change what is. */
const notHere = agent(() => {
  throw new Error('A branch does not touch the files of stories.');
});
const NO_FILES: Agents = { [LOOK_AGENT]: notHere, [WRITE_AGENT]: notHere };
