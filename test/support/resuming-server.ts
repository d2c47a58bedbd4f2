import { onTestFinished } from 'vitest';
import { connect, type Client } from 'everwire/client';
import { event, events, json, scripted } from './http-server.ts';

/** A server that drops the stream of each call. */
interface DroppingServer {
  readonly url: URL;
  /** How often a stream was resumed. */
  readonly gets: () => number;
  readonly calls: () => number;
}

/** A server of a session that drops the stream of each call the given number of times before it responds. */
export async function dropping(drops: number): Promise<DroppingServer> {
  let calls = 0;
  let gets = 0;
  let id = 0;
  let left = 0;
  const { url } = await scripted(({ method, headers, body }, response) => {
    if (method === 'GET') {
      const place = headers['last-event-id'];
      if (place === undefined) return void response.writeHead(405).end();
      gets += 1;
      left -= 1;
      const last = { jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'at last' }] } };
      if (left === 0) events(response, event(last, `${calls}-end`)).end();
      else events(response, `id: ${calls}-${left}\nretry: 1\ndata: \n\n`).end();
    } else if (body === undefined || body.id === undefined) {
      response.writeHead(202).end();
    } else if (body.method === 'initialize') {
      const info = {
        protocolVersion: '2025-11-25',
        capabilities: { tools: {} },
        serverInfo: { name: 's', version: '1' },
      };
      json(response, { jsonrpc: '2.0', id: body.id, result: info }, 200, { 'mcp-session-id': 's' });
    } else {
      calls += 1;
      ({ id } = body);
      left = drops;
      events(response, `id: ${calls}-first\nretry: 1\ndata: \n\n`).end();
    }
    return undefined;
  });
  return { url, gets: () => gets, calls: () => calls };
}

/** A client of such a server. */
export async function streamed(drops: number): Promise<DroppingServer & { readonly client: Client }> {
  const server = await dropping(drops);
  const client = await connect(server.url, { eras: 'legacy', timeout: 10_000, onerror: () => {} });
  onTestFinished(() => client.close());
  return { ...server, client };
}
