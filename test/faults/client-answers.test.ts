import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Client } from 'everwire/client';
import { oddServer, POSTS, WAYS, type Turn, type Way } from '../support/odd-server.ts';

/**
 * Invalid answers. A call with an invalid answer fails at once with an error that says why. It is not sent again, and the
 * next call works. A request that only reads is sent again once if its answer was lost.
 */

const result = (text: string) => ({ content: [{ type: 'text', text }] });
const answer = (id: unknown, text = 'good') => ({ jsonrpc: '2.0', id, result: result(text) });

const working = { jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'working' } };

afterEach(() => void vi.useRealTimers());

/** The outcome of a tool call: its text, or its error. */
const outcome = (client: Client, name: string): Promise<any> =>
  client.callTool(name).then(
    ({ content: [block] }) => (block as { text: string }).text,
    (error: unknown) => error,
  );

/** Whether each answer ends its connection or stream: each message is a POST. */
const isPost = (way: Way): boolean => POSTS.includes(way);

describe.each(WAYS)('over %s', (way) => {
  test('a second response to the same request is ignored or reported', async () => {
    const { client, calls } = await oddServer(way, {
      twice: ({ id, say, end }) => {
        say(answer(id, 'first'));
        say(answer(id, 'second'));
        if (isPost(way)) end();
      },
    });
    expect(await outcome(client, 'twice')).toBe('first');
    expect(await outcome(client, 'other')).toBe('good');
    expect(calls.get('twice')).toBe(1);
  });

  test.each([
    ['with another number', 4711],
    ['with another type of id', 'x'],
    ['without an id', null],
  ])('a response %s to an unknown request is reported, and the correct one counts', async (_, id) => {
    const { client, errors } = await oddServer(way, {
      strange: (turn) => {
        turn.say(answer(id, 'strange'));
        turn.say(answer(turn.id, 'right'));
        if (isPost(way)) turn.end();
      },
    });
    expect(await outcome(client, 'strange')).toBe('right');
    await vi.waitUntil(() => errors.length > 0);
    expect(await outcome(client, 'other')).toBe('good');
  });

  test.each<[string, (turn: Turn) => object]>([
    ['neither a result nor an error', ({ id }) => ({ jsonrpc: '2.0', id })],
    ['a result that is not an object', ({ id }) => ({ jsonrpc: '2.0', id, result: 5 })],
    ['an error that is a string', ({ id }) => ({ jsonrpc: '2.0', id, error: 'no' })],
    ['an error without a code', ({ id }) => ({ jsonrpc: '2.0', id, error: { message: 'no' } })],
    ['both', ({ id }) => ({ jsonrpc: '2.0', id, result: {}, error: { code: -1, message: 'no' } })],
    ['no JSON-RPC version', ({ id }) => ({ id, result: 5 })],
  ])('a response with %s fails the call, which is not sent again', async (_, odd) => {
    const { client, calls } = await oddServer(way, { odd: (turn) => (turn.say(odd(turn)), isPost(way) && turn.end()) });
    const error = await outcome(client, 'odd');
    expect(error).toBeInstanceOf(Error);
    expect(error.name).not.toBe('TimeoutError');
    expect(calls.get('odd')).toBe(1);
    expect(await outcome(client, 'other')).toBe('good');
  });

  test('an invalid message is reported, and the response after it counts', async () => {
    const { client, errors } = await oddServer(way, {
      noisy: ({ id, say, end }) => {
        say('Server listening, have fun!');
        say('{"jsonrpc":"2.0","id":');
        say('[]');
        say('\u0000\u001b[31m');
        say(answer(id, 'heard'));
        if (isPost(way)) end();
      },
    });
    expect(await outcome(client, 'noisy')).toBe('heard');
    await vi.waitUntil(() => errors.length >= 3);
    expect(await outcome(client, 'other')).toBe('good');
  });

  test.each([
    ['well', false],
    ['badly', true],
  ])('if a stream ends %s before the response, a call fails at once, and a read is repeated', async (_, badly) => {
    const { client, calls } = await oddServer(way, {
      lost: ({ say, end }) => {
        say({ jsonrpc: '2.0', method: 'notifications/message', params: { level: 'info', data: 'working' } });
        end(badly);
      },
      read: ({ id, count, say, end }) => {
        if (count === 1) {
          say(working);
          return end(badly);
        }
        say({ jsonrpc: '2.0', id, result: { contents: [] } });
      },
    });
    expect(await outcome(client, 'lost')).toMatchObject({ name: 'ConnectionError', notExecuted: false });
    expect(calls.get('lost')).toBe(1);
    expect(await outcome(client, 'other')).toBe('good');
    expect(await client.readResource('a:b')).toEqual({ contents: [] });
    expect(calls.get('read')).toBe(2);
  });

  test('a response above the size limit fails the call or ends the connection, with the reason', async () => {
    const { client, calls, errors } = await oddServer(
      way,
      { huge: ({ id, say }) => say(answer(id, 'x'.repeat(200_000))) },
      { httpLimits: { maxMessageBytes: 100_000 } },
    );
    const error = await outcome(client, 'huge');
    expect(error).toMatchObject({ name: 'ConnectionError', message: expect.stringMatching(/larger|longer|100000/) });
    expect(calls.get('huge')).toBe(1);
    expect(await outcome(client, 'other')).toBe('good');
    expect(errors.length).toBeLessThan(3);
  });

  test('a call times out if the server stops in the middle of a response', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { client, calls } = await oddServer(
      way,
      { silent: ({ say }) => say(working) },
      { onlog: () => void vi.advanceTimersByTime(100) },
    );
    const error = await client.callTool('silent', {}, { timeout: 100 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'TimeoutError', limit: 100 });
    expect(calls.get('silent')).toBe(1);
    expect(await outcome(client, 'other')).toBe('good');
  });
});

describe.each(POSTS)('over %s', (way) => {
  test.each<[string, number, string, string]>([
    ['empty', 200, 'application/json', ''],
    ['half of a response', 200, 'application/json', '{"jsonrpc":"2.0","id":'],
    ['an HTML page', 200, 'text/html', '<h1>It works!</h1>'],
    ['an HTML page of a proxy', 502, 'text/html', '<h1>Bad Gateway</h1>'],
    ['a response to another request', 200, 'application/json', '{"jsonrpc":"2.0","id":4711,"result":{}}'],
    ['a request', 200, 'application/json', '{"jsonrpc":"2.0","id":1,"method":"ping"}'],
    ['empty with status 202', 202, 'text/plain', ''],
    ['above the size limit', 200, 'application/json', JSON.stringify(answer(1, 'x'.repeat(200_000)))],
  ])('a body that is %s fails the call at once, which is not sent again', async (_, status, type, body) => {
    const { client, calls } = await oddServer(
      way,
      { odd: ({ response }) => void response.writeHead(status, { 'content-type': type }).end(body) },
      { httpLimits: { maxMessageBytes: 100_000 } },
    );
    const error = await outcome(client, 'odd');
    expect(error).toMatchObject({ name: 'ConnectionError', message: expect.stringContaining('tools/call failed: ') });
    expect(calls.get('odd')).toBe(1);
    expect(await outcome(client, 'other')).toBe('good');
  });

  test('headers without a body fail the call after its timeout, or that of the stream', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { client, calls } = await oddServer(
      way,
      {
        silent: ({ response, count }) => {
          response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
          if (count === 1) vi.advanceTimersByTime(50);
          else vi.useRealTimers();
        },
      },
      { httpLimits: { idleTimeout: 200, reconnection: { maxAttempts: 0 } } },
    );
    const error = await client.callTool('silent', {}, { timeout: 50 }).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: 'TimeoutError', limit: 50 });
    expect(await outcome(client, 'silent')).toMatchObject({
      name: 'ConnectionError',
      notExecuted: false,
      message: expect.stringContaining('for 200 ms'),
    });
    expect(calls.get('silent')).toBe(2);
    expect(await outcome(client, 'other')).toBe('good');
  });
});

test('a stream that breaks off again and again is resumed over as many connections as needed', async () => {
  const { streamed } = await import('../support/resuming-server.ts');
  const { client, gets, calls } = await streamed(4);
  expect(await outcome(client, 'long')).toBe('at last');
  expect(gets()).toBe(4);
  expect(calls()).toBe(1);
  expect(await outcome(client, 'long')).toBe('at last');
});
