import { onTestFinished } from 'vitest';
import { connect, type Client } from 'everwire/client';
import { event, events, json, scripted } from './http-server.ts';

/**
 * A client of a session whose server drops the stream of each call the given number of times, between two points,
 * before it responds.
 */
export async function streamed(
  drops: number,
): Promise<{ readonly client: Client; readonly gets: () => number; readonly calls: () => number }> {
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
  const client = await connect(url, { eras: 'legacy', timeout: 10_000, onerror: () => {} });
  onTestFinished(() => client.close());
  return { client, gets: () => gets, calls: () => calls };
}
