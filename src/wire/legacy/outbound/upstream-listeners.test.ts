import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange, type TestExchangeOptions } from '../../../../test/support/exchange.ts';
import { askedServer } from '../../../../test/support/own-requests.ts';
import { deferred, settled } from '../../../../test/support/service.ts';
import type { Session } from '../../../core/exchange.ts';
import type { JsonObject } from '../../../jsonrpc/message.ts';
import type { OwnRequest } from './own-request.ts';
import { UpstreamListeners } from './upstream-listeners.ts';

const params = { notifications: { resourceSubscriptions: ['x://y'] } };
const capabilities = { resources: { subscribe: true } };

/** A subscriber of a resource. `unsubscribed` settles its `resources/unsubscribe`. */
async function listening() {
  const errors: Error[] = [];
  const sent: string[] = [];
  const unsubscribed = deferred<JsonObject>();
  const request = (method: string): OwnRequest => {
    sent.push(method);
    return {
      result: method === 'resources/unsubscribe' ? unsubscribed.promise : Promise.resolve({}),
      cancel: () => {},
    };
  };
  const listeners = new UpstreamListeners(request, (error) => void errors.push(error));
  const exchange = new TestExchange('subscriptions/listen', params);
  const over = listeners.listen(exchange, capabilities);
  await settled();
  return { errors, sent, unsubscribed, listeners, exchange, over };
}

test('an error of resources/unsubscribe is reported', async () => {
  const { errors, sent, unsubscribed, exchange, over } = await listening();
  exchange.abort();
  await settled();
  unsubscribed.reject(new Error('never heard of it'));
  expect(await over).toEqual({});
  expect(sent).toEqual(['resources/subscribe', 'resources/unsubscribe']);
  expect(errors.map(({ message }) => message)).toEqual(['never heard of it']);
});

test('a connection that closes in the meantime is not reported', async () => {
  const { errors, unsubscribed, listeners, exchange, over } = await listening();
  exchange.abort();
  await settled();
  listeners.retire();
  unsubscribed.reject(new Error('The connection is closed'));
  expect(await over).toEqual({});
  expect(errors).toEqual([]);
});

test('a connection that is about to end gets no unsubscribe', async () => {
  const { sent, listeners, exchange, over } = await listening();
  listeners.retire();
  exchange.abort();
  expect(await over).toEqual({});
  expect(sent).toEqual(['resources/subscribe']);
});

test.each([
  ['resources/subscribe', params, capabilities],
  ['logging/setLevel', { notifications: {} }, { logging: {} }],
])('a subscriber that leaves while %s is pending takes no messages from others', async (method, filter, able) => {
  const server = askedServer();
  const listeners = new UpstreamListeners(server.send, () => {});
  const session = { id: 's', signal: new AbortController().signal };
  const first = new TestExchange('subscriptions/listen', {}, { caller: { session } });
  void listeners.listen(first, {});
  const second = new TestExchange('subscriptions/listen', filter, { caller: { session, logLevel: 'info' } });
  const over = listeners.listen(second, able);
  await settled();
  expect(listeners.newest).toBe(second);
  second.abort();
  expect(listeners.newest).toBe(first);
  listeners.deliver('notifications/message', { level: 'error', data: 'fire' });
  expect(first.notified.at(-1)).toMatchObject({ method: 'notifications/message' });
  await settled();
  expect(server.asked()).toContain(`cancelled ${method}`);
  if (method === 'resources/subscribe') server.answer();
  expect(await over).toEqual({});
  expect(second.notified).toEqual([]);
});

test('a reader that does not accept the acknowledgement is not awaited after it has left', async () => {
  const server = askedServer();
  const listeners = new UpstreamListeners(server.send, () => {});
  const exchange = new TestExchange('subscriptions/listen', {}, { onnotify: () => new Promise<void>(() => {}) });
  const over = listeners.listen(exchange, {});
  await settled();
  exchange.abort();
  expect(await over).toEqual({});
});

test('an update of a part of a resource goes only to subscribers of the whole', async () => {
  const { listeners, exchange } = await listening();
  const notifyUpdate = (uri: unknown): void => listeners.deliver('notifications/resources/updated', { uri });
  exchange.notified.length = 0;
  for (const uri of ['x://y', 'x://y/a.txt', 'x://yz', 'x://', undefined]) notifyUpdate(uri);
  expect(exchange.notified.map(({ params: told }) => told!['uri'])).toEqual(['x://y', 'x://y/a.txt']);
});

test('a flood for many subscriptions is delivered in several turns of the event loop, and changes are joined', async () => {
  // Time stands still, however slow the machine is.
  vi.useFakeTimers({ toFake: ['performance'] });
  onTestFinished(() => void vi.useRealTimers());
  const listeners = new UpstreamListeners(askedServer().send, () => {});
  const uris = Array.from({ length: 1000 }, (_, n) => `x://${n}`);
  const exchanges = Array.from({ length: 30 }, () => {
    const notifications = { toolsListChanged: true, resourceSubscriptions: uris };
    const exchange = new TestExchange('subscriptions/listen', { notifications });
    void listeners.listen(exchange, {});
    return exchange;
  });
  await settled();
  const updates = (): number =>
    exchanges[0]!.notified.filter(({ params: given }) => given?.['uri'] === 'x://999').length;
  for (let n = 0; n < 500; n += 1) listeners.deliver('notifications/resources/updated', { uri: 'x://999' });
  expect(updates()).toBe(1);
  await new Promise((resolve) => void setImmediate(resolve));
  expect(updates()).toBe(2);
});

describe('a change for thousands of listeners', () => {
  const MANY = 3000;
  const changed = 'notifications/tools/list_changed';

  async function manyListeners() {
    const listeners = new UpstreamListeners(askedServer().send, () => {});
    const listen = (session: Session) => {
      const options = { caller: { session } };
      const exchange = new TestExchange('subscriptions/listen', { notifications: { toolsListChanged: true } }, options);
      const over = listeners.listen(exchange, {});
      over.catch(() => {});
      return { exchange, over };
    };
    const sessions = Array.from({ length: MANY }, (_, n) => ({ id: `${n}`, signal: new AbortController().signal }));
    const all = sessions.map(listen);
    await settled();
    const heard = ({ exchange }: { exchange: TestExchange }): string[] =>
      exchange.notified.map(({ method }) => method).slice(1);
    const reached = (): number => all.filter((one) => heard(one).length > 0).length;
    return { listeners, all, sessions, listen, heard, reached };
  }

  test('does not block others, and the next one follows it', async () => {
    const { listeners, all, heard, reached } = await manyListeners();
    listeners.deliver(changed, {});
    expect(reached()).toBeLessThan(MANY);
    listeners.deliver('notifications/message', { level: 'info', data: 1 });
    await vi.waitFor(() => expect(all.every((one) => heard(one).length === 2)).toBe(true));
    expect(new Set(all.map((one) => heard(one).join()))).toEqual(new Set([`${changed},notifications/message`]));
  });

  test('reaches a session that listens again meanwhile', async () => {
    const { listeners, all, sessions, listen, heard } = await manyListeners();
    listeners.deliver(changed, {});
    // The oldest is last.
    const again = listen(sessions[0]!);
    all[0]!.exchange.abort();
    await vi.waitFor(() => expect(heard(again)).toEqual([changed]));
  });

  test('reaches nobody after the connection has closed', async () => {
    const { listeners, all, reached } = await manyListeners();
    listeners.deliver(changed, {});
    const before = reached();
    listeners.close(new Error('gone'));
    const over = await Promise.allSettled(all.map((one) => one.over));
    expect(new Set(over.map(({ status }) => status))).toEqual(new Set(['rejected']));
    expect(reached()).toBe(before);
  });

  test('the end of the connection does not block others either', async () => {
    const { listeners, all } = await manyListeners();
    let ended = 0;
    for (const { over } of all) void over.catch(() => (ended += 1));
    listeners.close(new Error('gone'));
    await new Promise((resolve) => void setImmediate(resolve));
    expect(ended).toBeLessThan(MANY);
    await vi.waitFor(() => expect(ended).toBe(MANY));
  });
});

test('a session that listens at several processes gets each notification once, and each other session too', async () => {
  const listeners = new UpstreamListeners(askedServer().send, () => {});
  const { signal } = new AbortController();
  const listen = (session: Session | undefined, notifications: JsonObject): TestExchange => {
    const exchange = new TestExchange('subscriptions/listen', { notifications }, { caller: { session } });
    void listeners.listen(exchange, { tools: { listChanged: true }, resources: { subscribe: true } });
    return exchange;
  };
  const lists = { toolsListChanged: true };
  const [both, other] = [
    { id: 'b', sharedId: 'both', signal },
    { id: 'o', sharedId: 'other', signal },
  ];
  const all = [
    listen(both, lists),
    listen(both, { resourceSubscriptions: ['x://y'] }),
    listen({ ...both }, lists),
    listen(other, lists),
    listen(undefined, lists),
    listen(undefined, lists),
  ];
  await settled();
  for (const each of all) each.notified.length = 0;
  listeners.deliver('notifications/tools/list_changed', {});
  listeners.deliver('notifications/message', { level: 'info', data: 1 });
  listeners.deliver('notifications/resources/updated', { uri: 'x://y' });
  listeners.deliver('notifications/message', { level: 'info', data: 2 }, both);
  await settled();
  const heard = (...of: number[]): unknown[] =>
    of.flatMap((n) => all[n]!.notified.map(({ method }) => method.split('/').at(-1)));
  expect(heard(0)).toEqual([]);
  expect(heard(1)).toEqual(['updated']);
  expect(heard(2)).toEqual(['list_changed', 'message', 'message']);
  for (const n of [3, 4, 5]) expect(heard(n)).toEqual(['list_changed', 'message']);
});

test('what waits for a slow listener of a session moves to its newer one, with one look at all listeners', async () => {
  const listeners = new UpstreamListeners(askedServer().send, () => {});
  const { signal } = new AbortController();
  const [slow, other] = ['slow', 'other'].map((id): Session => ({ id, signal }));
  const stuck = { onnotify: () => new Promise<void>(() => {}) };
  let looks = 0;
  const listen = (session: Session, options: TestExchangeOptions = {}): TestExchange => {
    const exchange = new TestExchange('subscriptions/listen', {}, options);
    const look = (): Session => {
      looks += 1;
      return session;
    };
    Object.defineProperty(exchange.caller, 'session', { get: look });
    void listeners.listen(exchange, {});
    return exchange;
  };
  const older = listen(slow!, stuck);
  for (let n = 0; n < 100; n += 1) listen(other!);
  await settled();
  for (let data = 0; data < 500; data += 1) listeners.deliver('notifications/message', { level: 'info', data }, slow);
  const newer = listen(slow!);
  looks = 0;
  older.abort();
  expect(looks).toBeLessThan(2000);
  await settled();
  expect(newer.notified.at(-1)).toMatchObject({ params: { data: 499 } });
});

test('the end of a session with many slow listeners moves nothing between them', async () => {
  const listeners = new UpstreamListeners(askedServer().send, () => {});
  const ending = new AbortController();
  const session: Session = { id: 'slow', signal: ending.signal };
  const stuck = { onnotify: () => new Promise<void>(() => {}) };
  const listen = (n: number, options: TestExchangeOptions = {}): TestExchange => {
    const notifications = { resourceSubscriptions: [`x://${n}`] };
    const exchange = new TestExchange('subscriptions/listen', { notifications }, { caller: { session }, ...options });
    void listeners.listen(exchange, capabilities);
    return exchange;
  };
  const all = Array.from({ length: 31 }, (_, n) => listen(n, stuck));
  await settled();
  for (let n = 0; n < 31; n += 1) {
    for (let m = 0; m < 1032; m += 1)
      listeners.deliver('notifications/resources/updated', { uri: `x://${n}/${m}` }, session);
  }
  for (let n = 31; n < 500; n += 1) all.push(listen(n));
  await settled();
  const before = process.cpuUsage();
  ending.abort();
  for (const exchange of all) exchange.abort();
  // It took seconds when each notification was offered to each listener that was left.
  expect(process.cpuUsage(before).user).toBeLessThan(250_000);
});

test('the cost of a session that subscribes to many resources does not grow with all subscriptions', async () => {
  const listeners = new UpstreamListeners(
    () => ({ result: Promise.resolve({}), cancel: () => {} }),
    () => {},
  );
  const listen = (notifications: JsonObject, session: Session): void => {
    const exchange = new TestExchange('subscriptions/listen', { notifications }, { caller: { session } });
    void listeners.listen(exchange, { ...capabilities, logging: {} });
  };
  const sessions = Array.from({ length: 25 }, (_, n) => ({ id: String(n), signal: new AbortController().signal }));
  for (const session of sessions) listen({ toolsListChanged: true }, session);
  await settled();
  const before = process.cpuUsage();
  for (const session of sessions) {
    for (let n = 0; n < 1000; n += 1) listen({ resourceSubscriptions: [`x://${session.id}/${n}`] }, session);
  }
  await settled();
  // The processor time of this process only. It took 23 seconds when each subscription looked at all of them.
  expect(process.cpuUsage(before).user).toBeLessThan(6_000_000);
});
