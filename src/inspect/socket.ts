import type { WebSocket } from 'ws';
import type { Viewer } from './feed.ts';
import type { InspectionMessage } from './messages.ts';

/** How much may wait in a socket before the log waits for it. */
const WAITING_BYTES_MAX = 1024 * 1024;
const LOOK_AGAIN_MS = 10;

/** Whoever is at the other end of a socket. A slow one holds up its own feed, and nothing else. */
export const viewerAt = (socket: WebSocket): Viewer => {
  const gone = new AbortController();
  socket.on('close', () => gone.abort());
  // A socket that fails closes, too.
  socket.on('error', () => gone.abort());
  return {
    gone: gone.signal,
    async send(message: InspectionMessage) {
      while (socket.bufferedAmount > WAITING_BYTES_MAX && !gone.signal.aborted)
        await new Promise<void>((resolve) => {
          setTimeout(resolve, LOOK_AGAIN_MS);
        });
      if (gone.signal.aborted) return false;
      socket.send(JSON.stringify(message));
      return true;
    },
  };
};
