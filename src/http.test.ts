import { connect } from 'everwire/client';
import { createHttpHandler, fetchListener, listen, type HttpHandler } from 'everwire/http';
import { McpServer } from 'everwire/server';
import { describe, expect, onTestFinished, test, vi } from 'vitest';

function greeting(): McpServer {
  const server = new McpServer({ name: 'greeting', version: '1.0.0', capabilities: { tools: { listChanged: true } } });
  server.tool('hello', {}, () => 'Hello!');
  return server;
}

/** A `fetch` that calls a handler. */
function leadingTo(handler: HttpHandler): typeof fetch {
  const answer = fetchListener(handler);
  return (input, init) => answer(new Request(input, init));
}

const HELLO = [{ type: 'text', text: 'Hello!' }];
const revisions = ['2025-11-25', '2026-07-28'] as const;

describe('a service', () => {
  test.each(revisions)('can listen for clients of %s', async (revision) => {
    const listener = await listen({ service: greeting().service, port: 0 });
    onTestFinished(() => listener.close());
    const client = await connect(listener.url, { revision });
    onTestFinished(() => client.close());
    expect((await client.callTool('hello')).content).toEqual(HELLO);
  });

  test.each(revisions)('can be served by a handler for clients of %s', async (revision) => {
    const handler = createHttpHandler({ service: greeting().service });
    onTestFinished(() => handler.close());
    const client = await connect('http://localhost/mcp', { revision, fetch: leadingTo(handler) });
    onTestFinished(() => client.close());
    expect((await client.callTool('hello')).content).toEqual(HELLO);
  });

  test('is served only in the revisions that the options name', async () => {
    const listener = await listen({ service: greeting().service, port: 0, eras: 'modern' });
    onTestFinished(() => listener.close());
    await expect(connect(listener.url, { revision: '2025-11-25' })).rejects.toMatchObject({ name: 'ConnectionError' });
  });

  test('ends its subscriptions when the handler is closed', async () => {
    let ended = 0;
    const { service } = greeting();
    const handler = createHttpHandler({
      service: async (exchange) => {
        try {
          return await service(exchange);
        } finally {
          if (exchange.method === 'subscriptions/listen') ended += 1;
        }
      },
    });
    const fetch = leadingTo(handler);
    const client = await connect('http://localhost/mcp', {
      revision: '2026-07-28',
      fetch,
      onchange: () => {},
      onerror: () => {},
    });
    onTestFinished(() => client.close());
    await vi.waitFor(() => expect(handler.requests).toBe(1));
    await handler.close();
    expect(ended).toBe(1);
  });
});

test('a service together with callbacks is refused', async () => {
  expect(() => createHttpHandler({ service: greeting().service, onsession: () => {} })).toThrow(TypeError);
  await expect(listen({ service: greeting().service, onrequest: () => undefined })).rejects.toThrow(
    'Set either service, or onsession and onrequest',
  );
});
