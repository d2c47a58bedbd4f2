import type { ServerResponse } from 'node:http';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { connect } from '../../src/client/connect.ts';
import type { ClientOptions } from '../../src/client/options.ts';
import { event, events, json, scripted, type Asked } from '../support/http-server.ts';
import { everything, welcome } from '../support/legacy-server.ts';

const answerTo = ({ body }: Asked, result: object = {}) => ({ jsonrpc: '2.0', id: body.id, result });

/** A server over Streamable HTTP with session ids and a GET stream. The test answers other requests. */
function serving(revision: string, rest: (asked: Asked, response: ServerResponse) => void) {
  let sessions = 0;
  return scripted((asked, response) => {
    const { method, body } = asked;
    if (body?.method === 'initialize') {
      const session = { 'mcp-session-id': `session-${(sessions += 1)}` };
      json(response, answerTo(asked, welcome(everything, revision)), 200, session);
    } else if (method === 'DELETE') response.writeHead(200).end();
    else if (method === 'POST' && body.id === undefined) response.writeHead(202).end();
    else rest(asked, response);
  });
}

async function client(url: URL, options: ClientOptions = {}) {
  const errors: Error[] = [];
  const connected = await connect(url, { eras: 'legacy', onerror: (error) => void errors.push(error), ...options });
  onTestFinished(() => connected.close());
  return { client: connected, errors };
}

describe.each(['2025-03-26', '2025-06-18', '2025-11-25'])('over Streamable HTTP in %s', (revision) => {
  test('each message is a separate POST with the session id, and the client ends the session', async () => {
    let cancelled!: () => void;
    const given = new AbortController();
    const left = new Promise<void>((resolve) => (cancelled = resolve));
    const server = await serving(revision, (asked, response) => {
      const { method, body } = asked;
      if (method === 'GET') events(response, event({ jsonrpc: '2.0', id: 'roots', method: 'roots/list' }));
      else if (body.method === 'tools/call') {
        response.on('close', cancelled);
        events(response, ': waits\n\n');
        setImmediate(() => given.abort());
      } else if (body.method === 'ping') events(response, event(answerTo(asked))).end();
      else if ('method' in body) json(response, answerTo(asked, { tools: [] }));
      else response.writeHead(202).end();
    });
    const authorizer = { headers: async () => ({ authorization: 'Bearer token' }), refused: async () => false };
    const { client: calling, errors } = await client(server.url, { onroots: () => [{ uri: 'file:///a' }], authorizer });
    await calling.ping();
    await calling.listTools();
    await expect(calling.callTool('a', {}, { signal: given.signal })).rejects.toThrow('aborted');
    await left;
    await vi.waitUntil(() => server.asked.some(({ body }) => body?.id === 'roots'));
    await calling.close();
    await vi.waitUntil(() => server.asked.some(({ method }) => method === 'DELETE'));
    const posts = server.asked.filter(({ method }) => method === 'POST');
    for (const { headers, body } of posts) {
      expect(headers.accept).toBe('application/json, text/event-stream');
      expect(body).toMatchObject({ jsonrpc: '2.0' });
    }
    expect(new Set(posts.map(({ body }) => body.method ?? body.id))).toEqual(
      new Set([
        'initialize',
        'notifications/initialized',
        'ping',
        'tools/list',
        'tools/call',
        'notifications/cancelled',
        'roots',
      ]),
    );
    const gets = server.asked.filter(({ method }) => method === 'GET');
    expect(gets.length).toBeGreaterThan(0);
    for (const { headers } of gets) expect(headers.accept).toBe('text/event-stream');
    expect(server.asked[0]!.headers).not.toHaveProperty('mcp-session-id');
    for (const { headers } of server.asked.slice(1)) {
      expect(headers['mcp-session-id']).toBe('session-1');
      expect(headers['mcp-protocol-version']).toBe(revision === '2025-03-26' ? undefined : revision);
    }
    for (const { headers, path } of server.asked) {
      expect([headers.authorization, path]).toEqual(['Bearer token', '/mcp']);
    }
    expect(server.asked.filter(({ method }) => method === 'DELETE')).toHaveLength(1);
    expect(errors).toEqual([]);
  });

  test('if the server no longer knows a session, the client opens another without its id', async () => {
    const server = await serving(revision, (asked, response) => {
      if (asked.method === 'GET') response.writeHead(405).end();
      else if (asked.headers['mcp-session-id'] === 'session-1') response.writeHead(404).end();
      else json(response, answerTo(asked));
    });
    const { client: calling } = await client(server.url);
    await calling.ping();
    const openings = server.asked.filter(({ body }) => body?.method === 'initialize');
    expect(openings.map(({ headers }) => headers['mcp-session-id'])).toEqual([undefined, undefined]);
    const pings = server.asked.filter(({ body }) => body?.method === 'ping');
    expect(pings.map(({ headers }) => headers['mcp-session-id'])).toEqual(['session-1', 'session-2']);
  });

  test('a session id is not sent to another origin, and is not in errors', async () => {
    const other = await scripted((_asked, response) => response.writeHead(200).end());
    const server = await serving(revision, ({ method, body }, response) => {
      if (method === 'GET') response.writeHead(500).end();
      else if (body.method === 'ping') response.writeHead(307, { location: other.url.href }).end();
      else response.writeHead(500).end();
    });
    const { client: calling, errors } = await client(server.url);
    const failed = [calling.ping(), calling.listTools(), calling.callTool('a')];
    for (const failure of await Promise.allSettled(failed)) {
      expect(failure.status).toBe('rejected');
      errors.push((failure as PromiseRejectedResult).reason);
    }
    expect(other.asked).toEqual([]);
    expect(errors.length).toBeGreaterThanOrEqual(3);
    for (const error of errors)
      expect(`${error.message}${error.stack}${JSON.stringify(error)}`).not.toContain('session-1');
  });
});

test('over stdio only messages are written, each on its own line, and output on stderr is not an error', async () => {
  const said = 'ä\n😀\r\n\u2028';
  const child = `
    const heard = [];
    let begun = '';
    console.error('FATAL ERROR: all is well');
    const hear = (line) => {
      heard.push(line);
      console.error('Error: heard ' + line.length);
      const { id, method } = JSON.parse(line);
      const result = method === 'initialize' ? ${JSON.stringify(welcome({ tools: {} }))}
        : { content: [], structuredContent: { heard } };
      if (id !== undefined) process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n');
    };
    process.stdin.setEncoding('utf8').on('data', (chunk) => {
      const lines = (begun + chunk).split('\\n');
      begun = lines.pop();
      lines.forEach(hear);
    });`;
  const onerror = vi.fn<(error: Error) => void>();
  const stderr: string[] = [];
  const command = { command: process.execPath, args: ['-e', child], onstderr: (line: string) => stderr.push(line) };
  const calling = await connect(command, { eras: 'legacy', onerror });
  onTestFinished(() => calling.close());
  await calling.callTool('a', { said });
  const result = await calling.callTool('a', { said });
  const { heard } = result.structuredContent as { heard: string[] };
  const messages = heard.map((line) => JSON.parse(line));
  expect(messages.map(({ jsonrpc, method }) => `${jsonrpc} ${method}`)).toEqual([
    '2.0 initialize',
    '2.0 notifications/initialized',
    '2.0 tools/call',
    '2.0 tools/call',
  ]);
  expect(messages[3].params.arguments).toEqual({ said });
  expect(stderr[0]).toBe('FATAL ERROR: all is well');
  expect(onerror).not.toHaveBeenCalled();
});
