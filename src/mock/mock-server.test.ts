import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { garbageCollector } from '../../test/support/garbage-collector.ts';
import type { Message } from '../jsonrpc/message.ts';
import { without } from '../jsonrpc/shape.ts';
import { mockServer, type MockMiss, type MockServer, type MockServerOptions } from './mock-server.ts';

type Json = Record<string, any>;
/** When it was sent, in milliseconds, by whom, and the message without `jsonrpc`. */
type Said = readonly [t: number, dir: 'c>s' | 's>c', message: Json];

/** A connection of a recording. The recording process is its client, if nothing else is said. */
type Recorded = readonly Said[] | { readonly role: string; readonly said: readonly Said[] };

/** A recording of stdio connections, one after the other. */
async function* recording(...connections: Recorded[]): AsyncGenerator<Uint8Array> {
  let n = 0;
  const line = (record: Json): Uint8Array => Buffer.from(`${JSON.stringify(record)}\n`);
  yield line({ mcpcap: 1, started: '2026-01-01T00:00:00.000Z', masked: [] });
  for (const [index, connection] of connections.entries()) {
    const conn = index + 1;
    const { role, said } = 'said' in connection ? connection : { role: 'client', said: connection };
    yield line({ n: ++n, t: 0, layer: 'open', conn, protocol: 'stdio', role });
    const ends: Record<string, number> = { 'c>s': 0, 's>c': 0 };
    for (const [t, dir, message] of said) {
      const data = `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
      const start = ends[dir]!;
      ends[dir] = start + Buffer.byteLength(data);
      yield line({ n: ++n, t: t * 1000, conn, dir, layer: 'bytes', range: [start, ends[dir]], data });
    }
    yield line({ n: ++n, t: 1e9, layer: 'close', conn });
  }
}

const HANDSHAKE: readonly Said[] = [
  [
    0,
    'c>s',
    { id: 0, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: {} } },
  ],
  [1, 's>c', { id: 0, result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'recorded' } } }],
  [2, 'c>s', { method: 'notifications/initialized' }],
];

const call = (id: number, args: Json, meta?: Json): Json => ({
  id,
  method: 'tools/call',
  params: { name: 'add', arguments: args, ...(meta && { _meta: meta }) },
});
const text = (id: number, said: string): Json => ({ id, result: { content: [{ type: 'text', text: said }] } });

const open: MockServer[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(open.splice(0).map((server) => server.close()));
});

async function mockOf(connections: readonly Recorded[], options: MockServerOptions = {}): Promise<MockServer> {
  const server = await mockServer(recording(...connections), options);
  open.push(server);
  return server;
}

const mocked = (said: readonly Said[], options: MockServerOptions = { fast: true }): Promise<MockServer> =>
  mockOf([said], options);

/** A client that sends plain messages. */
async function client(server: MockServer) {
  const transport = await server.transport();
  const received: Json[] = [];
  const waiting: (() => void)[] = [];
  transport.onmessage = (message: Json) => {
    received.push(without(message, ['jsonrpc']));
    for (const look of waiting.splice(0)) look();
  };
  await transport.start();
  const send = (message: Json): Promise<void> => transport.send({ jsonrpc: '2.0', ...message } as Message);
  const until = async (count: number): Promise<Json[]> => {
    while (received.length < count) await new Promise<void>((resolve) => void waiting.push(resolve));
    return received;
  };
  const ask = async (message: Json): Promise<Json> => {
    const before = received.length;
    await send(message);
    return (await until(before + 1))[before]!;
  };
  await ask({
    id: 'hello',
    method: 'initialize',
    params: { protocolVersion: '2025-06-18', clientInfo: { name: 'other' } },
  });
  await send({ method: 'notifications/initialized' });
  return { send, ask, until, received };
}

test('the handshake is the recorded one, whatever the client says about itself', async () => {
  const { received } = await client(
    await mocked([...HANDSHAKE, [3, 'c>s', call(1, { a: 1 })], [4, 's>c', text(1, 'one')]]),
  );
  expect(received[0]).toEqual({ id: 'hello', result: expect.objectContaining({ serverInfo: { name: 'recorded' } }) });
});

test('the n-th request with the same content gets the n-th answer, and later ones the last', async () => {
  const said: Said[] = [
    ...HANDSHAKE,
    [3, 'c>s', call(1, { a: 1, b: 2 })],
    [4, 's>c', text(1, 'first')],
    [5, 'c>s', call(2, { b: 2, a: 1 })],
    [6, 's>c', text(2, 'second')],
  ];
  const server = await mocked(said);
  const { ask } = await client(server);
  expect(await ask(call(7, { a: 1, b: 2 }))).toEqual(text(7, 'first'));
  expect(await ask(call(8, { a: 1, b: 2 }))).toEqual(text(8, 'second'));
  expect(await ask(call(9, { a: 1, b: 2 }))).toEqual(text(9, 'second'));
  const other = await client(server);
  expect(await other.ask(call(7, { a: 1, b: 2 }))).toEqual(text(7, 'first'));
  expect(server.misses).toEqual([]);
});

describe('a request that is not in the recording', () => {
  const said: Said[] = [
    ...HANDSHAKE,
    [3, 'c>s', call(1, { a: 1, b: 2 })],
    [4, 's>c', text(1, '3')],
    [5, 'c>s', { id: 2, method: 'tools/call', params: { name: 'other', arguments: { a: 5, b: 6 } } }],
    [6, 's>c', text(2, 'other')],
  ];

  test('fails, and names the nearest one', async () => {
    const onmiss = vi.fn<(miss: MockMiss) => void>();
    const server = await mocked(said, { fast: true, onmiss });
    const { ask } = await client(server);
    const message =
      'Invalid params: tools/call add is not in the recording with these parameters. ' +
      'Record 13 is the nearest, but arguments.a is 5 and not 1, arguments.b is 6 and not 2';
    expect(await ask(call(5, { a: 5, b: 6 }))).toEqual({ id: 5, error: { code: -32602, message } });
    expect(onmiss).toHaveBeenCalledExactlyOnceWith({ method: 'tools/call', message, nearest: 13 });
    expect(server.misses).toHaveLength(1);
  });

  test('of a method that was never recorded fails as an unknown method', async () => {
    const { ask } = await client(await mocked(said));
    const message = 'Method not found: prompts/list is not in the recording';
    expect(await ask({ id: 5, method: 'prompts/list' })).toEqual({ id: 5, error: { code: -32601, message } });
  });

  test('gets the nearest answer for the same tool if the mock is lenient', async () => {
    const { ask } = await client(await mocked(said, { fast: true, lenient: true }));
    expect(await ask(call(5, { a: 5, b: 6 }))).toEqual(text(5, '3'));
    expect(await ask({ id: 6, method: 'tools/call', params: { name: 'third' } })).toHaveProperty('error');
  });

  test('is answered if it is a ping', async () => {
    const server = await mocked(said);
    const { ask } = await client(server);
    expect(await ask({ id: 5, method: 'ping' })).toEqual({ id: 5, result: {} });
    expect(server.misses).toEqual([]);
  });
});

describe('progress', () => {
  const progress = (progressToken: unknown): Json => ({
    method: 'notifications/progress',
    params: { progressToken, progress: 1 },
  });
  const said: Said[] = [
    ...HANDSHAKE,
    [3, 'c>s', call(1, {}, { progressToken: 'theirs' })],
    [4, 's>c', progress('theirs')],
    [5, 's>c', text(1, 'done')],
  ];

  test('has the token of the present client', async () => {
    const { send, until } = await client(await mocked(said));
    await send(call(9, {}, { progressToken: 41 }));
    expect((await until(3)).slice(1)).toEqual([progress(41), text(9, 'done')]);
  });

  test('is not sent to a client that gave no token', async () => {
    const { ask } = await client(await mocked(said));
    expect(await ask(call(9, {}))).toEqual(text(9, 'done'));
  });
});

describe('a question', () => {
  const question = { method: 'elicitation/create', params: { message: 'Name?' } };
  const answer = { action: 'accept', content: { name: 'Ada' } };
  const said: Said[] = [
    ...HANDSHAKE,
    [3, 'c>s', call(1, {})],
    [4, 's>c', { id: 'q', ...question }],
    [5, 'c>s', { id: 'q', result: answer }],
    [6, 's>c', text(1, 'Hello, Ada')],
  ];

  test('is asked, and what follows waits for the answer', async () => {
    const { ask, received } = await client(await mocked(said));
    const asked = await ask(call(7, {}));
    expect(asked).toEqual({ id: expect.any(Number), ...question });
    await ask({ id: 8, method: 'ping' });
    expect(received).toHaveLength(3);
    expect(await ask({ id: asked['id'], result: answer })).toEqual(text(7, 'Hello, Ada'));
  });

  test('that is answered in another way makes the call fail', async () => {
    const server = await mocked(said);
    const { ask } = await client(server);
    const asked = await ask(call(7, {}));
    const message =
      'The answer to elicitation/create is not the recorded one: result.action is "decline" and not "accept", result.content is missing';
    expect(await ask({ id: asked['id'], result: { action: 'decline' } })).toEqual({
      id: 7,
      error: { code: -32603, message },
    });
    expect(server.misses).toEqual([{ method: 'tools/call', message, nearest: 13 }]);
  });

  test('may be answered in another way if the mock is lenient', async () => {
    const { ask } = await client(await mocked(said, { fast: true, lenient: true }));
    const asked = await ask(call(7, {}));
    expect(await ask({ id: asked['id'], result: { action: 'decline' } })).toEqual(text(7, 'Hello, Ada'));
  });

  test('that is answered leaves no listener, so Node warns of nothing', async () => {
    const ids = Array.from({ length: 20 }, (_, at) => `q${at}`);
    const { send, ask } = await client(
      await mocked([
        ...HANDSHAKE,
        [3, 'c>s', call(1, {})],
        ...ids.flatMap((id, at): Said[] => [
          [4 + 2 * at, 's>c', { id, ...question }],
          [5 + 2 * at, 'c>s', { id, result: answer }],
        ]),
        [100, 's>c', text(1, 'Hello, Ada')],
      ]),
    );
    const warned = vi.fn<() => void>();
    process.on('warning', warned);
    onTestFinished(() => void process.off('warning', warned));
    let next = await ask(call(7, {}));
    while (next['method'] !== undefined) next = await ask({ id: next['id'], result: answer });
    expect(next).toEqual(text(7, 'Hello, Ada'));
    await send({ method: 'notifications/initialized' });
    await ask({ id: 9, method: 'ping' });
    expect(warned).not.toHaveBeenCalled();
  });

  test('that nothing waits for ends with its call, and the mock goes on', async () => {
    const { ask, until } = await client(
      await mocked([
        ...HANDSHAKE,
        [3, 'c>s', call(1, {})],
        [4, 's>c', { id: 'q', ...question }],
        [5, 's>c', text(1, 'done')],
        [6, 'c>s', { id: 'q', result: answer }],
      ]),
    );
    await ask(call(7, {}));
    expect((await until(3))[2]).toEqual(text(7, 'done'));
    expect(await ask({ id: 9, method: 'ping' })).toEqual({ id: 9, result: {} });
  });

  test('of a call that is cancelled leaves nothing in memory', async () => {
    const collect = garbageCollector();
    const { send, ask, received } = await client(await mocked(said));
    collect();
    const before = process.memoryUsage().heapUsed;
    for (let id = 1; id <= 100; id += 1) {
      await ask(call(id, {}, { values: Array.from({ length: 50_000 }, (_, value) => value + id / 2) }));
      await send({ method: 'notifications/cancelled', params: { requestId: id } });
    }
    expect(received).toHaveLength(101);
    await vi.waitFor(() => {
      collect();
      // The calls have 40 MB together.
      expect(process.memoryUsage().heapUsed - before).toBeLessThan(20_000_000);
    });
  });
});

test('messages come at the recorded times', async () => {
  const said: Said[] = [...HANDSHAKE, [10, 'c>s', call(1, {})], [260, 's>c', text(1, 'late')]];
  const { send, received } = await client(await mocked(said, {}));
  vi.useFakeTimers();
  await send(call(3, {}));
  await vi.advanceTimersByTimeAsync(249);
  expect(received).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(received[1]).toEqual(text(3, 'late'));
});

test('a call that was cancelled in the recording waits until it is cancelled', async () => {
  const cancelled = (requestId: number): Json => ({ method: 'notifications/cancelled', params: { requestId } });
  const said: Said[] = [
    ...HANDSHAKE,
    [3, 'c>s', call(1, {})],
    [4, 'c>s', cancelled(1)],
    [5, 'c>s', call(2, { a: 1 })],
    [6, 's>c', text(2, 'one')],
  ];
  const { send, ask, received } = await client(await mocked(said));
  await send(call(7, {}));
  await send(cancelled(7));
  expect(await ask(call(8, { a: 1 }))).toEqual(text(8, 'one'));
  expect(received).toHaveLength(2);
});

test('what the server sent on its own comes after the same message of the client', async () => {
  const changed = { method: 'notifications/tools/list_changed' };
  const said: Said[] = [
    ...HANDSHAKE,
    [3, 's>c', { method: 'notifications/message', params: { level: 'info', data: 'ready' } }],
    [4, 'c>s', call(1, { a: 1 })],
    [5, 's>c', text(1, 'one')],
    [6, 's>c', changed],
  ];
  const { send, until } = await client(await mocked(said));
  expect((await until(2))[1]).toMatchObject({ method: 'notifications/message' });
  await send(call(2, { a: 1 }));
  expect((await until(4)).slice(2)).toEqual([text(2, 'one'), changed]);
});

test('in a recording of a bridge, the server is what its clients saw', async () => {
  const said = (answer: string): Said[] => [...HANDSHAKE, [3, 'c>s', call(1, {})], [4, 's>c', text(1, answer)]];
  const server = await mockOf([
    { role: 'client', said: said('behind the bridge') },
    { role: 'server', said: said('before the bridge') },
  ]);
  const { ask } = await client(server);
  expect(await ask(call(2, {}))).toEqual(text(2, 'before the bridge'));
});

describe('a recording of 2026-07-28', () => {
  const META = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
  const modern = (id: number, params: Json): Json => ({
    id,
    method: 'tools/call',
    params: { name: 'ask', ...params, _meta: META },
  });
  const asks = { resultType: 'input_required', requestState: 'sealed', inputRequests: { q: { method: 'roots/list' } } };
  const answer = { requestState: 'sealed', inputResponses: { q: { roots: [] } } };
  const said: Said[] = [
    [0, 'c>s', modern(1, {})],
    [1, 's>c', { id: 1, result: asks }],
    [2, 'c>s', modern(2, answer)],
    [3, 's>c', { id: 2, result: { resultType: 'complete', content: [] } }],
  ];

  test('is served over HTTP without a session, and nothing else is', async () => {
    const server = await mocked(said);
    const { url } = await server.listen({ port: 0 });
    const post = async (message: Json): Promise<Json> => {
      const headers = {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'ask',
      };
      const body = JSON.stringify({ jsonrpc: '2.0', ...message });
      return (await (await fetch(url, { method: 'POST', headers, body })).json()) as Json;
    };
    expect(await post(modern(7, {}))).toMatchObject({ id: 7, result: asks });
    expect(await post(modern(8, answer))).toMatchObject({ id: 8, result: { resultType: 'complete' } });
    const [, , initialize] = HANDSHAKE[0]!;
    const refused = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', ...initialize }),
    });
    expect(await refused.json()).toMatchObject({
      error: { code: -32022, message: expect.stringContaining('This mock speaks only 2026-07-28') },
    });
  });

  test('follows a subscription under the id of the present client', async () => {
    const about = (id: number): Json => ({ _meta: { 'io.modelcontextprotocol/subscriptionId': id } });
    const listen = (id: number): Json => ({
      id,
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true }, _meta: META },
    });
    const notices = (id: number): Json[] => [
      { method: 'notifications/subscriptions/acknowledged', params: about(id) },
      { method: 'notifications/tools/list_changed', params: about(id) },
    ];
    const [acknowledged, changed] = notices(5);
    const server = await mocked([
      ...said,
      [4, 'c>s', listen(5)],
      [5, 's>c', acknowledged!],
      [6, 'c>s', modern(6, { arguments: { grow: true } })],
      [7, 's>c', { id: 6, result: asks }],
      [8, 's>c', changed!],
    ]);
    const transport = await server.transport();
    const received: Json[] = [];
    let look = (): void => {};
    transport.onmessage = (message: Json) => {
      received.push(without(message, ['jsonrpc']));
      look();
    };
    const until = (count: number): Promise<void> =>
      new Promise((resolve) => {
        look = () => void (received.length >= count && resolve());
        look();
      });
    await transport.start();
    await transport.send({ jsonrpc: '2.0', ...listen(77) } as Message);
    await until(1);
    await transport.send({ jsonrpc: '2.0', ...modern(78, { arguments: { grow: true } }) } as Message);
    await until(3);
    expect(received.filter(({ id }) => id === undefined)).toEqual(notices(77));
  });
});

test('a recording without an answer cannot be served', async () => {
  await expect(mocked(HANDSHAKE.slice(0, 1))).rejects.toThrow('the recording has no request that a server answered');
});

test.each([
  [1, 'a message that is'],
  [2, '2 messages that are'],
])('a message that is too large for a mock is reported: %i', async (count, messages) => {
  const large = { content: [], structuredContent: JSON.parse(`${'{"a":'.repeat(500)}1${'}'.repeat(500)}`) };
  const calls = Array.from({ length: count }, (_, index): Said[] => [
    [2, 'c>s', { id: index + 1, method: 'tools/call', params: { name: 'large' } }],
    [3, 's>c', { id: index + 1, result: large }],
  ]);
  const errors: string[] = [];
  await mockOf([[...HANDSHAKE, ...calls.flat()]], { onerror: ({ message }) => errors.push(message) });
  expect(errors).toEqual([`The recording has ${messages} too large for a mock, so requests may be missing.`]);
});
