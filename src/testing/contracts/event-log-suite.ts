import assert from 'node:assert/strict';
import { errorResponse, notification, resultResponse } from '../../jsonrpc/message.ts';
import { EventsPurged, type EventId, type EventLog, type LoggedEvent, type SessionId } from '../../store/event-log.ts';

/** The limits that a test case requires of its log. Defaults should be large: 1 MiB, 1 000 events, one minute. */
export interface EventLogBounds {
  /** How many bytes of messages one session may keep. */
  readonly maxBytes?: number;
  /** How many events one session may keep, over all its streams. */
  readonly maxEvents?: number;
  /** How long an event is kept, in milliseconds. */
  readonly maxAge?: number;
  /** The clock for event ages, in milliseconds. */
  readonly now?: () => number;
}

/** One case of a suite, for any test runner: `for (const { name, run } of suite) test(name, run)`. */
export interface SuiteCase {
  readonly name: string;
  /** Resolves if the case passes; rejects with an AssertionError if it fails. */
  readonly run: () => Promise<void>;
}

/**
 * Test cases for every `EventLog`.
 *
 * @param open opens an empty log with the given limits. Called once per case. Closing it is up to the caller.
 */
export function eventLogSuite(open: (bounds: EventLogBounds) => EventLog | Promise<EventLog>): SuiteCase[] {
  const cases: SuiteCase[] = [];
  const define = (name: string, bounds: EventLogBounds, run: (log: EventLog) => Promise<void>): void => {
    cases.push({ name, run: async () => run(await open(bounds)) });
  };

  define('events are returned in the order in which they were appended', {}, async (log) => {
    const first = await append(log, 's', 'a', 'one');
    await append(log, 's', 'a', 'two');
    await append(log, 's', 'a', 'three');
    assert.deepEqual(await methods(log, 's', first), ['two', 'three']);
  });

  define('an event is returned with its id and its message unchanged, with any content', {}, async (log) => {
    const message = notification('n', { text: 'line\nbreak \u2028 ünï 😀 \0', deep: [{ null: null }, [], 1.5, true] });
    const first = await append(log, 's', 'a', 'one');
    const id = await log.append('s', 'a', message);
    assert.deepEqual(await events(log, 's', first), [{ id, message }]);
  });

  define('an event may have no message', {}, async (log) => {
    const first = await log.append('s', 'a', undefined);
    const second = await log.append('s', 'a', undefined);
    assert.deepEqual(await events(log, 's', first), [{ id: second, message: undefined }]);
  });

  define('ids are visible ASCII and unique in the session', {}, async (log) => {
    const ids = new Set<EventId>();
    for (let n = 0; n < 20; n++) {
      for (const stream of ['a', 'b', 'a1', 'A']) ids.add(await append(log, 's', stream, 'm'));
    }
    assert.equal(ids.size, 80);
    for (const id of ids) assert.match(id, /^[\x21-\x7e]+$/);
  });

  define('the stream of an id can be found', {}, async (log) => {
    for (const stream of ['a', 'b1', '1', 'Zz9']) {
      assert.equal(await streamOf(log, 's', await append(log, 's', stream, 'm')), stream);
    }
  });

  define('a stream is opened with an event without a message', {}, async (log) => {
    const opened = await log.open('s', 'a');
    const before = await log.append('s', 'b', undefined);
    await log.open('s', 'b');
    assert.deepEqual(await events(log, 's', before), []);
    await append(log, 's', 'a', 'one');
    assert.deepEqual(await methods(log, 's', opened), ['one']);
  });

  define('a stream that is opened again goes on after its newest event', {}, async (log) => {
    const first = await log.open('s', 'a', [1]);
    const newest = await append(log, 's', 'a', 'one');
    assert.equal(await log.open('s', 'a'), newest);
    await append(log, 's', 'a', 'two');
    assert.deepEqual(await methods(log, 's', first), ['one', 'two']);
    assert.deepEqual(await log.unfinished('s'), [{ stream: 'a', requests: [1] }]);
  });

  define('a stream ends with the last response to its requests', {}, async (log) => {
    const id = await log.open('s', 'a', [1, '1']);
    await log.open('s', 'b', [2]);
    await log.open('s', 'c');
    await append(log, 's', 'a', 'm');
    await log.append('s', 'a', resultResponse(1, {}));
    assert.deepEqual(await log.find('s', id), { stream: 'a', ended: false });
    const unanswered = [
      { stream: 'a', requests: ['1'] },
      { stream: 'b', requests: [2] },
    ];
    const found = [...(await log.unfinished('s'))].toSorted((a, b) => (a.stream < b.stream ? -1 : 1));
    assert.deepEqual(found, unanswered);
    await log.append('s', 'a', errorResponse('1', { code: 1, message: 'no' }));
    assert.deepEqual(await log.find('s', id), { stream: 'a', ended: true });
    assert.deepEqual(await log.unfinished('s'), [{ stream: 'b', requests: [2] }]);
    assert.deepEqual(await log.unfinished('t'), []);
  });

  define('a stream can be ended without the responses', {}, async (log) => {
    const id = await log.open('s', 'a', [1]);
    const other = await log.open('s', 'b');
    for (const stream of ['a', 'b', 'never seen']) await log.end('s', stream);
    await log.end('never seen', 'a');
    assert.deepEqual(await log.find('s', id), { stream: 'a', ended: true });
    assert.deepEqual(await log.find('s', other), { stream: 'b', ended: true });
    assert.deepEqual(await log.unfinished('s'), []);
    assert.deepEqual(await events(log, 's', id), []);
  });

  define('a stream can be ended with an error for each request without a response', {}, async (log) => {
    const id = await log.open('s', 'a', [1, '1', 'two "quotes"']);
    const other = await log.open('s', 'b');
    const answer = resultResponse(1, {});
    await log.append('s', 'a', answer);
    const failure = { code: -32_000, message: 'ünï "gone"', data: { deep: [null] } };
    for (const stream of ['a', 'b', 'a', 'never seen']) await log.end('s', stream, failure);
    await log.end('never seen', 'a', failure);
    const messages = (await events(log, 's', id)).map(({ message }) => message);
    assert.deepEqual(messages, [answer, errorResponse('1', failure), errorResponse('two "quotes"', failure)]);
    assert.deepEqual(await log.find('s', id), { stream: 'a', ended: true });
    assert.deepEqual(await log.find('s', other), { stream: 'b', ended: true });
    assert.deepEqual(await events(log, 's', other), []);
    assert.deepEqual(await log.unfinished('s'), []);
  });

  define('only events of the stream of the id are returned', {}, async (log) => {
    const first = await append(log, 's', 'a', 'one');
    await append(log, 's', 'b', 'other');
    await append(log, 's', 'a', 'two');
    assert.deepEqual(await methods(log, 's', first), ['two']);
  });

  define('there are no events after the newest id of a stream', {}, async (log) => {
    await append(log, 's', 'a', 'one');
    const newest = await append(log, 's', 'a', 'two');
    assert.deepEqual(await methods(log, 's', newest), []);
  });

  define('events that are appended after the call are not returned', {}, async (log) => {
    const first = await append(log, 's', 'a', 'one');
    await append(log, 's', 'a', 'two');
    const iteration = log.after('s', first)[Symbol.asyncIterator]();
    assert.equal((await iteration.next()).value?.message?.method, 'two');
    await append(log, 's', 'a', 'three');
    assert.equal((await iteration.next()).done, true);
  });

  define('concurrent appends to several streams keep the order of each stream', {}, async (log) => {
    const streams = ['a', 'b', 'c', 'd'];
    const starts = await Promise.all(streams.map((stream) => append(log, 's', stream, 'start')));
    await Promise.all(
      streams.map(async (stream) => {
        for (let n = 0; n < 25; n++) await append(log, 's', stream, `${stream}${n}`);
      }),
    );
    for (const [index, stream] of streams.entries()) {
      const expected = Array.from({ length: 25 }, (_, n) => `${stream}${n}`);
      assert.deepEqual(await methods(log, 's', starts[index]!), expected);
    }
  });

  define('events that are appended together keep their order, and the last can end the stream', {}, async (log) => {
    if (!log.appendAll) return;
    const opened = await log.open('s', 'a', [1]);
    await append(log, 's', 'b', 'other');
    const messages = [notification('one', { text: 'ünï' }), notification('two'), resultResponse(1, {})];
    const ids = await log.appendAll('s', 'a', messages);
    const appended = messages.map((message, index) => ({ id: ids[index], message }));
    assert.deepEqual(await events(log, 's', opened), appended);
    assert.deepEqual(await events(log, 's', ids[1]!), appended.slice(2));
    assert.deepEqual(await log.find('s', opened), { stream: 'a', ended: true });
    await assert.rejects(log.appendAll('s', 'a', [notification('three'), notification('four')]));
    assert.deepEqual(await events(log, 's', opened), appended);
  });

  define('of events that are appended together, one that is too large is lost', { maxBytes: 1000 }, async (log) => {
    if (!log.appendAll) return;
    const opened = await log.open('s', 'a');
    const huge = notification('two', { text: 'x'.repeat(2000) });
    const ids = await log.appendAll('s', 'a', [notification('one'), huge, notification('three')]);
    assert.deepEqual(await methods(log, 's', ids[1]!), ['three']);
    await assert.rejects(methods(log, 's', ids[0]!), EventsPurged);
    assert.deepEqual(await methods(log, 's', opened), ['one']);
  });

  define('an id of one session is unknown in another session', {}, async (log) => {
    const id = await append(log, 's', 'a', 'one');
    await append(log, 's', 'a', 'two');
    assert.equal(await streamOf(log, 't', id), undefined);
    await assert.rejects(methods(log, 't', id), EventsPurged);
    await append(log, 't', 'b', 'other');
    assert.equal(await streamOf(log, 't', id), undefined);
    await assert.rejects(methods(log, 't', id), EventsPurged);
  });

  define('streams with the same name in two sessions are separate', {}, async (log) => {
    const first = await append(log, 's', 'a', 'one');
    const other = await append(log, 't', 'a', 'one');
    await append(log, 's', 'a', 'for s');
    await append(log, 't', 'a', 'for t');
    assert.deepEqual(await methods(log, 's', first), ['for s']);
    assert.deepEqual(await methods(log, 't', other), ['for t']);
  });

  define('an id that was never issued is refused', {}, async (log) => {
    const id = await append(log, 's', 'a', 'one');
    const forged = ['', '-', 'a', 'a-', '-1', 'a-0', 'a-99', 'a--1', 'a-1e0', 'b-1', `${id} `, `0${id}`, `${id}.0`];
    for (const wrong of [...forged, '__proto__', 'constructor-1', '\0', 'x'.repeat(10_000)]) {
      if (wrong === id) continue;
      assert.equal(await streamOf(log, 's', wrong), undefined, `streamOf(${JSON.stringify(wrong.slice(0, 20))})`);
      await assert.rejects(methods(log, 's', wrong), EventsPurged);
    }
  });

  define('dropping a session removes its events, and not those of others', {}, async (log) => {
    const id = await append(log, 's', 'a', 'one');
    const other = await append(log, 't', 'a', 'one');
    await log.drop('s');
    await log.drop('never seen');
    assert.equal(await streamOf(log, 's', id), undefined);
    await assert.rejects(methods(log, 's', id), EventsPurged);
    assert.deepEqual(await methods(log, 't', other), []);
  });

  define(
    'above the maximum number of events, the oldest are dropped, and a reader that missed some gets an error',
    { maxEvents: 3 },
    async (log) => {
      const ids: EventId[] = [];
      for (const method of ['one', 'two', 'three', 'four', 'five']) ids.push(await append(log, 's', 'a', method));
      await assert.rejects(methods(log, 's', ids[0]!), EventsPurged);
      // 'two' itself was dropped, but no event after it.
      assert.deepEqual(await methods(log, 's', ids[1]!), ['three', 'four', 'five']);
      assert.deepEqual(await methods(log, 's', ids[4]!), []);
    },
  );

  define('the maximum number of events counts all streams of a session', { maxEvents: 3 }, async (log) => {
    const quiet = await append(log, 's', 'quiet', 'one');
    await append(log, 's', 'quiet', 'two');
    for (let n = 0; n < 3; n++) await append(log, 's', 'busy', 'm');
    await assert.rejects(methods(log, 's', quiet), EventsPurged);
  });

  define('the newest id of a stream stays valid when its events are dropped', { maxEvents: 2 }, async (log) => {
    const newest = await append(log, 's', 'quiet', 'one');
    for (let n = 0; n < 5; n++) await append(log, 's', 'busy', 'm');
    assert.equal(await streamOf(log, 's', newest), 'quiet');
    assert.deepEqual(await methods(log, 's', newest), []);
    await append(log, 's', 'quiet', 'two');
    assert.deepEqual(await methods(log, 's', newest), ['two']);
  });

  define('each session has its own limits', { maxEvents: 2 }, async (log) => {
    const first = await append(log, 's', 'a', 'one');
    await append(log, 's', 'a', 'two');
    for (let n = 0; n < 10; n++) await append(log, 't', 'a', 'm');
    assert.deepEqual(await methods(log, 's', first), ['two']);
  });

  define(
    'above the maximum size, the oldest events are dropped, and a reader that missed some gets an error',
    { maxBytes: 10_000 },
    async (log) => {
      const ids: EventId[] = [];
      for (let n = 0; n < 20; n++) ids.push(await append(log, 's', 'a', `m${n}`, { text: 'x'.repeat(1000) }));
      await assert.rejects(methods(log, 's', ids[5]!), EventsPurged);
      assert.deepEqual(await methods(log, 's', ids[15]!), ['m16', 'm17', 'm18', 'm19']);
    },
  );

  define(
    'a message larger than the maximum size is not stored, and a reader that missed it gets an error',
    { maxBytes: 1000 },
    async (log) => {
      const before = await append(log, 's', 'a', 'one');
      const huge = await append(log, 's', 'a', 'two', { list: [{ text: 'x'.repeat(2000) }] });
      await assert.rejects(methods(log, 's', before), EventsPurged);
      assert.deepEqual(await methods(log, 's', huge), []);
    },
  );

  const clock = { now: 0 };
  define(
    'events older than the maximum age are dropped, and a reader that missed some gets an error',
    { maxAge: 100, now: () => clock.now },
    async (log) => {
      const first = await append(log, 's', 'a', 'one');
      clock.now += 60;
      const second = await append(log, 's', 'a', 'two');
      assert.deepEqual(await methods(log, 's', first), ['two']);
      clock.now += 60;
      assert.deepEqual(await methods(log, 's', first), ['two']);
      clock.now += 60;
      await assert.rejects(methods(log, 's', first), EventsPurged);
      assert.deepEqual(await methods(log, 's', second), []);
      const third = await append(log, 's', 'a', 'three');
      assert.notEqual(third, first);
      assert.deepEqual(await methods(log, 's', second), ['three']);
    },
  );

  return cases;
}

function append(log: EventLog, session: SessionId, stream: string, method: string, params?: object): Promise<EventId> {
  return log.append(session, stream, notification(method, params));
}

async function streamOf(log: EventLog, session: SessionId, id: EventId): Promise<string | undefined> {
  return (await log.find(session, id))?.stream;
}

async function events(log: EventLog, session: SessionId, id: EventId): Promise<LoggedEvent[]> {
  const found: LoggedEvent[] = [];
  for await (const event of log.after(session, id)) found.push(event);
  return found;
}

async function methods(log: EventLog, session: SessionId, id: EventId): Promise<unknown[]> {
  return (await events(log, session, id)).map(({ message }) => message && 'method' in message && message.method);
}
