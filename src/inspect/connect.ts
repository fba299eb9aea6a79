import type { WebSocket } from 'ws';
import { RuntimeError } from '../index.ts';
import type { Viewer } from './feed.ts';
import { viewerAt } from './socket.ts';

const RETRY_MS = 1_000;

export interface Connection {
  close(): Promise<void>;
}

export interface ConnectOptions {
  readonly url: string;
  /** Told each time that the connection is there: a server that was away has forgotten what it was told. */
  readonly onViewer: (viewer: Viewer) => void;
}

/**
 * Connects to whoever shows it, such as the server of `@statelyai/inspect`, and again if the connection is lost.
 *
 * @throws {RuntimeError} BAD_OPTION if it is no address of a WebSocket, or nobody is there at first
 */
export const connect = async ({ url, onViewer }: ConnectOptions): Promise<Connection> => {
  const { WebSocket: Socket } = await import('ws');
  if (!/^wss?:$/.test(protocolOf(url))) throw refused(url, 'no address of a WebSocket');
  let isClosed = false;
  let current: WebSocket | undefined;
  let retrying: NodeJS.Timeout | undefined;
  const open = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const socket = new Socket(url);
      current = socket;
      socket.once('open', () => {
        onViewer(viewerAt(socket));
        resolve();
      });
      socket.once('error', reject);
      socket.once('close', () => {
        if (!isClosed) retrying = setTimeout(() => void open().catch(() => undefined), RETRY_MS).unref();
      });
    });
  try {
    await open();
  } catch (error) {
    isClosed = true;
    clearTimeout(retrying);
    throw refused(url, error instanceof Error ? error.message : String(error));
  }
  return {
    async close() {
      isClosed = true;
      clearTimeout(retrying);
      const socket = current;
      if (!socket || socket.readyState === Socket.CLOSED) return;
      await new Promise<void>((resolve) => {
        socket.once('close', () => resolve());
        socket.close();
        setTimeout(() => socket.terminate(), RETRY_MS).unref();
      });
    },
  };
};

const protocolOf = (url: string): string => {
  try {
    return new URL(url).protocol;
  } catch {
    return '';
  }
};

const refused = (url: string, problem: string): RuntimeError<'BAD_OPTION'> =>
  new RuntimeError('BAD_OPTION', {
    option: 'url',
    found: `"${url}" (${problem})`,
    expected: 'the address of a WebSocket where somebody listens, such as ws://localhost:8080',
  });
