import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { JsonObject } from '../../src/index.ts';

/** What was asked of the server. */
export interface Asked {
  readonly url: string;
  readonly authorization: string | undefined;
  readonly body: JsonObject & {
    readonly messages: readonly { readonly role: string; readonly content: string }[];
  };
}

type Reply = (response: ServerResponse, asked: Asked) => void;

const USAGE = { prompt_tokens: 1_000, completion_tokens: 200, total_tokens: 1_200 };

const head = { id: 'chat-1', created: 1_700_000_000, model: 'test-model' };

/** A whole answer, as one document or as a stream: whichever was asked for. */
export const says =
  (content: string, finish = 'stop'): Reply =>
  (response, { body }) => {
    if (body['stream'] === true) {
      startStream(response);
      for (const piece of piecesOf(content))
        sendPiece(response, { delta: { content: piece }, finish_reason: null });
      sendPiece(response, { delta: {}, finish_reason: finish }, USAGE);
      response.end('data: [DONE]\n\n');
      return;
    }
    const choice = { index: 0, message: { role: 'assistant', content }, finish_reason: finish };
    sendJson(response, 200, { ...head, object: 'chat.completion', choices: [choice], usage: USAGE });
  };

const piecesOf = (content: string): readonly string[] => content.match(/[^]{1,7}/g) ?? [];

const startStream = (response: ServerResponse): void => {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
};

const sendPiece = (response: ServerResponse, choice: JsonObject, usage: JsonObject | null = null): void => {
  const chunk = {
    ...head,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, ...choice }],
    ...(usage && { usage }),
  };
  response.write(`data: ${JSON.stringify(chunk)}\n\n`);
};

const sendJson = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
) => {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(body));
};

export const refuses =
  (status: number, message: string, headers: Readonly<Record<string, string>> = {}): Reply =>
  (response) =>
    sendJson(response, status, { error: { message, type: 'error', param: null, code: null } }, headers);

/** Begins to answer, and is gone: the connection breaks, or ends as if all were said. */
export const breaksOff =
  (how: 'torn' | 'ended'): Reply =>
  (response, { body }) => {
    if (body['stream'] === true) {
      startStream(response);
      sendPiece(response, { delta: { content: 'Once upon' }, finish_reason: null });
    } else {
      response.writeHead(200, {
        'content-type': 'application/json',
        ...(how === 'torn' && { 'content-length': '500' }),
      });
      response.write('{"id":"chat-1","choi');
    }
    setImmediate(() => (how === 'torn' ? response.destroy() : response.end()));
  };

/** Takes the question, and never says a word. */
export const hangs: Reply = () => undefined;

export const dropsConnection: Reply = (response) => response.destroy();

const bodyOf = async (request: IncomingMessage): Promise<Asked['body']> => {
  let text = '';
  for await (const piece of request.setEncoding('utf8')) text += piece;
  return JSON.parse(text);
};

/** A server that speaks the protocol of OpenAI, and answers by a script. Each call after its end is refused. */
export const startModelServer = async (...replies: readonly Reply[]) => {
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = await bodyOf(request);
      const found: Asked = { url: request.url ?? '', authorization: request.headers.authorization, body };
      asked.push(found);
      (replies[asked.length - 1] ?? refuses(418, 'the script has ended'))(response, found);
    })();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { baseUrl: `http://127.0.0.1:${port}/v1`, asked };
};
