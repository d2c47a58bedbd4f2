// The correct answer depends on how the input is classified.
/* oxlint-disable vitest/no-conditional-expect */
import * as fc from 'fast-check';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readEvents } from '../interop/sse.ts';
import { eventually, programs, startServer, type RunningServer } from '../support/process.ts';
import { expectAnswer, classify, classifyBatch, seed, texts, withoutSharedIds, type Classified } from './malformed.ts';

type JsonObject = Record<string, any>;

interface Reply {
  readonly status: number;
  readonly type: string;
  readonly session: string | undefined;
  readonly body: string;
}

const POST = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
const clientInfo = { name: 'fuzz', version: '1' };
/** Milliseconds after which an answer counts as a hang. */
const HANG = 10_000;

const agent = new Agent({ keepAlive: true, maxSockets: 25 });
let server: RunningServer;

function post(url: string, headers: Record<string, string>, body: Uint8Array | string): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const call = request(url, {
      method: 'POST',
      agent,
      headers: { ...POST, ...headers, 'content-length': Buffer.byteLength(body) },
      timeout: HANG,
    });
    call.on('timeout', () => call.destroy(new Error('no answer')));
    call.on('error', reject);
    call.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode!,
          type: response.headers['content-type'] ?? '',
          session: response.headers['mcp-session-id'] as string | undefined,
          body: text,
        }),
      );
      response.on('error', reject);
    });
    call.end(body);
  });
}

async function open(protocolVersion: string): Promise<Record<string, string>> {
  const initialize = {
    jsonrpc: '2.0',
    id: 'open',
    method: 'initialize',
    params: { protocolVersion, capabilities: {}, clientInfo },
  };
  const { session } = await post(server.url, {}, JSON.stringify(initialize));
  const headers = { 'mcp-session-id': session! };
  await post(server.url, headers, JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }));
  return headers;
}

/** The messages of a reply, whether it is JSON or a stream. */
function messagesOf({ type, body }: Reply): JsonObject[] {
  if (type !== 'text/event-stream') return [JSON.parse(body)].flat();
  return body.split('\n').flatMap((line) => (/^data: ./.test(line) ? [JSON.parse(line.slice(6))].flat() : []));
}

async function health(headers: Record<string, string>): Promise<JsonObject> {
  const call = { jsonrpc: '2.0', id: 'health', method: 'tools/call', params: { name: 'health' } };
  return JSON.parse(messagesOf(await post(server.url, headers, JSON.stringify(call)))[0]!['result'].content[0].text);
}

function expectRefusal({ status, body }: Reply, code?: number): void {
  expect(status).toBe(400);
  const answer = JSON.parse(body);
  expectAnswer(answer);
  expect(answer).toHaveProperty('error');
  if (code !== undefined) expect(answer.error.code).toBe(code);
}

/** Each request and each invalid message has one response, and nothing else has one. */
function expectBatchAnswer(reply: Reply, elements: readonly Classified[]): void {
  if (elements.length === 0) return expectRefusal(reply, -32600);
  const requests = elements.filter((each) => each.kind === 'request');
  const invalid = elements.filter(({ kind }) => kind === 'invalid').length;
  const delivered = requests.some(({ method }) => method !== 'initialize');
  expect(reply.status).toBe(delivered ? 200 : requests.length + invalid > 0 ? 400 : 202);
  if (reply.status === 202) return expect(reply.body).toBe('');
  const answers = messagesOf(reply);
  answers.forEach(expectAnswer);
  expect(answers).toHaveLength(requests.length + invalid);
  const ids = answers.map(({ id }) => id);
  expect(ids).toEqual(expect.arrayContaining(requests.map(({ id }) => id)));
  return undefined;
}

beforeAll(async () => {
  console.info(`Random inputs have seed ${seed}.`);
  server = await startServer([...programs.features, '--port', '0']);
});

afterAll(async () => {
  agent.destroy();
  await server?.stop();
});

describe('Streamable HTTP', () => {
  test.each(['2025-11-25', '2025-03-26'])('5,000 bodies are answered correctly in %s', async (revision) => {
    const headers = await open(revision);
    const before = await health(headers);
    const property = fc.asyncProperty(fc.array(texts, { minLength: 20, maxLength: 20 }), async (given) => {
      const bodies = withoutSharedIds(given);
      await Promise.all(
        bodies.map(async (body) => {
          const classified = classify(body);
          const reply = await post(server.url, headers, body);
          switch (classified.kind) {
            case 'parse error':
              return expectRefusal(reply, -32700);
            case 'invalid': {
              const elements = revision === '2025-03-26' ? classifyBatch(body) : undefined;
              return elements ? expectBatchAnswer(reply, elements) : expectRefusal(reply, -32600);
            }
            case 'request': {
              if (classified.method === 'initialize') return expectRefusal(reply, -32600);
              expect(reply.status).toBe(200);
              const answers = messagesOf(reply);
              answers.forEach(expectAnswer);
              return expect(answers.map((answer) => answer['id'])).toEqual([classified.id]);
            }
            default:
              return expect(reply).toMatchObject({ status: 202, body: '' });
          }
        }),
      );
    });
    await fc.assert(property, { numRuns: 250, seed, endOnFailure: true });

    const { sessions, rss } = await health(headers);
    expect(sessions).toBe(before['sessions']);
    expect((rss - before['rss']) / 2 ** 20).toBeLessThan(200);
    const add = {
      jsonrpc: '2.0',
      id: 'good',
      method: 'tools/call',
      params: { name: 'add', arguments: { a: 1, b: 2 } },
    };
    const [good] = messagesOf(await post(server.url, headers, JSON.stringify(add)));
    expect(good).toMatchObject({ id: 'good', result: { content: [{ type: 'text', text: '3' }] } });
  });

  test('requests with random headers, complete or not, are answered or their connection ends', async () => {
    const headers = await open('2025-11-25');
    const before = await health(headers);
    const { hostname, port, host } = new URL(server.url);
    const value = fc.oneof(
      fc.string({ maxLength: 30 }),
      fc.constantFrom(
        '*/*',
        'text/html',
        'application/json',
        'application/json; charset=latin1',
        headers['mcp-session-id']!,
        '2025-11-25',
        '1999-01-01',
        host,
        'evil.example',
        'null',
        '5',
        '-1',
        'chunked',
        'x'.repeat(20_000),
      ),
    );
    const name = fc.constantFrom(
      'accept',
      'content-type',
      'content-length',
      'transfer-encoding',
      'host',
      'origin',
      'mcp-session-id',
      'mcp-protocol-version',
      'last-event-id',
      'expect',
      'upgrade',
      'connection',
      'x-other',
    );
    const head = fc
      .record({
        line: fc
          .tuple(
            fc.constantFrom('GET', 'POST', 'DELETE', 'PUT', 'OPTIONS', 'HEAD', 'PRI', 'post'),
            fc.constantFrom(
              '/mcp',
              '/sse',
              '/messages',
              '/messages?sessionId=x',
              '/',
              '/mcp/../mcp',
              '*',
              '//',
              '/%',
              'http://evil.example/mcp',
            ),
            fc.constantFrom('HTTP/1.1', 'HTTP/1.0', 'HTTP/9'),
          )
          .map((parts) => parts.join(' ')),
        host: fc.constantFrom(`host: ${host}`, 'host: evil.example', ''),
        rest: fc.array(fc.tuple(name, value), { maxLength: 5 }),
        body: fc.oneof(
          fc.constant(''),
          texts.map((text) => Buffer.from(text.subarray(0, 2000)).toString('latin1')),
        ),
      })
      .map(({ line, host: first, rest, body }) => {
        const lines = [line, first, ...rest.map((pair) => pair.join(': '))].filter((each) => each !== '');
        return Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1');
      });
    const inputs = fc.oneof(
      { weight: 8, arbitrary: head },
      { weight: 2, arbitrary: fc.tuple(head, fc.nat()).map(([bytes, cut]) => bytes.subarray(0, cut % bytes.length)) },
      { weight: 1, arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)) },
    );
    const property = fc.asyncProperty(fc.array(inputs, { minLength: 20, maxLength: 20 }), async (heads) => {
      const answers = await Promise.all(heads.map((bytes) => send(Number(port), hostname, bytes)));
      for (const answer of answers) expect(answer === '' || /^HTTP\/1\.1 [1-5]\d\d /.test(answer)).toBe(true);
      for (const answer of answers) expect(answer).not.toMatch(/^HTTP\/1\.1 5(?!03|05)/);
    });
    await fc.assert(property, { numRuns: 100, seed, endOnFailure: true });

    // Sessions of HTTP+SSE end with their connections. The session may have been ended by a lucky DELETE.
    const after = await open('2025-11-25');
    await eventually(
      async () => (await health(after))['sessions'] <= before['sessions'] + 1,
      'no session is left over',
    );
    await eventually(async () => {
      const { resources } = await health(after);
      const count = (list: string[], kind: string): number => list.filter((each) => each === kind).length;
      return count(resources, 'TCPSocketWrap') <= count(before['resources'], 'TCPSocketWrap') + 25;
    }, 'no connection is left over');
  });
});

describe('HTTP+SSE', () => {
  test('10,000 bodies are accepted or refused, and answered on the stream', async () => {
    const controller = new AbortController();
    const stream = await fetch(server.sseUrl, { headers: { accept: 'text/event-stream' }, signal: controller.signal });
    const received: JsonObject[] = [];
    let endpoint = '';
    let look = (): void => {};
    const reading = (async () => {
      for await (const { event, data } of readEvents(stream.body!)) {
        if (event === 'endpoint') endpoint = new URL(data!, server.sseUrl).href;
        else if (data) received.push(...[JSON.parse(data)].flat());
        look();
      }
    })();
    const until = (condition: () => boolean): Promise<void> =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => reject(new Error('no answer on the stream')), HANG);
        look = () => {
          if (!condition()) return;
          clearTimeout(timer);
          resolve();
        };
        look();
      });
    await until(() => endpoint !== '');
    const say = (message: JsonObject): Promise<Reply> =>
      post(endpoint, {}, JSON.stringify({ jsonrpc: '2.0', ...message }));
    await say({
      id: 'open',
      method: 'initialize',
      params: { protocolVersion: '2024-11-05', capabilities: {}, clientInfo },
    });
    await say({ method: 'notifications/initialized' });
    await until(() => received.length === 1);

    const property = fc.asyncProperty(fc.array(texts, { minLength: 20, maxLength: 20 }), async (given) => {
      received.length = 0;
      const bodies = withoutSharedIds(given);
      const replies = await Promise.all(bodies.map((body) => post(endpoint, {}, body)));
      const expected = new Set<string | number>();
      for (const [index, body] of bodies.entries()) {
        const classified = classify(body);
        const reply = replies[index]!;
        if (classified.kind === 'parse error') expectRefusal(reply, -32700);
        else if (classified.kind === 'invalid') expectRefusal(reply, -32600);
        else expect(reply).toMatchObject({ status: 202, body: '' });
        if (classified.kind === 'request') expected.add(classified.id);
      }
      await until(() => received.length >= expected.size);
      received.forEach(expectAnswer);
      expect(received).toHaveLength(expected.size);
      expect(new Set(received.map(({ id }) => id))).toEqual(expected);
    });
    await fc.assert(property, { numRuns: 500, seed, endOnFailure: true });

    received.length = 0;
    await say({ id: 'good', method: 'tools/call', params: { name: 'add', arguments: { a: 1, b: 2 } } });
    await until(() => received.length > 0);
    expect(received).toEqual([expect.objectContaining({ id: 'good' })]);
    const other = await open('2025-11-25');
    const { sessions } = await health(other);
    controller.abort();
    await reading.catch(() => {});
    await eventually(
      async () => (await health(other))['sessions'] === sessions - 1,
      'the session ends with its stream',
    );
  });
});

/** Sends bytes on a new connection, ends its own side, and reads until the other side ends too. */
function send(port: number, host: string, bytes: Uint8Array): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect({ port, host });
    const timer = setTimeout(() => {
      socket.destroy();
      reject(
        new Error(
          `neither answered nor closed: ${JSON.stringify(Buffer.from(bytes).toString('latin1').slice(0, 2000))}`,
        ),
      );
    }, HANG);
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      answer += chunk;
      // A stream does not end by itself. Its headers count as the answer.
      if (/content-type: text\/event-stream/i.test(answer)) socket.destroy();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(answer);
    });
    socket.end(bytes);
  });
}
