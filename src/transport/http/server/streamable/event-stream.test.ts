import { expect, onTestFinished, test, vi } from 'vitest';
import { logWith } from '../../../../../test/support/event-log.ts';
import { deferred } from '../../../../../test/support/service.ts';
import { ReadTurns } from '../../../../base/read-turns.ts';
import type { Message } from '../../../../jsonrpc/message.ts';
import { resultResponse } from '../../../../jsonrpc/message.ts';
import type { EventId, EventLog, LoggedEvent } from '../../../../store/event-log.ts';
import { memoryEventLog } from '../../../../store/memory.ts';
import { SseConnection } from '../connection.ts';
import { OpenConnections } from '../open-connections.ts';
import { EventStream } from './event-stream.ts';
import { KeptStreams } from './kept-streams.ts';

const note = (n: number): Message => ({ jsonrpc: '2.0', method: 'notifications/n', params: { n } });
/** Waits until all pending work is done. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

const turns = new ReadTurns();
const whenItsTurn = (read: () => Promise<number>): Promise<void> => turns.run('a client', read);

function streamOn(log: EventLog) {
  const errors: Error[] = [];
  const onerror = (error: Error): void => void errors.push(error);
  return {
    errors,
    stream: new EventStream({
      log,
      session: 's',
      id: 'a',
      requests: undefined,
      ended: false,
      priming: false,
      onerror,
      onended: () => {},
      whenItsTurn,
    }),
  };
}

/** A reader that has room or not, and the events that it got. */
function reader(stream: EventStream, after?: EventId) {
  const given: unknown[] = [];
  const state = { room: true, ended: false, kept: 0 };
  const http: ConstructorParameters<typeof SseConnection>[0] = {
    write: (text) => {
      const data = /^data: (.+)$/m.exec(text)?.[1];
      if (data) given.push(JSON.parse(data));
      return state.room;
    },
    end: () => void (state.ended = true),
    destroy: () => void (state.ended = true),
    watch: () => {},
    keep: (bytes) => void (state.kept += bytes),
    ondrain: undefined,
    onclose: undefined,
  };
  const connection = new SseConnection(http, new OpenConnections(0, 1000), () => stream.detach(connection));
  stream.attach(connection, after);
  const drain = (): Promise<void> => {
    state.room = true;
    http.ondrain?.();
    return settled();
  };
  const leave = (): void => http.onclose?.();
  return { given, state, drain, leave };
}

test('a stream that has ended writes nothing to the log', async () => {
  const appended: unknown[] = [];
  const log = logWith((plain) => ({
    append: (session, stream, message) => {
      appended.push(message);
      return plain.append(session, stream, message);
    },
  }));
  const { stream } = streamOn(log);
  await stream.send(note(1));
  await stream.close();
  await stream.send(note(2));
  expect(appended).toEqual([undefined, note(1)]);
});

/** A log that answers one append after the other, when the test lets it. */
function remoteLog() {
  const appends: number[] = [];
  const waiting: (() => void)[] = [];
  const log = logWith((plain) => ({
    open: (session, stream) => plain.append(session, stream, undefined),
    appendAll: async (session, stream, messages) => {
      appends.push(messages.length);
      await new Promise<void>((resolve) => waiting.push(resolve));
      if (messages.some((message) => 'method' in message && message.method === 'refused')) throw new Error('no');
      return Promise.all(messages.map((message) => plain.append(session, stream, message)));
    },
  }));
  const reply = async (): Promise<void> => {
    waiting.shift()?.();
    await settled();
  };
  return { log, appends, reply };
}

test('messages that come during an append are appended together', async () => {
  const { log, appends, reply } = remoteLog();
  const { stream } = streamOn(log);
  const { given } = reader(stream);
  await settled();
  const sent = [1, 2, 3, 4].map((n) => stream.send(note(n)));
  await settled();
  for (const message of [note(5), resultResponse(1, {}), note(6)]) sent.push(stream.send(message));
  await settled();
  expect(appends).toEqual([4]);
  await reply();
  expect(given).toEqual([1, 2, 3, 4].map(note));
  // A response may end the stream.
  expect(appends).toEqual([4, 2]);
  await reply();
  await reply();
  expect(appends).toEqual([4, 2, 1]);
  expect(given).toEqual([...[1, 2, 3, 4, 5].map(note), resultResponse(1, {}), note(6)]);
  await Promise.all(sent);
});

test('few and short messages are appended together', async () => {
  const { log, appends, reply } = remoteLog();
  const { stream } = streamOn(log);
  const text = 'x'.repeat(40_000);
  const large: Message = { jsonrpc: '2.0', method: 'notifications/n', params: { text } };
  const sent = [large, large, ...Array.from({ length: 150 }, (_, n) => note(n))].map((each) => stream.send(each));
  for (let count = 0; count < 4; count += 1) await reply();
  expect(appends).toEqual([1, 100, 51]);
  await Promise.all(sent);
});

test('a connection that comes between two messages gets both once, and a stream that ends gets nothing after it', async () => {
  const { log, appends, reply } = remoteLog();
  const { stream } = streamOn(log);
  const first = reader(stream);
  await settled();
  const sent = [stream.send(note(1)), stream.send(note(2))];
  await settled();
  sent.push(stream.send(note(3)));
  const second = reader(stream);
  sent.push(stream.send(note(4)));
  stream.end();
  sent.push(stream.send(note(5)));
  for (let count = 0; count < 6; count += 1) await reply();
  await Promise.all(sent);
  expect(appends).toEqual([2, 1, 1]);
  expect([...first.given, ...second.given]).toEqual([1, 2, 3, 4].map(note));
  expect(second.state.ended).toBe(true);
});

test('if messages cannot be appended together, each sender is told, the response is sent, and the stream goes on', async () => {
  const { log, reply } = remoteLog();
  const { stream, errors } = streamOn(log);
  const { given } = reader(stream);
  await settled();
  const refused: Message = { jsonrpc: '2.0', method: 'refused' };
  const sent = Promise.allSettled([note(1), refused, resultResponse(1, {}), note(2)].map((each) => stream.send(each)));
  await reply();
  await reply();
  await reply();
  expect((await sent).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled', 'fulfilled']);
  expect(given).toEqual([resultResponse(1, {}), note(2)]);
  expect(errors.map(({ message }) => message)).toEqual(['no', 'no', 'no']);
});

test('the log is read no faster than the reader reads', async () => {
  const { stream } = streamOn(logWith(() => ({})));
  for (let n = 1; n <= 5; n += 1) await stream.send(note(n));
  const { given, state, drain } = reader(stream);
  state.room = false;
  await settled();
  expect(given).toEqual([note(1)]);
  await drain();
  expect(given).toEqual([1, 2, 3, 4, 5].map(note));
});

test('many readers of much read a part in each turn of the event loop', async () => {
  const text = 'x'.repeat(10_000);
  const streams: EventStream[] = [];
  for (let count = 0; count < 20; count += 1) {
    const { stream } = streamOn(memoryEventLog());
    for (let n = 0; n < 50; n += 1)
      await stream.send({ jsonrpc: '2.0', method: 'notifications/n', params: { n, text } });
    streams.push(stream);
  }
  const readers = streams.map((stream) => reader(stream));
  const given = (): number => readers.reduce((sum, each) => sum + each.given.length, 0);
  const perTurn: number[] = [];
  // 10 MB in all.
  while (given() < 1000) {
    const before = given();
    await settled();
    perTurn.push(given() - before);
  }
  expect(Math.max(...perTurn)).toBeLessThan(100);
});

test('a reader gets nothing more after a response has filled it, until it has room', async () => {
  const { stream } = streamOn(memoryEventLog({ maxEvents: 1 }));
  const { given, state, drain } = reader(stream);
  await settled();
  state.room = false;
  void stream.send(note(1));
  await settled();
  // The log drops the response to make room. The stream keeps it for its reader.
  const response = resultResponse(1, {});
  for (const message of [response, note(2)]) void stream.send(message);
  await settled();
  const drained = drain();
  state.room = false;
  await drained;
  // Room for one again, which the remaining event uses.
  const again = drain();
  state.room = false;
  await again;
  expect(given).toContainEqual(response);
  const { length } = given;
  void stream.send(note(3));
  await settled();
  expect(given).toHaveLength(length);
  await drain();
  expect(given.slice(length)).toEqual([note(3)]);
});

test('a response is kept outside the log while its reader is connected', async () => {
  const { stream } = streamOn(memoryEventLog({ maxEvents: 1 }));
  const first = reader(stream);
  await settled();
  first.state.room = false;
  for (const message of [note(1), resultResponse(1, {}), note(2)]) void stream.send(message);
  await settled();
  expect(first.state.kept).toBeGreaterThan(0);
  first.leave();
  const second = reader(stream);
  await settled();
  expect(second.given).toEqual([note(2)]);
});

test('a log that returns an event before its id is known is not polled', async () => {
  let reads = 0;
  const appendReturns = deferred();
  let waits = false;
  const log = logWith((plain) => ({
    append: async (...args) => {
      const id = await plain.append(...args);
      if (waits) await appendReturns.promise;
      return id;
    },
    after: (...args) => {
      if (++reads > 100) throw new Error('it is asked for ever');
      return plain.after(...args);
    },
  }));
  const { stream, errors } = streamOn(log);
  const { given, state, drain } = reader(stream);
  await settled();
  state.room = false;
  void stream.send(note(1));
  void stream.send(note(2));
  await settled();
  waits = true;
  const sent = stream.send(note(3));
  await settled();
  await drain();
  expect([given, errors]).toEqual([[1, 2, 3].map(note), []]);
  appendReturns.resolve();
  await sent;
  await settled();
  expect([given, errors]).toEqual([[1, 2, 3].map(note), []]);
  expect(reads).toBeLessThan(10);
});

test('a reader that was replaced gets no more events', async () => {
  const go = deferred();
  const log = logWith((plain) => ({
    after: async function* after(...args) {
      for await (const event of plain.after(...args)) {
        yield event;
        await go.promise;
      }
    },
  }));
  const { stream } = streamOn(log);
  for (let n = 1; n <= 3; n += 1) await stream.send(note(n));
  const older = reader(stream);
  await settled();
  expect(older.given).toEqual([note(1)]);
  const newer = reader(stream);
  await settled();
  go.resolve();
  await settled();
  expect([older.given, newer.given]).toEqual([[note(1)], [note(2), note(3)]]);
});

/** A stream for request 1 on a log that works or not. */
async function replyStream() {
  const inner = memoryEventLog();
  const state = { works: true, ends: 0, reads: 0 };
  const fail = (): never => {
    throw new Error('the store is gone');
  };
  const log = logWith(
    (plain) => ({
      open: (...args) => inner.open(...args),
      append: async (...args) => (state.works ? plain.append(...args) : fail()),
      end: async (...args) => {
        state.ends += 1;
        await (state.works ? plain.end(...args) : fail());
      },
      after: (...args) => {
        if (++state.reads > 20) throw new Error('it is read for ever');
        return plain.after(...args);
      },
    }),
    inner,
  );
  const errors: string[] = [];
  const onerror = ({ message }: Error): void => void errors.push(message);
  const first = await log.open('s', 'a', [1]);
  const stream = new EventStream({
    log,
    session: 's',
    id: 'a',
    requests: [1],
    ended: false,
    priming: true,
    onerror,
    onended: () => {},
    whenItsTurn,
  });
  /** What a client reads at another process. */
  const events = async (): Promise<readonly LoggedEvent[]> => {
    const found: LoggedEvent[] = [];
    for await (const event of inner.after('s', first)) found.push(event);
    return found;
  };
  const stored = async (): Promise<unknown> => (await events()).map(({ message }) => message);
  const over = async (): Promise<boolean | undefined> => (await inner.find('s', first))?.ended;
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  return { stream, errors, state, events, stored, over };
}

const unstored = {
  jsonrpc: '2.0',
  id: 1,
  error: { code: -32603, message: 'The request was done, but its response could not be stored, so it is lost' },
};

test('a response that was not stored fails the request for those who read the log', async () => {
  const { stream, errors, state, stored, over } = await replyStream();
  await stream.send(note(1));
  state.works = false;
  const { given } = reader(stream);
  void stream.send(resultResponse(1, {}));
  stream.end();
  await settled();
  await vi.advanceTimersByTimeAsync(2000);
  expect([await stored(), await over(), stream.done]).toEqual([[note(1)], false, false]);
  state.works = true;
  // After one second, and after two more.
  await vi.advanceTimersByTimeAsync(1000);
  expect([await stored(), await over(), stream.done]).toEqual([[note(1), unstored], true, true]);
  // The append, and the end once.
  expect(errors).toEqual(['the store is gone', 'the store is gone']);
  expect(given).toEqual([note(1), resultResponse(1, {})]);
});

test('a stream whose end was not stored ends in the log later, without an error for the client', async () => {
  const { stream, state, stored, over } = await replyStream();
  await stream.send(note(1));
  state.works = false;
  // The request was cancelled.
  stream.end();
  await settled();
  state.works = true;
  await vi.advanceTimersByTimeAsync(1000);
  expect([await stored(), await over()]).toEqual([[note(1)], true]);
});

test('a stream with all responses in the log is not ended there once more', async () => {
  const { stream, state, over } = await replyStream();
  await stream.send(note(1));
  await stream.send(resultResponse(1, {}));
  stream.end();
  await settled();
  expect([state.ends, await over(), stream.done]).toEqual([0, true, true]);
});

test('a stream of a session that is closed does not end in the log', async () => {
  const { stream, state } = await replyStream();
  state.works = false;
  stream.end();
  await settled();
  await stream.close();
  await vi.advanceTimersByTimeAsync(5000);
  expect([state.ends, vi.getTimerCount()]).toEqual([1, 0]);
});

test('a log that does not come back is asked less and less, and then no more', async () => {
  const { stream, state } = await replyStream();
  state.works = false;
  stream.end();
  await settled();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(state.ends).toBe(6);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect([state.ends, stream.done, vi.getTimerCount()]).toEqual([10, true, 0]);
});

test('a stream is kept until it has ended and nobody reads it', async () => {
  const streams = new KeptStreams();
  const log = memoryEventLog();
  const options = { log, session: 's', requests: [1], ended: false, priming: false, onerror: () => {}, whenItsTurn };
  const read = streams.open({ ...options, id: 'read' });
  const { state, leave } = reader(read);
  const unread = streams.open({ ...options, id: 'unread' });
  for (const stream of [read, unread]) await stream.send(note(1));
  state.room = false;
  void read.send(note(2));
  for (const stream of [read, unread]) stream.end();
  await settled();
  expect([streams.get('read'), streams.get('unread')]).toEqual([read, undefined]);
  leave();
  expect(streams.get('read')).toBeUndefined();
});

test('of the streams whose end was not stored, few are kept', async () => {
  const ends = { asked: 0 };
  const log = logWith(() => ({
    end: async () => {
      ends.asked += 1;
      throw new Error('the store is gone');
    },
  }));
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const streams = new KeptStreams();
  const options = { log, session: 's', requests: [1], ended: false, priming: false, onerror: () => {}, whenItsTurn };
  for (let n = 0; n < 1000; n += 1) {
    streams.open({ ...options, id: `${n}` }).end();
    await settled();
  }
  ends.asked = 0;
  await vi.advanceTimersByTimeAsync(1000);
  expect(streams.get('0')).toBeUndefined();
  expect(streams.get('999')).toBeDefined();
  expect(ends.asked).toBeLessThan(300);
});

test('a reader is let go if another process has ended the stream', async () => {
  let reads = 0;
  const log = logWith((plain) => ({
    after: (...args) => {
      if (++reads > 100) throw new Error('it is asked for ever');
      return plain.after(...args);
    },
  }));
  const { stream, errors } = streamOn(log);
  await stream.send(note(1));
  const last = await log.append('s', 'a', note(2));
  const { given, state } = reader(stream, last);
  await settled();
  expect([given, state.ended, errors]).toEqual([[], true, []]);
  expect(reads).toBeLessThan(10);
});

test('a slow reader gets the response that was not stored, and not the error', async () => {
  const { stream, errors, state, stored } = await replyStream();
  const { given, state: connection, drain } = reader(stream);
  await settled();
  connection.room = false;
  for (const n of [1, 2]) await Promise.race([stream.send(note(n)), settled()]);
  state.works = false;
  void stream.send(resultResponse(1, {}));
  stream.end();
  await settled();
  state.works = true;
  await vi.advanceTimersByTimeAsync(1000);
  expect(await stored()).toEqual([note(1), note(2), unstored]);
  await drain();
  expect(given).toEqual([note(1), note(2), resultResponse(1, {})]);
  expect([connection.ended, errors]).toEqual([true, ['the store is gone', 'the store is gone']]);
});

test('a connection ends if its client has the error of a response that was not stored', async () => {
  const { stream, state, events, errors } = await replyStream();
  state.works = false;
  void stream.send(resultResponse(1, {}));
  stream.end();
  await settled();
  state.works = true;
  await vi.advanceTimersByTimeAsync(1000);
  errors.length = 0;
  const { given, state: connection } = reader(stream, (await events()).at(-1)!.id);
  await settled();
  expect([given, connection.ended, errors]).toEqual([[], true, []]);
});
