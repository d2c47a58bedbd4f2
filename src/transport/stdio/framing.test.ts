import { describe, expect, test } from 'vitest';
import {
  errorResponse,
  isRequest,
  notification,
  request,
  resultResponse,
  type Message,
  type RequestId,
} from '../../jsonrpc/message.ts';
import { COUNTED_FROM, receiveBudget } from '../../base/receive-budget.ts';
import { Framing } from './framing.ts';

/** The framing of one connection, and its output in order. */
class Bench {
  readonly framing: Framing;
  readonly delivered: Message[] = [];
  readonly answered: any[] = [];
  readonly reported: string[] = [];
  readonly lost: string[] = [];
  onmessage: (message: Message) => void = () => {};

  constructor(options: { answerInvalid?: boolean; maxMessageBytes?: number; revision?: string } = {}) {
    this.framing = new Framing(
      {
        deliver: (message) => {
          this.delivered.push(message);
          this.onmessage(message);
        },
        answer: (json) => this.answered.push(JSON.parse(json)),
        report: (error) => this.reported.push(error.message),
        lost: (error) => this.lost.push(error.message),
      },
      { answerInvalid: options.answerInvalid ?? true, maxMessageBytes: options.maxMessageBytes ?? 100_000 },
    );
    if (options.revision !== undefined) this.framing.setProtocolVersion(options.revision);
  }

  push(...values: unknown[]): void {
    for (const value of values)
      this.framing.push(Buffer.from(`${typeof value === 'string' ? value : JSON.stringify(value)}\n`));
  }

  /** The line that is written for a message. */
  send(message: Message): any {
    const line = this.framing.encode(message);
    return line === undefined ? undefined : JSON.parse(line);
  }
}

const refused = (message: unknown, id?: RequestId) => errorResponse(id, { code: -32600, message: message as string });
const cancelled = (requestId: RequestId) => notification('notifications/cancelled', { requestId });

describe('a line that is not a message', () => {
  test('is answered with −32700 and no id if it is not JSON', () => {
    const bench = new Bench();
    bench.push('hello', '{"jsonrpc":"2.0","id":1,', '{"jsonrpc":"2.0","id":2,"method":"a"}');
    bench.framing.push(Buffer.from([0x22, 0xff, 0x22, 10]));
    expect(bench.answered.map(({ error, ...rest }) => ({ code: error.code, ...rest }))).toEqual(
      Array.from({ length: 3 }, () => ({ code: -32700, jsonrpc: '2.0' })),
    );
    expect(bench.answered[2].error.message).toBe('Parse error: not valid UTF-8');
    expect(bench.delivered).toEqual([request(2, 'a')]);
    expect(bench.reported).toHaveLength(3);
  });

  test('is answered with −32600 and its id, if the id is readable and not in flight', () => {
    const bench = new Bench();
    bench.push({ jsonrpc: '1.0', id: 7, method: 'a' }, { jsonrpc: '2.0', id: {}, method: 'a' }, '5', 'null', '"text"');
    expect(bench.answered.map(({ id, error }) => [id, error.code])).toEqual([
      [7, -32600],
      ...Array.from({ length: 4 }, () => [undefined, -32600]),
    ]);
    bench.push(request(1, 'a'), { jsonrpc: '2.0', id: 1, method: 5 });
    expect(bench.answered.at(-1)).toEqual(refused('Invalid request: "method" must be a string'));
    expect(bench.delivered).toEqual([request(1, 'a')]);
  });

  test('is only reported by a client', () => {
    const bench = new Bench({ answerInvalid: false });
    bench.push('Listening on port 3000', { jsonrpc: '2.0' }, [], notification('n'));
    expect(bench.answered).toEqual([]);
    expect(bench.reported).toHaveLength(3);
    expect(bench.reported[0]).toContain('Listening');
    expect(bench.delivered).toEqual([notification('n')]);
  });

  test('is answered by a client with the id of a request, unless a request in flight has that id', () => {
    const bench = new Bench({ answerInvalid: false, revision: '2025-11-25' });
    const params = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'elicitation/create', params: 'str' });
    const why = 'Invalid request: "params" must be an object';
    bench.push(params('s1'), { jsonrpc: '1.0', id: 2, method: 'ping' }, params(1.5), params(undefined));
    expect(bench.answered).toEqual([refused(why, 's1'), refused('Invalid request: "jsonrpc" must be "2.0"', 2)]);
    bench.push(request(3, 'ping'), params(3));
    expect(bench.answered).toHaveLength(2);
    expect(bench.reported).toHaveLength(5);
    expect(bench.send(resultResponse(3, {}))).toEqual(resultResponse(3, {}));
    bench.push(params(3));
    expect(bench.answered.at(-1)).toEqual(refused(why, 3));
  });

  test('fails the request for which it is a malformed response, and is not answered', () => {
    const bench = new Bench();
    bench.push(
      { jsonrpc: '2.0', id: 3, result: 'text' },
      { jsonrpc: '2.0', result: {} },
      { jsonrpc: '2.0', id: 'x', error: 'text' },
    );
    expect(bench.answered).toEqual([]);
    expect(bench.delivered).toEqual([
      refused('Invalid response: "result" must be an object', 3),
      refused('Invalid response: "error" must have an integer "code" and a string "message"', 'x'),
    ]);
    expect(bench.reported).toHaveLength(3);
  });

  test('that is too long is answered and skipped by a server', () => {
    const long = request(1, 'x'.repeat(200));
    const server = new Bench({ maxMessageBytes: 100 });
    server.push(long, request(2, 'ok'));
    expect(server.answered).toEqual([refused('Invalid request: a message may have at most 100 bytes')]);
    expect(server.delivered).toEqual([request(2, 'ok')]);
  });

  test.each([true, false])(
    'that is too long fails its request if it is a response (id before the result: %s)',
    (before) => {
      const client = new Bench({ maxMessageBytes: 100, answerInvalid: false });
      const result = { text: 'x'.repeat(200) };
      client.push(
        before ? { jsonrpc: '2.0', id: 1, result } : { result, jsonrpc: '2.0', id: 1 },
        resultResponse(2, {}),
      );
      const why = 'Invalid response: a message may have at most 100 bytes';
      expect(client.delivered).toEqual([refused(why, 1), resultResponse(2, {})]);
      expect([client.reported, client.lost, client.answered]).toEqual([[why], [], []]);
    },
  );

  test('that never ends closes the connection', () => {
    const client = new Bench({ maxMessageBytes: 100, answerInvalid: false });
    const { framing } = client;
    for (let n = 0; n < 6; n += 1) framing.push(Buffer.from('x'.repeat(100)));
    expect(client.lost).toEqual([]);
    framing.push(Buffer.from('x'.repeat(100)));
    expect(client.lost).toEqual(['Invalid request: a message may have at most 100 bytes']);
  });

  test('that is too long and is not a response: a client reports it, and refuses it if it is a request', () => {
    const client = new Bench({ maxMessageBytes: 100, answerInvalid: false });
    const long = 'x'.repeat(200);
    client.push(long, notification(long), request(1, long), notification('n'));
    expect(client.delivered).toEqual([notification('n')]);
    expect(client.reported).toHaveLength(3);
    expect(client.answered).toEqual([refused('Invalid request: a message may have at most 100 bytes', 1)]);
    expect(client.lost).toEqual([]);
  });

  test.each([
    ['an answer without an id', { jsonrpc: '2.0', error: { code: 1, message: 'x'.repeat(200) } }],
    ['a batch', [resultResponse(1, { text: 'x'.repeat(200) })]],
  ])('that is too long and may be any response closes the connection of a client: %s', (_, line) => {
    const client = new Bench({ maxMessageBytes: 100, answerInvalid: false });
    client.push(line);
    expect(client.lost).toEqual(['Invalid request: a message may have at most 100 bytes']);
    expect([client.delivered, client.answered]).toEqual([[], []]);
  });

  test('includes a message with too many levels', () => {
    const bench = new Bench();
    const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;
    bench.push('['.repeat(50_000), `{"jsonrpc":"2.0","id":1,"method":"a","params":{"p":${deep}}}`);
    expect(bench.answered).toMatchObject([{ error: { code: -32700 } }, { id: 1, error: { code: -32600 } }]);
    expect(bench.delivered).toEqual([]);
    // The sender of the request learns that there is no response.
    bench.push(`{"jsonrpc":"2.0","id":2,"result":{"a":${deep}}}`);
    expect(bench.delivered).toMatchObject([{ id: 2, error: { code: -32600 } }]);
  });
});

describe('lines that are not messages', () => {
  const push = (bench: Bench, line: unknown): boolean => bench.framing.push(Buffer.from(`${JSON.stringify(line)}\n`));

  test.each([1, {}, [], [{}]])('from a server are noticed, reported 100 times, and counted up to 1,000: %j', (line) => {
    const client = new Bench({ answerInvalid: false, revision: '2025-03-26' });
    for (const message of [notification('n'), [notification('n'), {}]]) {
      for (let n = 0; n < 999; n += 1) expect(push(client, line)).toBe(true);
      expect([push(client, message), client.lost]).toEqual([false, []]);
    }
    expect(client.reported).toHaveLength(101);
    for (let n = 0; n < 999; n += 1) push(client, line);
    expect(client.lost).toEqual([]);
    push(client, line);
    expect(client.lost).toEqual(['The server does not speak MCP: 1000 lines in a row were not messages']);
  });

  test('from a client are all answered and reported', () => {
    const server = new Bench();
    for (let n = 0; n < 1000; n += 1) expect(push(server, 1)).toBe(true);
    expect([server.answered.length, server.reported.length, server.lost]).toEqual([1000, 1000, []]);
  });
});

describe('an id', () => {
  test('that is in flight is refused without an id, and the first request is answered', () => {
    const bench = new Bench();
    bench.push(request(1, 'first'), request('1', 'another'), request(1, 'second'));
    expect(bench.delivered).toEqual([request(1, 'first'), request('1', 'another')]);
    expect(bench.answered).toEqual([refused('Invalid request: id 1 is still in use')]);
    expect(bench.reported).toEqual(['Invalid request: id 1 is still in use']);
    expect(bench.send(resultResponse(1, {}))).toEqual(resultResponse(1, {}));
    bench.push(request(1, 'third'));
    expect(bench.delivered.at(-1)).toEqual(request(1, 'third'));
  });

  test('can be used again when its request is cancelled', () => {
    const bench = new Bench();
    bench.push(request(1, 'first'), cancelled(1), request(1, 'second'));
    expect(bench.delivered).toEqual([request(1, 'first'), cancelled(1), request(1, 'second')]);
  });
});

test.each([
  ['before negotiation', undefined, 0],
  ['in 2026-07-28', '2026-07-28', 0],
  ['in 2025-11-25', '2025-11-25', 1000],
])('a client remembers the requests of a server only if it answers them: %s', (_, revision, expected) => {
  const bench = new Bench({ answerInvalid: false, ...(revision && { revision }) });
  for (let id = 0; id < 1000; id += 1) bench.push(request(id, 'roots/list'));
  expect([bench.delivered.length, bench.framing.inFlight.size]).toEqual([1000, expected]);
});

test('a connection whose unfinished line was dropped for others is lost', () => {
  const bench = new Bench({ maxMessageBytes: receiveBudget.limit + COUNTED_FROM });
  bench.framing.push(Buffer.alloc(COUNTED_FROM, 'x'));
  const other = { held: 0, cutOff: () => {} };
  receiveBudget.hold(other, receiveBudget.limit);
  receiveBudget.hold(other, 0);
  expect(bench.lost).toEqual([expect.stringContaining('There is no room for the message')]);
});

test('after stop, nothing is delivered, answered or reported, not even from the same chunk', () => {
  const bench = new Bench();
  bench.onmessage = () => bench.framing.stop();
  const lines = [notification('n'), 'rubbish', request(1, 'a'), 'x'.repeat(100_001)];
  bench.framing.push(Buffer.from(lines.map((line) => `${JSON.stringify(line)}\n`).join('')));
  bench.push(request(2, 'a'), [notification('n')]);
  expect([bench.delivered, bench.answered, bench.reported]).toEqual([[notification('n')], [], []]);
  expect(bench.framing.inFlight.size).toBe(0);
});

describe('after stop, nothing more is sent', () => {
  type SinkMethod = 'deliver' | 'answer' | 'report' | 'lost';
  const tooLong = 'x'.repeat(1001);
  const two = [notification('n'), notification('n')];

  test.each<[string, boolean, unknown[], SinkMethod, SinkMethod[]]>([
    ['for an answered line', true, ['rubbish'], 'answer', ['answer']],
    ['for a reported line', true, ['rubbish', 'rubbish'], 'report', ['answer', 'report']],
    ['for a line that is too long', true, [tooLong, tooLong], 'answer', ['answer']],
    ['for a lost line', false, [{ error: tooLong }, { error: tooLong }], 'lost', ['lost']],
    ['for a response that is too long', false, [{ id: 1, result: tooLong }], 'report', ['report']],
    ['for a line that is too long after a message', false, [notification('n'), tooLong], 'deliver', ['deliver']],
    ['for an id in use', true, [request(1, 'a'), request(1, 'a')], 'answer', ['deliver', 'answer']],
    ['for a malformed response', false, [{ jsonrpc: '2.0', id: 1, result: 5 }], 'report', ['report']],
    ['for a batch', true, [two], 'deliver', ['deliver']],
    ['for the rest of a batch', true, [[request(1, 'a'), 5], cancelled(1)], 'deliver', ['deliver']],
  ])('%s', (_, server, values, last, expected) => {
    const calls: SinkMethod[] = [];
    const note = (what: SinkMethod) => (): void => {
      calls.push(what);
      if (what === last) framing.stop();
    };
    const sink = { deliver: note('deliver'), answer: note('answer'), report: note('report'), lost: note('lost') };
    const framing: Framing = new Framing(sink, { answerInvalid: server, maxMessageBytes: 1000 });
    framing.setProtocolVersion('2025-03-26');
    const text = values.map((value) => (typeof value === 'string' ? value : JSON.stringify(value)));
    framing.push(Buffer.from(`${text.join('\n')}\n{"jsonrpc":"2.0","method":"last"}\n`));
    expect(calls.filter((each) => each !== 'report' || last !== 'deliver')).toEqual(expected);
  });
});

test('says whether bytes complete a message of more than 16 KiB, unless it is stopped', () => {
  const bench = new Bench();
  const end = Buffer.from('\n');
  bench.framing.push(Buffer.alloc(16 * 1024, 'x'));
  const atLimit = bench.framing.completesLarge(end);
  bench.framing.push(Buffer.from('x'));
  expect([atLimit, bench.framing.completesLarge(end)]).toEqual([false, true]);
  bench.framing.stop();
  expect(bench.framing.completesLarge(end)).toBe(false);
});

test('each message is delivered with its size', () => {
  const sizes: number[] = [];
  const deliver = (_: Message, bytes: number): void => void sizes.push(bytes);
  const rest = { answer: () => {}, report: () => {}, lost: () => {} };
  const framing = new Framing({ deliver, ...rest }, { answerInvalid: true, maxMessageBytes: 1000 });
  framing.setProtocolVersion('2025-03-26');
  const line = JSON.stringify(notification('n'));
  const batch = JSON.stringify([notification('n'), notification('n')]);
  framing.push(Buffer.from(`${batch}\n${line}\n`));
  expect(sizes).toEqual([batch.length / 2, batch.length / 2, line.length]);
});

test('a possible response fails the request of a client, and is refused by a server', () => {
  const neither = { jsonrpc: '2.0', id: 7 };
  const client = new Bench({ answerInvalid: false });
  client.push(neither);
  expect([client.delivered, client.answered]).toEqual([[refused(expect.stringContaining('Invalid response'), 7)], []]);
  expect(client.reported).toEqual([expect.stringContaining('needs a "method"')]);
  const server = new Bench();
  server.push(neither);
  expect([server.delivered, server.answered]).toEqual([[], [refused(expect.stringContaining('needs a "method"'), 7)]]);
});

test.each([true, false])('a cancellation may name anything (on a server: %s)', (answerInvalid) => {
  const bench = new Bench({ answerInvalid, revision: '2025-11-25' });
  const odd = [{ toString: 1 }, [{ toString: 1 }], null, true].map((id) => cancelled(id as unknown as RequestId));
  bench.push(...odd);
  expect(bench.delivered).toEqual(odd);
});

test('only a valid cancellation cancels a request of a batch', () => {
  const bench = new Bench({ revision: '2025-03-26' });
  bench.push([request(1, 'a'), request(2, 'b')]);
  expect(bench.send(resultResponse(1, {}))).toBeUndefined();
  bench.push(notification('notifications/other', { requestId: 2 }), request(3, 'ask', { requestId: 2 }));
  bench.push(notification('notifications/cancelled'), cancelled(9));
  expect(bench.answered).toEqual([]);
  bench.push(cancelled(2));
  expect(bench.answered).toEqual([[resultResponse(1, {})]]);
});

describe('a batch', () => {
  test.each([
    [undefined, 'no revision has been negotiated yet'],
    ['2024-11-05', 'this connection speaks 2024-11-05'],
    ['2025-06-18', 'this connection speaks 2025-06-18'],
    ['2025-11-25', 'this connection speaks 2025-11-25'],
    ['2026-07-28', 'this connection speaks 2026-07-28'],
  ])('is refused in revision %s', (revision, reason) => {
    const bench = new Bench(revision === undefined ? {} : { revision });
    bench.push([request(1, 'a'), notification('n')]);
    expect(bench.answered).toEqual([refused(`Invalid request: batches exist only in revision 2025-03-26; ${reason}`)]);
    expect(bench.delivered).toEqual([]);
  });

  test.each([true, false])('of responses that is refused fails their requests (on a server: %s)', (server) => {
    const bench = new Bench({ revision: '2025-11-25', answerInvalid: server });
    const failed = errorResponse(3, { code: 4, message: 'no' });
    bench.push(
      [resultResponse(1, {}), notification('n'), request(2, 'a'), failed, 7, { id: {} }],
      resultResponse(4, {}),
    );
    const why = 'Invalid request: batches exist only in revision 2025-03-26; this connection speaks 2025-11-25';
    const error = (id: RequestId) => refused(`The response came in a batch that was refused: ${why}`, id);
    expect(bench.delivered).toEqual([error(1), error(3), resultResponse(4, {})]);
    expect([bench.reported, bench.answered]).toEqual([[why], server ? [refused(why)] : []]);
  });

  test('is split in 2025-03-26, and answered with a batch when its last response is there', () => {
    const bench = new Bench({ revision: '2025-03-26' });
    bench.push([request(1, 'a'), notification('n'), request(2, 'b'), resultResponse(9, {})]);
    expect(bench.delivered).toEqual([request(1, 'a'), notification('n'), request(2, 'b'), resultResponse(9, {})]);
    expect(bench.send(resultResponse(2, { second: true }))).toBeUndefined();
    expect(bench.send(notification('in between'))).toEqual(notification('in between'));
    expect(bench.framing.inFlight.size).toBe(1);
    expect(bench.send(resultResponse(1, {}))).toEqual([resultResponse(2, { second: true }), resultResponse(1, {})]);
    expect([bench.framing.inFlight.size, bench.answered]).toEqual([0, []]);
  });

  test('that is answered during delivery is also answered with a batch', () => {
    const bench = new Bench({ revision: '2025-03-26' });
    const sent: unknown[] = [];
    bench.onmessage = (message) => {
      if (isRequest(message)) sent.push(bench.send(resultResponse(message.id, {})));
    };
    bench.push([request(1, 'a'), request(2, 'b')]);
    expect(sent).toEqual([undefined, [resultResponse(1, {}), resultResponse(2, {})]]);
  });

  test('of notifications and responses is not answered', () => {
    const bench = new Bench({ revision: '2025-03-26' });
    bench.push([notification('n'), resultResponse(1, {})]);
    expect([bench.delivered.length, bench.answered]).toEqual([2, []]);
  });

  test('of only invalid messages is answered with a batch of errors', () => {
    const bench = new Bench({ revision: '2025-03-26' });
    bench.push([1, { jsonrpc: '2.0', id: 5, method: 1 }]);
    expect(bench.answered).toEqual([
      [
        refused('Invalid request: a message must be a JSON object'),
        refused('Invalid request: "method" must be a string', 5),
      ],
    ]);
    expect(bench.reported).toHaveLength(2);
  });

  test('has the errors of invalid messages among its responses, never with an id in use', () => {
    const bench = new Bench({ revision: '2025-03-26' });
    bench.push(request(5, 'earlier'), [
      request(1, 'a'),
      {},
      { jsonrpc: '2.0', id: 1, method: 1 },
      { jsonrpc: '2.0', id: 5, method: 1 },
    ]);
    const answers: any[] = bench.send(resultResponse(1, {}));
    expect(answers.map(({ id }) => id)).toEqual([undefined, undefined, undefined, 1]);
  });

  test('that is empty is refused', () => {
    const bench = new Bench({ revision: '2025-03-26' });
    bench.push([]);
    expect(bench.answered).toEqual([refused('Invalid request: a batch must not be empty')]);
  });

  test('must not contain initialize, nor an id in flight', () => {
    const bench = new Bench({ revision: '2025-03-26' });
    bench.push(request(1, 'a'), [request(2, 'initialize'), request(1, 'b'), request(3, 'c')]);
    expect(bench.delivered).toEqual([request(1, 'a'), request(3, 'c')]);
    expect(bench.send(resultResponse(1, {}))).toEqual(resultResponse(1, {}));
    expect(bench.send(resultResponse(3, {}))).toEqual([
      refused('Invalid request: initialize must not be part of a batch', 2),
      refused('Invalid request: id 1 is still in use'),
      resultResponse(3, {}),
    ]);
  });

  test('does not wait for its cancelled request', () => {
    const bench = new Bench({ revision: '2025-03-26' });
    bench.push([request(1, 'a'), request(2, 'b')]);
    expect(bench.send(resultResponse(1, {}))).toBeUndefined();
    bench.push(cancelled(2));
    expect(bench.answered).toEqual([[resultResponse(1, {})]]);

    bench.push([request(3, 'a'), request(4, 'b')], [cancelled(3), cancelled(4)]);
    expect(bench.answered).toHaveLength(1);
  });

  test('from a server is also split, and its invalid messages are only reported', () => {
    const bench = new Bench({ revision: '2025-03-26', answerInvalid: false });
    bench.push([{}, request(1, 'ask')], [{}]);
    expect(bench.send(resultResponse(1, {}))).toEqual([resultResponse(1, {})]);
    expect([bench.answered, bench.reported.length]).toEqual([[], 2]);
  });

  test('of a server gets errors for its malformed requests', () => {
    const bench = new Bench({ revision: '2025-03-26', answerInvalid: false });
    const malformed = (id: number) => ({ ...request(id, 'ask'), params: [] });
    const error = (id: number) => refused('Invalid request: "params" must be an object', id);
    bench.push([malformed(7)], [malformed(8), request(1, 'ask'), malformed(1)]);
    expect(bench.answered).toEqual([[error(7)]]);
    expect(bench.send(resultResponse(1, {}))).toEqual([error(8), resultResponse(1, {})]);
  });
});

test('a result that does not fit becomes an error for its call, and other messages are sent as they are', () => {
  const bench = new Bench();
  const result = { text: 'long' };
  const { length } = JSON.stringify(resultResponse(1, result));
  for (const id of [1, 2, 3]) bench.push(request(id, 'a'));
  expect(bench.framing.encode(resultResponse(1, result), length)).toBe(JSON.stringify(resultResponse(1, result)));
  expect(bench.reported).toEqual([]);
  const message = 'The response was dropped: too many unread bytes wait for the peer';
  const dropped = errorResponse(2, { code: -32603, message });
  expect(bench.framing.encode(resultResponse(2, result), length - 1)).toBe(JSON.stringify(dropped));
  expect(bench.reported).toEqual([message]);
  const failed = errorResponse(3, { code: 1, message: 'a long error' });
  expect(bench.framing.encode(failed, length - 1)).toBe(JSON.stringify(failed));
  bench.push(request(2, 'b'));
  expect(bench.delivered).toHaveLength(4);
});

test('a message that JSON cannot represent is not sent, and its request stays in flight', () => {
  const bench = new Bench();
  bench.push(request(1, 'a'));
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = cyclic;
  expect(() => bench.framing.encode(resultResponse(1, cyclic))).toThrow(TypeError);
  expect(() => bench.framing.encode(resultResponse(1, { big: 1n }))).toThrow(TypeError);
  expect(() => bench.framing.encode(undefined as unknown as Message)).toThrow(TypeError);
  const unwritable = { ...resultResponse(1, {}), toJSON: () => undefined };
  expect(() => bench.framing.encode(unwritable)).toThrow('The message cannot be written as JSON');
  expect(bench.framing.inFlight.has(1)).toBe(true);
  expect(bench.send(errorResponse(1, { code: -32603, message: 'x' }))).toBeDefined();
  expect(bench.framing.inFlight.size).toBe(0);
});
