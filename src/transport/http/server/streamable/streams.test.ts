import { expect, onTestFinished, test, vi } from 'vitest';
import { Events, initialize, openRaw, TestHttp } from '../../../../../test/support/http.ts';
import { deferred, scripted, settled } from '../../../../../test/support/service.ts';
import type { EventLog } from '../../../../store/event-log.ts';
import { memoryEventLog } from '../../../../store/memory.ts';
import type { Transport } from '../../../transport.ts';

const note = (n: number) => ({ jsonrpc: '2.0' as const, method: 'notifications/n', params: { n } });

test('as many GET streams as there may be are all open', async () => {
  const { session } = await openRaw();
  const streams: Events[] = [];
  for (let count = 0; count < 8; count += 1) streams.push(await session.events());
  expect(session.http.handler.streams).toBe(8);
  await Promise.all(streams.map((events) => events.cancel()));
});

test('a stream that is resumed begins with what was missed, and with nothing before', async () => {
  const { session, server } = await openRaw();
  const first = await session.events();
  const { id } = (await first.next())!;
  await first.cancel();
  await server.send(note(1));
  const again = await session.events(id);
  expect((await again.next())!.data).toContain('"n":1');
  await again.cancel();
});

test('a client that has gone before its stream begins takes nothing from the one that is there', async () => {
  let go = deferred();
  go.resolve();
  const log = memoryEventLog();
  const eventLog: EventLog = {
    append: async (...args) => {
      await go.promise;
      return log.append(...args);
    },
    after: (...args) => log.after(...args),
    streamOf: (...args) => log.streamOf(...args),
    drop: (...args) => log.drop(...args),
  };
  const { session, server } = await openRaw({ eventLog });
  const there = await session.events();
  await there.next();
  go = deferred();
  const sent = server.send(note(1));
  const gone = await session.events();
  await gone.cancel();
  go.resolve();
  await sent;
  await server.send(note(2));
  expect((await there.message()).params).toEqual({ n: 1 });
  expect((await there.message()).params).toEqual({ n: 2 });
  await there.cancel();
});

test('initialize cannot be cancelled', async () => {
  let server!: Transport;
  const http = new TestHttp(scripted().service, {
    grace: 0,
    onsession: (transport) => {
      server = transport;
      return transport.start();
    },
  });
  const opened = new Events(await http.post(initialize()));
  const headers = { 'mcp-session-id': opened.response.headers.get('mcp-session-id')! };
  const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'init' } };
  expect((await http.post(cancelled, headers)).status).toBe(202);
  const result = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } };
  await server.send({ jsonrpc: '2.0', id: 'init', result });
  expect(await opened.message()).toEqual({ jsonrpc: '2.0', id: 'init', result });
});

test('a hundred messages wait for a session to be served, and a request more is refused', async () => {
  const { service } = scripted();
  const served: unknown[] = [];
  let server!: Transport;
  const http = new TestHttp(service, { grace: 0, onsession: (transport) => void (server = transport) });
  const opened = new Events(await http.post(initialize()));
  const headers = { 'mcp-session-id': opened.response.headers.get('mcp-session-id')! };
  for (let n = 1; n < 99; n += 1) expect((await http.post(note(n), headers)).status).toBe(202);
  const last = new Events(await http.post({ jsonrpc: '2.0', id: 'last', method: 'ping' }, headers));
  const refused = await http.post({ jsonrpc: '2.0', id: 'over', method: 'ping' }, headers);
  expect(await refused.json()).toEqual({
    jsonrpc: '2.0',
    id: 'over',
    error: { code: -32603, message: 'The session is not being served yet' },
  });
  server.onmessage = (message) => void served.push(message);
  await server.start();
  expect(served).toHaveLength(100);
  await Promise.all([opened.cancel(), last.cancel()]);
});

test('a session that is not served yet holds only so many bytes', async () => {
  const { service } = scripted();
  const served: unknown[] = [];
  let server!: Transport;
  const http = new TestHttp(service, {
    grace: 0,
    maxBodyBytes: 20 * 1024 * 1024,
    onsession: (transport) => void (server = transport),
  });
  const opened = new Events(await http.post(initialize()));
  const headers = { 'mcp-session-id': opened.response.headers.get('mcp-session-id')! };
  const large = { jsonrpc: '2.0', method: 'notifications/n', params: { text: 'x'.repeat(9 * 1024 * 1024) } };
  for (let n = 0; n < 2; n += 1) expect((await http.post(large, headers)).status).toBe(202);
  server.onmessage = (message) => void served.push((message as { method?: string }).method);
  await server.start();
  expect(served).toEqual(['initialize', 'notifications/n']);
  await opened.cancel();
});

test('a connection that has ended leaves no timer behind', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { session } = await openRaw({ streamDuration: 60_000, keepAlive: 0 });
  const before = vi.getTimerCount();
  const events = await session.events();
  expect(vi.getTimerCount()).toBe(before + 1);
  await events.cancel();
  await settled();
  expect(vi.getTimerCount()).toBe(before);
});
