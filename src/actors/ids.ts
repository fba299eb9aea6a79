import { randomBytes } from 'node:crypto';

/** Makes ids for stimuli that nobody outside names: unique for ever, in order of time, and cheap. */
export const createIds = (nowMs: number): (() => string) => {
  // One writer at a time makes ids for a log: the time and a random part tell its sessions apart.
  const session = `${nowMs.toString(36).padStart(9, '0')}${randomBytes(6).toString('hex')}`;
  let count = 0;
  return () => {
    count += 1;
    return `${session}.${count.toString(36).padStart(6, '0')}`;
  };
};
