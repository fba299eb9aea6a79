import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { RuntimeError } from '../index.ts';
import type { Viewer } from './feed.ts';
import { bridgePage } from './page.ts';
import { viewerAt } from './socket.ts';

export interface Serving {
  readonly port: number;
  close(): Promise<void>;
}

export interface ServeOptions {
  readonly port: number;
  /** The page that shows it. */
  readonly inspectorUrl: string;
  /** Told of each viewer. */
  readonly onViewer: (viewer: Viewer) => void;
}

/** Only this machine can connect. */
const LOOPBACK = '127.0.0.1';

/**
 * Serves viewers on this machine: a page that embeds the inspector, and a WebSocket that it reads. Only requests for this very
 * host and port are answered, and only pages that came from here may connect: a web page that someone happens to visit must
 * not be able to read a run.
 *
 * @throws {RuntimeError} BAD_OPTION if the port cannot be had
 */
export const serve = async ({ port, inspectorUrl, onViewer }: ServeOptions): Promise<Serving> => {
  const { WebSocketServer } = await import('ws');
  const sockets = new WebSocketServer({ noServer: true, clientTracking: true, maxPayload: 64 * 1024 });
  const server = createServer((request, response) => {
    if (!isForUs(request, server)) {
      response.writeHead(421, { 'content-type': 'text/plain' }).end('This host is not served here.');
      return;
    }
    if (request.method !== 'GET' || request.url !== '/') {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('Not here.');
      return;
    }
    const { text, policy } = bridgePage(inspectorUrl);
    response
      .writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': policy,
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      })
      .end(text);
  });
  server.on('upgrade', (request, socket, head) => {
    if (!isForUs(request, server) || !isOurPage(request)) {
      socket.end('HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n');
      return;
    }
    sockets.handleUpgrade(request, socket, head, (opened) => onViewer(viewerAt(opened)));
  });
  await listen(server, port);
  return {
    port: portOf(server),
    async close() {
      for (const socket of sockets.clients) socket.terminate();
      sockets.close();
      server.closeAllConnections();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
    },
  };
};

const listen = (server: Server, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new RuntimeError(
          'BAD_OPTION',
          {
            option: 'port',
            found: `${port} (${error.message})`,
            expected: 'a port that is free, or 0 for any',
          },
          { cause: error },
        ),
      ),
    );
    server.listen(port, LOOPBACK, resolve);
  });

const portOf = (server: Server): number => (server.address() as AddressInfo | null)?.port ?? 0; // It listens on a port.

const hostsOf = (port: number): readonly string[] => [`${LOOPBACK}:${port}`, `localhost:${port}`];

/** A name that someone let point here is another host: see DNS rebinding. */
const isForUs = ({ rawHeaders, headers }: IncomingMessage, server: Server): boolean => {
  const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host');
  return hosts.length === 1 && hostsOf(portOf(server)).includes(headers.host ?? '');
};

/** A program says no origin; a browser always says where the page came from. */
const isOurPage = ({ headers }: IncomingMessage): boolean =>
  headers.origin === undefined || headers.origin === `http://${headers.host}`;
