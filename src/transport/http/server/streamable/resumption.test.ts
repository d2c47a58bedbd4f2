import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { logWith } from '../../../../../test/support/event-log.ts';
import { Events, openRaw, type RawSession } from '../../../../../test/support/http.ts';
import { deferred, settled } from '../../../../../test/support/service.ts';
import { nextTurn } from '../../../../base/wait.ts';
import type { EventLog } from '../../../../store/event-log.ts';
import { memoryEventLog } from '../../../../store/memory.ts';
import type { Message } from '../../../../jsonrpc/message.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const numbered = (n: number) => ({ jsonrpc: '2.0' as const, method: 'notifications/n', params: { n } });
const answer = (id: number) => ({ jsonrpc: '2.0' as const, id, result: { id } });

/** Starts a request whose response is a stream that begins with notifications `n`. */
async function streaming({ session, server }: RawSession, id: number, ns: number[]): Promise<Events> {
  const pending = session.call(id, 'work');
  // In one turn of the event loop, only a few requests begin.
  await nextTurn();
  await settled();
  for (const n of ns) await server.send(numbered(n), { relatedRequestId: id });
  return new Events(await pending);
}

const messages = (events: { data?: string }[]): Message[] =>
  events.filter(({ data }) => data).map(({ data }) => JSON.parse(data!));

test('Last-Event-ID replays later events of that stream, and no other events', async () => {
  const wire = await openRaw();
  const standalone = await wire.session.events();
  const one = await streaming(wire, 1, [11, 12]);
  const two = await streaming(wire, 2, [21]);
  await wire.server.send(numbered(99));
  const ids = [(await one.next())!.id, (await one.next())!.id];
  await one.cancel();
  await wire.server.send(numbered(13), { relatedRequestId: 1 });
  await wire.server.send(answer(1));
  await wire.server.send(answer(2));

  expect(messages(await (await wire.session.events(ids[1])).rest())).toEqual([numbered(12), numbered(13), answer(1)]);
  expect(messages(await (await wire.session.events(ids[0])).rest())).toEqual([
    numbered(11),
    numbered(12),
    numbered(13),
    answer(1),
  ]);
  expect(messages(await two.rest())).toEqual([numbered(21), answer(2)]);
  expect(await standalone.message()).toEqual(numbered(99));
});

test('a resumed stream continues with new events', async () => {
  const wire = await openRaw();
  const events = await streaming(wire, 1, [1]);
  const { id } = (await events.next())!;
  await events.cancel();
  const resumed = await wire.session.events(id);
  expect(await resumed.message()).toEqual(numbered(1));
  await wire.server.send(numbered(2), { relatedRequestId: 1 });
  expect(await resumed.message()).toEqual(numbered(2));
  await wire.server.send(answer(1));
  expect(await resumed.message()).toEqual(answer(1));
  expect(await resumed.next()).toBeUndefined();
});

test('the standalone stream is also resumed by Last-Event-ID', async () => {
  const { session, server } = await openRaw();
  const events = await session.events();
  await server.send(numbered(1));
  await server.send(numbered(2));
  await events.next();
  const { id } = (await events.next())!;
  await events.cancel();
  await server.send(numbered(3));
  const resumed = await session.events(id);
  expect(await resumed.message()).toEqual(numbered(2));
  expect(await resumed.message()).toEqual(numbered(3));
  await server.send(numbered(4));
  expect(await resumed.message()).toEqual(numbered(4));
});

test('a stream that has ended and was read completely gets 204, so that clients do not return for ever', async () => {
  const wire = await openRaw();
  const events = await streaming(wire, 1, [1]);
  await wire.server.send(answer(1));
  const last = (await events.rest()).at(-1)!;
  expect((await wire.session.get(last.id)).status).toBe(204);
});

test('an event id of another session replays no event of that session', async () => {
  const ours = await openRaw();
  const theirs = await openRaw();
  const events = await streaming(theirs, 1, [1, 2]);
  const { id } = (await events.next())!;
  expect((await ours.session.get(id)).status).toBe(410);
  // If it names an event of this session, that event's stream is resumed.
  await streaming(ours, 1, [8, 9]);
  expect(await (await ours.session.events(id)).message()).toEqual(numbered(8));
});

test.each(['nonsense', '1-999', '0-0', '-', '9-1'])('an unknown event id (%s) gets 410', async (id) => {
  const { session } = await openRaw();
  await session.events();
  const response = await session.get(id);
  expect(response.status).toBe(410);
  expect(await response.json()).toEqual({ jsonrpc: '2.0', error: { code: -32000, message: expect.any(String) } });
});

test.each(['1-'.repeat(7000), `${'9'.repeat(15_000)}-1`, `1-${'9'.repeat(15_000)}`, '-'.repeat(15_000)])(
  'a huge event id gets 410',
  async (id) => {
    const { session } = await openRaw();
    const response = await session.get(id);
    expect(response.status).toBe(410);
    expect((await response.text()).length).toBeLessThan(300);
  },
);

test('a client that resumes a stream again gets all of it there, and the response before ends', async () => {
  const wire = await openRaw();
  const events = await streaming(wire, 1, [1]);
  const { id } = (await events.next())!;
  await events.cancel();
  const text = 'x'.repeat(100_000);
  for (let n = 2; n < 12; n += 1)
    await wire.server.send({ ...numbered(n), params: { n, text } }, { relatedRequestId: 1 });
  const former = await Promise.all(Array.from({ length: 5 }, () => wire.session.events(id)));
  const last = await wire.session.events(id);
  for (const each of former)
    await expect(
      each.rest().then(
        () => 'ended',
        () => 'cut off',
      ),
    ).resolves.toMatch(/ended|cut off/);
  for (let n = 1; n < 12; n += 1) expect((await last.message()).params.n).toBe(n);
  await wire.server.send(answer(1));
  expect(await last.message()).toEqual(answer(1));
});

test('an event id gets 410 if a later event was dropped', async () => {
  const wire = await openRaw({ state: { events: memoryEventLog({ maxEvents: 3 }) } });
  const events = await streaming(wire, 1, [1]);
  const { id } = (await events.next())!;
  await events.cancel();
  for (let n = 2; n < 8; n += 1) await wire.server.send(numbered(n), { relatedRequestId: 1 });
  expect((await wire.session.get(id)).status).toBe(410);
});

test('a stream closed by the server sends a retry time, and continues where it stopped', async () => {
  const wire = await openRaw({ retry: 250 });
  const events = await streaming(wire, 1, [1]);
  wire.extras.get(1)!.closeSSEStream!();
  const [priming, first, retry, ...more] = await events.rest();
  expect(priming).toEqual({ id: expect.any(String), data: '' });
  expect(JSON.parse(first!.data!)).toEqual(numbered(1));
  expect(retry).toEqual({ retry: '250' });
  expect(more).toEqual([]);
  await wire.server.send(answer(1));
  expect(messages(await (await wire.session.events(first!.id)).rest())).toEqual([answer(1)]);
});

test('a stream can be closed before it has any message', async () => {
  const wire = await openRaw();
  const pending = wire.session.call(1, 'work');
  await settled();
  wire.extras.get(1)!.closeSSEStream!();
  const [priming, retry] = await new Events(await pending).rest();
  expect(priming).toEqual({ id: expect.any(String), data: '' });
  expect(retry).toEqual({ retry: '1000' });
  await wire.server.send(answer(1));
  expect(messages(await (await wire.session.events(priming!.id)).rest())).toEqual([answer(1)]);
});

test('the service can close the standalone stream', async () => {
  const wire = await openRaw();
  const events = await wire.session.events();
  wire.extras.get('init')!.closeStandaloneSSEStream!();
  expect(await events.rest()).toEqual([{ id: expect.any(String), data: '' }, { retry: '1000' }]);
  await wire.server.send(numbered(1));
  expect(await (await wire.session.events()).message()).toEqual(numbered(1));
});

test('before 2025-11-25 the service cannot close streams', async () => {
  const wire = await openRaw({}, '2025-06-18');
  const pending = wire.session.call(1, 'work');
  await settled();
  expect(wire.extras.get(1)!.closeSSEStream).toBeUndefined();
  expect(wire.extras.get(1)!.closeStandaloneSSEStream).toBeUndefined();
  await wire.server.send(answer(1));
  await (await pending).text();
});

test('with streamDuration, a connection is closed after that time so that the client reconnects', async () => {
  const wire = await openRaw({ streamDuration: 5000, keepAlive: 0 });
  const events = await streaming(wire, 1, [1]);
  await vi.advanceTimersByTimeAsync(5000);
  const all = await events.rest();
  expect(all.at(-1)).toEqual({ retry: '1000' });
  const resumed = await wire.session.events(all[1]!.id);
  await wire.server.send(answer(1));
  expect(await resumed.message()).toEqual(answer(1));
});

test('streamDuration counts for each connection separately', async () => {
  const { session } = await openRaw({ streamDuration: 5000, keepAlive: 0 });
  const first = await session.events();
  await vi.advanceTimersByTimeAsync(4000);
  const second = await session.events();
  await vi.advanceTimersByTimeAsync(1500);
  expect((await first.rest()).at(-1)).toEqual({ retry: '1000' });
  let ended = false;
  const rest = second.rest().then((events) => {
    ended = true;
    return events;
  });
  await vi.advanceTimersByTimeAsync(3000);
  expect(ended).toBe(false);
  await vi.advanceTimersByTimeAsync(1000);
  expect((await rest).at(-1)).toEqual({ retry: '1000' });
});

test('of many ended streams, each can be resumed as long as the log has its events', async () => {
  const wire = await openRaw({ state: { events: memoryEventLog({ maxEvents: 600 }) } });
  const first: (string | undefined)[] = [];
  for (let id = 0; id < 300; id += 1) {
    const events = await streaming(wire, id, [id]);
    first.push((await events.next())!.id);
    await wire.server.send(answer(id));
    await events.rest();
  }
  expect((await wire.session.get(first[0])).status).toBe(410);
  for (const id of [150, 299]) {
    const all = messages(await (await wire.session.events(first[id])).rest());
    expect(all).toEqual([numbered(id), answer(id)]);
  }
});

test('among many ended streams, one that is still being read is not forgotten', async () => {
  const wire = await openRaw();
  const slow = await streaming(wire, 1000, [1]);
  const { id } = (await slow.next())!;
  void wire.server.send({ ...answer(1000), result: { text: 'x'.repeat(1_000_000) } });
  for (let other = 0; other < 70; other += 1) {
    const events = await streaming(wire, other, [other]);
    await wire.server.send(answer(other));
    await events.rest();
  }
  expect((await wire.session.get(id)).status).toBe(200);
});

test('a client that resumes before the log knows of a lost response asks again, and then gets an error', async () => {
  const state = { works: true };
  const ifItWorks = async <T>(work: () => Promise<T>): Promise<T> => {
    if (!state.works) throw new Error('the store is gone');
    return work();
  };
  const inner = memoryEventLog();
  const log: EventLog = {
    open: (...stream) => inner.open(...stream),
    append: (...event) => ifItWorks(() => inner.append(...event)),
    end: (...stream) => ifItWorks(() => inner.end(...stream)),
    after: (...place) => inner.after(...place),
    find: (...place) => inner.find(...place),
    unfinished: (session) => inner.unfinished(session),
    drop: (session) => inner.drop(session),
  };
  const wire = await openRaw({ state: { events: log } });
  const events = await streaming(wire, 1, [1]);
  await events.next();
  const { id: first } = (await events.next())!;
  await events.cancel();
  state.works = false;
  await wire.server.send(answer(1)).catch(() => {});
  await settled();
  const early = await wire.session.get(first);
  expect([early.status, messages(await new Events(early).rest())]).toEqual([200, []]);
  state.works = true;
  await vi.advanceTimersByTimeAsync(1000);
  const rest = await (await wire.session.events(first)).rest();
  expect(messages(rest)).toMatchObject([{ id: 1, error: { message: expect.stringContaining('could not be stored') } }]);
  expect((await wire.session.get(rest.at(-1)!.id)).status).toBe(204);
});

test('a slow log loses nothing, repeats nothing and keeps the order', async () => {
  const log = logWith((plain) => ({
    append: async (...event) => {
      await settled();
      return plain.append(...event);
    },
  }));
  const { session, server } = await openRaw({ state: { events: log } });
  const started = deferred();
  const sending = (async () => {
    for (let n = 0; n < 50; n += 1) {
      await server.send(numbered(n));
      if (n === 10) started.resolve();
    }
  })();
  await started.promise;
  const got: unknown[] = [];
  let lastId: string | undefined;
  while (got.length < 50) {
    // Reconnects again and again in the middle of events.
    const events = await session.events(lastId);
    for (let count = 0; count < 7 && got.length < 50;) {
      const event = await events.next();
      lastId = event!.id;
      if (!event!.data) continue;
      got.push(JSON.parse(event!.data).params.n);
      count += 1;
    }
    await events.cancel();
  }
  await sending;
  expect(got).toEqual(Array.from({ length: 50 }, (_, n) => n));
});
