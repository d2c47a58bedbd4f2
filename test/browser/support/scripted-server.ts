import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import type { JsonObject, Message } from '../../../src/jsonrpc/message.ts';

/** One request of the client, while it is answered. */
export interface ScriptedRequest {
  readonly method: string;
  readonly params: JsonObject;
  /** Sends a notification before the answer. */
  notify(method: string, params: JsonObject): void;
  /** Asks the client, and waits for its whole response. */
  ask(method: string, params: JsonObject): Promise<JsonObject>;
}

type Answer = JsonObject | string | undefined;

/** What the server answers: a result, its JSON text, or an error if it has a `code`. Undefined: an empty result. */
export type Script = (request: ScriptedRequest) => Answer | Promise<Answer>;

/** A server that sends whatever a test wants. */
export interface ScriptedServer {
  readonly url: URL;
  /** The messages of the client, with ids left out, without handshake and lists. */
  readonly received: readonly JsonObject[];
}

const HANDSHAKE = { protocolVersion: '2025-11-25', serverInfo: { name: 'scripted', version: '1' } };
const EVERYTHING = { tools: {}, resources: { subscribe: true }, prompts: {}, completions: {}, logging: {} };

/**
 * A server over Streamable HTTP, 2025-11-25, without any check. It answers each request with a stream.
 */
export async function scriptedServer(script: Script, described: JsonObject = {}): Promise<ScriptedServer> {
  const received: JsonObject[] = [];
  const asked = new Map<unknown, (response: JsonObject) => void>();
  let last = 0;
  const answer = async (message: Message, response: ServerResponse): Promise<void> => {
    const { method, params = {}, id } = message as { method?: string; params?: JsonObject; id?: number };
    if (method === undefined || id === undefined) {
      response.writeHead(202).end();
      asked.get(id)?.(message);
      if (method !== 'notifications/initialized') received.push({ ...message, id: undefined });
      return;
    }
    if (method === 'server/discover') {
      response.writeHead(404).end();
      return;
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const send = (value: object): void => {
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...value })}\n\n`);
    };
    if (method !== 'initialize' && !method.endsWith('/list')) received.push({ method, params });
    const result: Answer =
      method === 'initialize'
        ? { ...HANDSHAKE, capabilities: EVERYTHING, ...described }
        : await script({
            method,
            params,
            notify: (notification, about) => send({ method: notification, params: about }),
            ask: (question, about) => {
              last += 1;
              send({ id: `q${last}`, method: question, params: about });
              return new Promise((resolve) => void asked.set(`q${last}`, resolve));
            },
          });
    if (typeof result === 'string') response.write(`data: {"jsonrpc":"2.0","id":${id},"result":${result}}\n\n`);
    else send({ id, ...(typeof result?.['code'] === 'number' ? { error: result } : { result: result ?? {} }) });
    response.end();
  };
  const server = createServer((request, response) => {
    if (request.method !== 'POST') response.writeHead(405).end();
    else void bodyOf(request).then((body) => answer(JSON.parse(body) as Message, response));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`), received };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  request.setEncoding('utf8');
  let body = '';
  for await (const chunk of request) body += chunk;
  return body;
}
