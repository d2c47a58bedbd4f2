import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { setTimeout as delay } from 'node:timers/promises';
import { POST_HEADERS } from '../../support/http.ts';
import { ABLE } from '../../support/modern.ts';
import { classify, texts } from '../malformed.ts';
import type { Operation } from './load.ts';
import type { RawHttp, RawSession } from './raw.ts';

const FIXED = 'feature://fixed';
const ECHO = { name: 'echo', arguments: { text: 'here' } };

/** Operations of broken or hostile clients against the feature server. */
export function faults(http: RawHttp): Operation[] {
  let hostile = 0;
  return [
    { name: 'an abandoned session', perSecond: 2, run: async () => void (await echoing(http)) },
    {
      name: 'a session that is deleted',
      perSecond: 3,
      run: async () => {
        const session = await echoing(http);
        assert.equal(await session.delete(), 204);
        assert.equal((await session.send({ id: 'late', method: 'ping' })).status, 404);
      },
    },
    {
      name: 'a session that is deleted in the middle of a call',
      perSecond: 1,
      run: async () => {
        const session = await http.open();
        const stream = await session.callStream('wait');
        await stream.next();
        assert.equal(await session.delete(), 204);
        stream.cut();
      },
    },
    {
      name: 'a client that is gone in the middle of a call, in a session',
      perSecond: 2,
      run: async () => {
        const stream = await (await http.open()).callStream('wait');
        await stream.next();
        stream.cut();
      },
    },
    {
      name: 'a client that is gone in the middle of a call',
      perSecond: 4,
      run: async () => {
        const params = { name: 'wait', arguments: {}, _meta: { progressToken: 1 } };
        const { headers, body } = http.modern('tools/call', params);
        const stream = await http.stream('POST', headers, body);
        await stream.next();
        stream.cut();
      },
    },
    { name: 'a stream of a call that is cut and resumed', perSecond: 2, run: () => resumeCall(http) },
    { name: 'a stream of a session that is cut and resumed', perSecond: 2, run: () => resumeSession(http) },
    {
      name: 'a subscription that is cut',
      perSecond: 3,
      run: async () => {
        const params = { notifications: { resourceSubscriptions: [FIXED], toolsListChanged: true } };
        const { headers, body } = http.modern('subscriptions/listen', params);
        const stream = await http.stream('POST', headers, body);
        const { message } = await stream.next();
        assert.equal(message['method'], 'notifications/subscriptions/acknowledged');
        stream.cut();
      },
    },
    {
      name: 'a question that nobody answers, in a session',
      perSecond: 1,
      run: async () => {
        const stream = await (await http.open(ABLE)).callStream('ask');
        assert.equal((await stream.next()).message['method'], 'elicitation/create');
        stream.cut();
      },
    },
    {
      name: 'a question that nobody answers',
      perSecond: 2,
      run: async () => {
        const { result } = await http.ask('tools/call', { name: 'ask', arguments: {} });
        assert.equal(result?.resultType, 'input_required');
      },
    },
    { name: 'bodies that are no messages, in a session', perSecond: 2, run: () => malformedInSession(http) },
    { name: 'bodies that are no messages', perSecond: 6, run: () => malformed(http) },
    { name: 'a hostile request', perSecond: 8, run: () => HOSTILE[(hostile += 1) % HOSTILE.length]!(http) },
    { name: 'a body that is cut', perSecond: 3, run: () => cutBody(http) },
    { name: 'calls that are pipelined', perSecond: 1, run: () => pipeline(http) },
    { name: 'a slow reader', perSecond: 0.3, run: () => readSlowly(http, 'flood', { count: 50, bytes: 20_000 }) },
    { name: 'a reader that reads nothing', perSecond: 0.2, run: () => readNothing(http) },
    {
      name: 'a stream of HTTP+SSE that is cut',
      perSecond: 1,
      run: async () => {
        const url = new URL('/sse', http.url);
        const response = await fetch(url, { headers: { accept: 'text/event-stream' } });
        assert.equal(response.status, 200);
        await response.body!.cancel();
      },
    },
  ];
}

async function echoing(http: RawHttp): Promise<RawSession> {
  const session = await http.open();
  assert.equal((await session.call('echo', { text: 'here' }))['result'].content[0].text, 'here');
  return session;
}

async function resumeCall(http: RawHttp): Promise<void> {
  const session = await http.open();
  const stream = await session.callStream('count', { to: 4 });
  const { id, message } = await stream.next();
  assert.deepEqual([typeof id, message['params'].progress], ['string', 1]);
  stream.cut();
  const rest = await session.listen(id);
  const heard = [await rest.next(), await rest.next(), await rest.next()];
  assert.deepEqual(
    heard.map((event) => event.message['params'].progress),
    [2, 3, 4],
  );
  assert.equal((await rest.result())['content'][0].text, 'counted to 4');
  assert.equal(await session.delete(), 204);
}

async function resumeSession(http: RawHttp): Promise<void> {
  const session = await http.open();
  await session.send({ id: 'subscribe', method: 'resources/subscribe', params: { uri: FIXED } });
  const stream = await session.listen();
  await session.call('touch', { uri: FIXED });
  const { id, message } = await stream.next();
  assert.equal(message['method'], 'notifications/resources/updated');
  stream.cut();
  await session.call('touch', { uri: FIXED });
  const resumed = await session.listen(id);
  assert.equal((await resumed.next()).message['method'], 'notifications/resources/updated');
  resumed.cut();
  assert.equal(await session.delete(), 204);
}

async function malformedInSession(http: RawHttp): Promise<void> {
  const session = await http.open();
  for (const body of fc.sample(texts, 5)) {
    const classified = classify(body);
    const { status, messages } = await http.send('POST', session.headers, body);
    const expected = { 'parse error': 400, invalid: 400, notification: 202, response: 202, request: 200 }[
      classified.kind
    ];
    const opens = classified.kind === 'request' && classified.method === 'initialize';
    const show = Buffer.from(body).toString().slice(0, 500);
    assert.equal(status, opens ? 400 : expected, `${status} for ${show}`);
    assert.equal(
      messages.filter((message) => 'error' in message || 'result' in message).length,
      status === 202 ? 0 : 1,
    );
  }
  assert.equal(await session.delete(), 204);
}

async function malformed(http: RawHttp): Promise<void> {
  const [body] = fc.sample(texts, 1);
  const { headers } = http.modern('tools/call', ECHO);
  const { status, messages } = await http.send('POST', headers, body);
  if (classify(body!).kind === 'notification' && status === 202) return;
  assert.equal(status, 400, `${status} for ${Buffer.from(body!).toString().slice(0, 500)}`);
  assert.ok('error' in messages[0]!);
}

const CLIENT = { ...POST_HEADERS, 'mcp-protocol-version': '2025-11-25' };

/** Requests that must be refused, and how. */
const HOSTILE: readonly ((http: RawHttp) => Promise<void>)[] = [
  (http) => refused(http, 403, { host: 'evil.example' }),
  (http) => refused(http, 403, { origin: 'http://evil.example' }),
  (http) => refused(http, 404, { 'mcp-session-id': 'guessed' }),
  (http) => refused(http, 400, { 'mcp-protocol-version': '1999-01-01' }),
  (http) => refused(http, 415, { 'content-type': 'text/plain' }),
  (http) => refused(http, 406, { accept: 'text/html' }),
  (http) => refused(http, 431, { 'x-long': 'x'.repeat(20_000) }),
  async (http) => assert.equal((await http.send('GET', { accept: 'text/event-stream' })).status, 400),
  async (http) => assert.equal((await http.send('PUT', CLIENT, '{}')).status, 405),
  async (http) => assert.equal((await http.send('GET', CLIENT, undefined, '/nothing')).status, 404),
  async (http) => {
    const { error } = await http.ask('tools/call', { ...ECHO, requestState: `ew1.${'A'.repeat(1000)}` });
    assert.equal(error?.code, -32602);
  },
  async (http) => assert.match(await saying(http, 'no HTTP at all\r\n\r\n'), /^HTTP\/1.1 400 /),
  async (http) => {
    const length = 4 * 2 ** 20 + 1;
    assert.match(await saying(http, http.head({ ...CLIENT, connection: 'close' }, length)), /^HTTP\/1.1 413 /);
  },
];

async function refused(http: RawHttp, status: number, headers: Record<string, string>): Promise<void> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  const reply = await http.send('POST', { ...CLIENT, ...headers }, body);
  assert.equal(reply.status, status, `${reply.status} for ${Object.keys(headers).join()}: ${reply.body}`);
}

/** Writes bytes. Resolves with everything that arrives before the connection ends. */
async function saying(http: RawHttp, bytes: string): Promise<string> {
  const socket = await http.socket();
  socket.write(bytes);
  let answer = '';
  for await (const chunk of socket.setEncoding('utf8')) answer += chunk;
  return answer;
}

async function cutBody(http: RawHttp): Promise<void> {
  const socket = await http.socket();
  const bytes = http.head(CLIENT, 100_000) + 'x'.repeat(50_000);
  await new Promise((resolve) => socket.write(bytes, resolve));
  await delay(20);
  socket.destroy();
}

async function pipeline(http: RawHttp): Promise<void> {
  const socket = await http.socket();
  const { headers, body } = http.modern('tools/call', ECHO);
  socket.write((http.head(headers, Buffer.byteLength(body)) + body).repeat(20));
  let answer = '';
  for await (const chunk of socket.setEncoding('utf8')) {
    answer += chunk;
    if (answer.match(/HTTP\/1.1 200 /g)?.length === 20) break;
  }
  socket.destroy();
}

/** Reads a long answer slowly, and gets all of it in the end. */
export async function readSlowly(http: RawHttp, name: string, args: object): Promise<void> {
  const meta = { progressToken: 1, 'io.modelcontextprotocol/logLevel': 'info' };
  const { headers, body } = http.modern('tools/call', { name, arguments: args, _meta: meta });
  const stream = await http.stream('POST', headers, body);
  for (let pauses = 0; pauses < 4; pauses += 1) {
    await stream.next();
    await delay(500);
  }
  assert.match((await stream.result())['content'][0].text, /^(sent|said) \d+$/);
}

/** Reads nothing of a long response for longer than the server waits. The response is then complete, or broken off. */
async function readNothing(http: RawHttp): Promise<void> {
  const meta = { 'io.modelcontextprotocol/logLevel': 'info' };
  const params = { name: 'flood', arguments: { count: 200, bytes: 100_000 }, _meta: meta };
  const { headers, body } = http.modern('tools/call', params);
  const socket = await http.socket();
  socket.pause().write(http.head(headers, Buffer.byteLength(body)) + body);
  await delay(6000);
  let last = '';
  const ended = (async () => {
    for await (const chunk of socket.setEncoding('utf8')) {
      last = (last + chunk).slice(-1000);
      if (last.includes('sent 200')) return;
    }
  })();
  // It may end with a reset.
  await ended.catch(() => {});
  socket.destroy();
}
