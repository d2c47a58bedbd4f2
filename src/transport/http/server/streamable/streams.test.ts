import { expect, onTestFinished, test, vi } from 'vitest';
import { Events, initialize, openRaw, TestHttp } from '../../../../../test/support/http.ts';
import { logWith } from '../../../../../test/support/event-log.ts';
import { deferred, scripted, settled } from '../../../../../test/support/service.ts';
import type { Transport } from '../../../transport.ts';

const note = (n: number) => ({ jsonrpc: '2.0' as const, method: 'notifications/n', params: { n } });

test('the maximum number of GET streams can be open', async () => {
  const { session } = await openRaw();
  const streams: Events[] = [];
  for (let count = 0; count < 8; count += 1) streams.push(await session.events());
  expect(session.http.handler.streams).toBe(8);
  await Promise.all(streams.map((events) => events.cancel()));
});

test('a resumed stream begins with the missed events', async () => {
  const { session, server } = await openRaw();
  const first = await session.events();
  const { id } = (await first.next())!;
  await first.cancel();
  await server.send(note(1));
  const again = await session.events(id);
  expect((await again.next())!.data).toContain('"n":1');
  await again.cancel();
});

test('a client that disconnects before its stream begins takes no events from the existing stream', async () => {
  let go = deferred();
  go.resolve();
  const events = logWith((log) => ({
    append: async (...args) => {
      await go.promise;
      return log.append(...args);
    },
  }));
  const { session, server } = await openRaw({ state: { events } });
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

test('a client gets its session id only when the session is served', async () => {
  const served: unknown[] = [];
  let server!: Transport;
  const http = new TestHttp(scripted().service, { grace: 0, onsession: (transport) => void (server = transport) });
  const learnt = vi.fn<(response: Response) => Response>((response) => response);
  const opened = http.post(initialize()).then(learnt);
  await settled();
  expect(learnt).not.toHaveBeenCalled();
  server.onmessage = ({ method }: { method?: string }) => void served.push(method);
  await server.start();
  expect((await opened).headers.get('mcp-session-id')).toBe(server.sessionId);
  expect(served).toEqual(['initialize']);
  await (await opened).body!.cancel();
});

test('a closed connection leaves no timer behind', async () => {
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
