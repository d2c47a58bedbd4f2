import { describe, expect, test, vi } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import { deferred, settled } from '../../test/support/service.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { NoticeQueue } from './notice-queue.ts';

const PROGRESS = 'notifications/progress';
const LOG = 'notifications/message';
const UPDATED = 'notifications/resources/updated';
const CHANGED = 'notifications/tools/list_changed';
const VENDOR = 'notifications/vendor';

/** A queue whose reader reads only when the test says so. */
function stalled() {
  const gate = deferred();
  const exchange = new TestExchange('tools/call', {}, { onnotify: () => gate.promise });
  const errors: Error[] = [];
  const queue = new NoticeQueue(exchange, (error) => void errors.push(error));
  const push = (method: string, params: JsonObject, times = 1): void => {
    for (let n = 0; n < times; n += 1) queue.push(method, { n, ...params });
  };
  /** The messages sent since the last call. */
  const sent = (method?: string): unknown[] =>
    exchange.notified.splice(0).filter((notice) => method === undefined || notice.method === method);
  // From here on, new messages have to wait.
  push(VENDOR, {}, 32);
  sent();
  const read = async (): Promise<void> => {
    gate.resolve();
    await settled();
  };
  return { queue, errors, push, sent, read, gate };
}

test('everything is sent at once if the reader keeps up', async () => {
  const exchange = new TestExchange('tools/call');
  const queue = new NoticeQueue(exchange, () => {});
  for (let round = 0; round < 10; round += 1) {
    for (let n = 0; n < 20; n += 1) queue.push(PROGRESS, { progress: n });
    await settled();
  }
  expect(exchange.notified).toHaveLength(200);
});

test('only the newest waiting progress is sent', async () => {
  const { push, sent, read } = stalled();
  push(PROGRESS, { progressToken: 't' }, 5000);
  expect(sent()).toEqual([]);
  await read();
  expect(sent()).toEqual([{ method: PROGRESS, params: { progressToken: 't', n: 4999 } }]);
});

test('one change of each kind waits, and log messages are dropped first', async () => {
  const { push, sent, read, errors } = stalled();
  for (const uri of ['x://a', 'x://b']) push(UPDATED, { uri }, 3);
  push(CHANGED, {}, 3);
  push(LOG, {}, 5000);
  await read();
  const all = sent();
  expect(all.slice(0, 3)).toEqual([
    { method: UPDATED, params: { uri: 'x://a', n: 2 } },
    { method: UPDATED, params: { uri: 'x://b', n: 2 } },
    { method: CHANGED, params: { n: 2 } },
  ]);
  expect(all).toHaveLength(1000);
  expect(all.at(-1)).toEqual({ method: LOG, params: { n: 4999 } });
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('more than 1000')]);
});

test('log messages are dropped before unknown notifications, which are also limited', async () => {
  const { push, sent, read, errors } = stalled();
  push(VENDOR, {}, 600);
  push(LOG, {}, 300);
  push(VENDOR, {}, 300);
  expect(errors).toHaveLength(1);
  push(VENDOR, {}, 5000);
  expect(errors).toHaveLength(1);
  await read();
  expect(sent()).toEqual(Array.from({ length: 1000 }, (_, n) => ({ method: VENDOR, params: { n: 4000 + n } })));
});

test('the queue is also limited in size', async () => {
  const { push, sent, read, errors } = stalled();
  const data = 'x'.repeat(1024 * 1024);
  push(CHANGED, {});
  push(PROGRESS, { message: data }, 40);
  push(LOG, { data }, 40);
  await read();
  expect(sent(CHANGED)).toHaveLength(1);
  expect(errors).toHaveLength(1);
  push(LOG, { data: '' });
  expect(sent(LOG)).toMatchObject([{ params: { data: '' } }]);
});

test('large messages wait if 1 MiB is on its way, and keep their order', async () => {
  const gates: Array<() => void> = [];
  const exchange = new TestExchange(
    'tools/call',
    {},
    { onnotify: () => new Promise((resolve) => gates.push(resolve)) },
  );
  const errors: Error[] = [];
  const queue = new NoticeQueue(exchange, (error) => void errors.push(error));
  const sent = (): unknown[] => exchange.notified.splice(0).map(({ params }) => params!['n']);
  const data = 'x'.repeat(4 * 1024 * 1024);
  for (let n = 0; n < 32; n += 1) queue.push(LOG, { n, data });
  queue.push(LOG, { n: 32 });
  expect(sent()).toEqual([0]);
  expect(errors).toHaveLength(1);
  const rest: unknown[] = [];
  while (gates.length > 0) {
    gates.shift()!();
    await settled();
    const next = sent();
    expect(next.length).toBeLessThanOrEqual(1);
    rest.push(...next);
  }
  expect(rest).toEqual([30, 31, 32]);
  // Nothing is on its way any more.
  for (let n = 0; n < 40; n += 1) queue.push(LOG, { n });
  expect(sent()).toHaveLength(32);
});

test('only the newest of several large messages is kept', async () => {
  const { push, sent, read } = stalled();
  push(LOG, { data: 'x'.repeat(1024 * 1024) }, 40);
  await read();
  expect(sent().map((notice: any) => notice.params.n)).toEqual(Array.from({ length: 9 }, (_, n) => 31 + n));
});

test('queued messages are sent in order, before later ones', async () => {
  const { push, sent, read } = stalled();
  push(LOG, { n: 1 });
  push(VENDOR, { n: 2 });
  const reading = read();
  push(LOG, { n: 3 });
  await reading;
  push(LOG, { n: 4 });
  expect(sent()).toMatchObject([1, 2, 3, 4].map((n) => ({ params: { n } })));
});

test('a message that cannot be sent does not block the others', async () => {
  const { push, sent, gate } = stalled();
  push(LOG, { n: 1 });
  gate.reject(new Error('lost'));
  await settled();
  expect(sent()).toEqual([{ method: LOG, params: { n: 1 } }]);
});

test('flush sends queued messages at once', () => {
  const { queue, push, sent } = stalled();
  push(PROGRESS, {}, 3);
  push(LOG, {}, 2);
  queue.flush();
  expect(sent()).toMatchObject([
    { method: PROGRESS, params: { n: 2 } },
    { method: LOG, params: { n: 0 } },
    { method: LOG, params: { n: 1 } },
  ]);
});

test('too many updates of resources are dropped, the oldest first, but not changes of lists', async () => {
  const { push, sent, read, errors } = stalled();
  push(CHANGED, {});
  for (let n = 0; n < 20_000; n += 1) push(UPDATED, { uri: `x://${n}` });
  expect(errors).toHaveLength(1);
  await read();
  const all = sent();
  expect(all).toHaveLength(1000);
  expect(all[0]).toEqual({ method: CHANGED, params: { n: 0 } });
  expect(all[1]).toMatchObject({ params: { uri: 'x://19001' } });
  expect(all.at(-1)).toMatchObject({ params: { uri: 'x://19999' } });
});

test('dropped messages are reported again after the queue was empty', () => {
  const { queue, push, errors } = stalled();
  push(LOG, {}, 1001);
  queue.take();
  expect(errors).toHaveLength(1);
  push(LOG, {}, 1000);
  expect(errors).toHaveLength(1);
  push(LOG, {}, 1);
  expect(errors).toHaveLength(2);
});

test('all queues together keep at most 64 MiB, and the one that has waited longest loses its messages', async () => {
  const queues = Array.from({ length: 8 }, () => stalled());
  const text = 'x'.repeat(1024 * 1024);
  for (const { push } of queues) push(LOG, { text }, 9);
  queues[0]!.push(LOG, {});
  expect(queues.map(({ errors }) => errors.length)).toEqual([1, 0, 0, 0, 0, 0, 0, 0]);
  for (const { read } of queues) await read();
  expect(queues.map(({ sent }) => sent().length)).toEqual([1, 9, 9, 9, 9, 9, 9, 9]);
  // They need no memory any more, so nobody loses anything now.
  const later = Array.from({ length: 7 }, () => stalled());
  for (const { push: more } of later) more(LOG, { text }, 9);
  for (const { queue } of later) expect(queue.take()).toHaveLength(9);
});

describe('the notifications that are on their way for all exchanges', () => {
  const data = 'x'.repeat(8 * 1024 * 1024);

  /** A queue whose notifications are on their way until `read`. */
  function slow() {
    const gate = deferred();
    const exchange = new TestExchange('tools/call', {}, { onnotify: () => gate.promise });
    const errors: Error[] = [];
    const queue = new NoticeQueue(exchange, (error) => void errors.push(error));
    const sent = (): unknown[] => exchange.notified.splice(0).map(({ params }) => params!['n']);
    const read = async (): Promise<void> => {
      gate.resolve();
      await settled();
    };
    return { exchange, queue, errors, sent, read };
  }

  /** Those of 32 exchanges need all room. Returns what makes their clients read. */
  function full() {
    const all = Array.from({ length: 32 }, slow);
    for (const { queue } of all) queue.push(LOG, { data });
    return async (): Promise<void> => {
      for (const { read } of all) await read();
    };
  }

  test('take at most 256 MiB, and further ones wait until there is room', async () => {
    const readAll = full();
    const more = Array.from({ length: 6 }, slow);
    for (const { queue } of more) for (let n = 0; n < 2; n += 1) queue.push(LOG, { n, data: n === 0 ? data : '' });
    expect(more.flatMap(({ sent }) => sent())).toEqual([]);
    await readAll();
    await vi.waitFor(() => expect(more.flatMap(({ exchange }) => exchange.notified)).toHaveLength(6));
    expect(more.flatMap(({ sent }) => sent())).toEqual([0, 0, 0, 0, 0, 0]);
    for (const { read } of more) await read();
    expect(more.map(({ sent }) => sent())).toEqual(more.map(() => [1]));
    expect(more.flatMap(({ errors }) => errors)).toEqual([]);
  });

  test('take 64 KiB for each exchange above that', async () => {
    const readAll = full();
    const { exchange, queue, errors, sent, read } = slow();
    for (let n = 0; n < 5; n += 1) queue.push(LOG, { n, data: 'x'.repeat(20_000) });
    queue.push(LOG, { n: 5, data });
    queue.push(PROGRESS, { n: 6 });
    expect(sent()).toEqual([0, 1, 2]);
    await read();
    expect(sent()).toEqual([3, 4]);
    await readAll();
    await vi.waitFor(() => expect(exchange.notified).toHaveLength(2));
    expect(sent()).toEqual([5, 6]);
    expect(errors).toEqual([]);
  });

  test('are limited also if results follow', async () => {
    const all = Array.from({ length: 40 }, slow);
    for (const { queue } of all) {
      for (let n = 0; n < 10; n += 1) queue.push(LOG, { n, data });
      queue.flush();
    }
    const notified = all.map(({ sent }) => sent());
    expect(notified.flat()).toHaveLength(32);
    expect(notified[39]).toEqual([]);
    expect(all[39]!.errors).not.toEqual([]);
    for (const { read } of all) await read();
  });

  test('that wait are not sent once they were taken', async () => {
    const readAll = full();
    const { queue, sent } = slow();
    queue.push(LOG, { n: 0, data });
    expect(queue.take()).toHaveLength(1);
    await readAll();
    expect(sent()).toEqual([]);
  });
});
