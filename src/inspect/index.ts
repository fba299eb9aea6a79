import { RuntimeError } from '../index.ts';
import { connect } from './connect.ts';
import { type FeedOptions, feed, type Inspectable, type Viewer } from './feed.ts';
import { serve } from './serve.ts';

export type { FeedOptions, Inspectable } from './feed.ts';
export type { InspectionMessage } from './messages.ts';

export type InspectOptions = FeedOptions & {
  /** Told of what goes wrong while it is shown: a log that does not replay. */
  readonly onWarning?: (warning: string) => void;
  /** The page that shows it; that of Stately unless set. It is opened in your browser, and told there what is shown. */
  readonly inspectorUrl?: string;
} & (
    | {
        /** Serve viewers on this port of this machine, 0 for any that is free: open `page` in a browser. */
        readonly port: number;
        readonly url?: never;
      }
    | {
        /** Connect to whoever shows it: `ws://localhost:8080` for the server of `@statelyai/inspect`. */
        readonly url: string;
        readonly port?: never;
      }
  );

/** A runtime or log that can be looked at. */
export interface Inspection {
  /** Where the WebSocket is. */
  readonly url: string;
  /** The page to open in a browser; null if somebody else shows it. */
  readonly page: string | null;
  close(): Promise<void>;
}

/**
 * Shows every actor of a live runtime, or of a replayed log (`() => replay(log, { workflows })`), in Stately Inspector: with the
 * definitions of their machines, their messages and states. Secrets and large payloads are cut. Nothing is loaded that has to do
 * with it before this is called.
 *
 * @throws {RuntimeError} BAD_OPTION
 */
export const inspect = async (source: Inspectable, options: InspectOptions): Promise<Inspection> => {
  const { port, url, inspectorUrl = 'https://stately.ai/inspect', onWarning, ...given } = options;
  const onViewer = (viewer: Viewer): void => {
    feed(source, given, viewer).catch((error: unknown) =>
      onWarning?.(`The inspector was left alone: ${String(error)}`),
    );
  };
  if (url !== undefined) {
    const connection = await connect({ url, onViewer });
    return { url, page: null, close: () => connection.close() };
  }
  if (!Number.isSafeInteger(port) || port < 0 || port > 65_535)
    throw new RuntimeError('BAD_OPTION', {
      option: 'port',
      found: String(port),
      expected: 'a port, or 0 for any',
    });
  const serving = await serve({ port, inspectorUrl, onViewer });
  return {
    url: `ws://127.0.0.1:${serving.port}`,
    page: `http://127.0.0.1:${serving.port}`,
    close: () => serving.close(),
  };
};
