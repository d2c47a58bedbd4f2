import { expect, test } from 'vitest';
import { deferred } from '../../../../../test/support/service.ts';
import { SLICE } from '../../../../base/read-turns.ts';
import { type Message, resultResponse } from '../../../../jsonrpc/message.ts';
import { constant } from '../../../../jsonrpc/stringify.ts';
import type { EventLog } from '../../../../store/event-log.ts';
import { memoryEventLog } from '../../../../store/memory.ts';
import { SseConnection } from '../connection.ts';
import { OpenConnections } from '../open-connections.ts';
import { EventStream } from './event-stream.ts';

const text = 'x'.repeat(SLICE);
const note: Message = { jsonrpc: '2.0', method: 'notifications/n', params: { text } };

/** Waits until all pending work is done. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

/** A stream whose log stores only small messages. Nothing gets a turn before `next` is called. */
async function open(log: EventLog = memoryEventLog({ maxBytes: 1000 })) {
  const waiting: (() => void)[] = [];
  const stream = new EventStream({
    log,
    session: 's',
    id: 'a',
    requests: [1, 2, 3],
    ended: false,
    priming: false,
    onerror: () => {},
    onended: () => {},
    whenItsTurn: async (read) => {
      await new Promise<void>((resolve) => void waiting.push(resolve));
      await read();
    },
  });
  const next = (): Promise<void> => {
    waiting.shift()?.();
    return settled();
  };
  const given: unknown[] = [];
  const state = { room: true, kept: 0 };
  const http: ConstructorParameters<typeof SseConnection>[0] = {
    write: (event) => {
      given.push(JSON.parse(/^data: (.+)$/m.exec(event)![1]!));
      return state.room;
    },
    end: () => void given.push('end'),
    destroy: () => {},
    watch: () => {},
    keep: (bytes) => void (state.kept += bytes),
    ondrain: undefined,
    onclose: undefined,
  };
  const connection = new SseConnection(http, new OpenConnections(0, 1000), () => stream.detach(connection));
  stream.attach(connection, undefined);
  await settled();
  const drain = (): Promise<void> => {
    state.room = true;
    http.ondrain?.();
    return settled();
  };
  /** The reader reads nothing more for now. */
  const fill = async (): Promise<void> => {
    state.room = false;
    void stream.send({ jsonrpc: '2.0', method: 'notifications/full' });
    await settled();
    given.length = 0;
  };
  return { stream, given, state, waiting, next, drain, fill };
}

test('a large message is written at once, and its sender waits for a turn', async () => {
  const { stream, given, next } = await open();
  const sent = deferred<string>();
  void stream.send(note).then(() => sent.resolve('sent'));
  await settled();
  expect(given).toEqual([note]);
  expect(await Promise.race([sent.promise, settled()])).toBeUndefined();
  await next();
  expect(await sent.promise).toBe('sent');
});

test('large responses that a slow reader did not get are written in turns', async () => {
  const { stream, given, state, waiting, next, drain, fill } = await open();
  const responses = [1, 2, 3].map((id) => resultResponse(id, { text }));
  await fill();
  for (const response of responses) void stream.send(response);
  stream.end();
  await settled();
  expect(state.kept).toBeGreaterThan(3 * SLICE);
  waiting.length = 0;
  await drain();
  // The log has lost the responses.
  await next();
  for (let count = 0; count < 3; count += 1) {
    expect(given).toEqual(responses.slice(0, count));
    await next();
  }
  expect([given, state.kept]).toEqual([[...responses, 'end'], 0]);
});

test('a response that comes while others wait for their turn is written once', async () => {
  const { stream, given, waiting, next, drain, fill } = await open();
  const [lost, stored] = [resultResponse(1, { text: text.slice(0, 2000) }), resultResponse(2, {})];
  await fill();
  void stream.send(lost);
  await settled();
  waiting.length = 0;
  await drain();
  await next();
  void stream.send(stored);
  await settled();
  for (let count = 0; count < 5; count += 1) await next();
  expect(given).toEqual([stored, lost]);
});

test('a response that is read in the log before the log returns its id is written once', async () => {
  const log = memoryEventLog();
  const confirmed = deferred();
  const append = log.append.bind(log);
  log.append = async (session, stream, message) => {
    const id = await append(session, stream, message);
    if (message && 'result' in message) await confirmed.promise;
    return id;
  };
  const { stream, given, state, next, drain, fill } = await open(log);
  const response = resultResponse(1, {});
  await fill();
  const missed: Message = { jsonrpc: '2.0', method: 'notifications/missed' };
  for (const message of [missed, response]) void stream.send(message);
  await settled();
  await drain();
  for (let count = 0; count < 3; count += 1) await next();
  expect(given).toEqual([missed, response]);
  confirmed.resolve();
  await settled();
  for (let count = 0; count < 5; count += 1) await next();
  expect([given, state.kept]).toEqual([[missed, response], 0]);
});

test('of responses with the same constant result, only what each takes in memory is counted', async () => {
  const { stream, state, next, fill } = await open();
  await fill();
  const list = constant({ text });
  for (const id of [1, 2, 3]) void stream.send(resultResponse(id, list));
  for (let count = 0; count < 5; count += 1) await next();
  expect(state.kept).toBeGreaterThan(0);
  expect(state.kept).toBeLessThan(SLICE);
});

test('a large message is written at once behind a long list that waits for its turn', async () => {
  const { stream, given, next } = await open();
  const list = resultResponse(1, constant({ text }));
  void stream.send(list);
  void stream.send(note);
  await settled();
  expect(given).toEqual([note]);
  await next();
  expect(given).toEqual([note, list]);
});

test.each(['end', 'close'] as const)(
  'a stream ends after the long lists that wait for their turns: %s',
  async (end) => {
    const { stream, given, next } = await open();
    const lists = [1, 2].map((id) => resultResponse(id, constant({ text })));
    for (const list of lists) void stream.send(list);
    void stream[end]();
    await next();
    expect(given).toEqual([lists[0]]);
    await next();
    expect(given).toEqual([...lists, 'end']);
  },
);
