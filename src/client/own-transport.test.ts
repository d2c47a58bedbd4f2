import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { JsonObject, Message, Request } from '../jsonrpc/message.ts';
import type { Transport } from '../transport/transport.ts';
import { connect } from './connect.ts';
import { TimeoutError } from './errors.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const ERAS = ['legacy', 'modern'] as const;
const opened = {
  'server/discover': { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
} as Record<string, JsonObject>;

/** A transport of an application. It does not check what it delivers. */
class OwnTransport implements Transport {
  onmessage: Transport['onmessage'];
  onclose: Transport['onclose'];
  onerror: Transport['onerror'];
  readonly #answer: (request: Request) => any;

  constructor(answer: (request: Request) => any) {
    this.#answer = answer;
  }

  start = (): Promise<void> => Promise.resolve();

  send(message: Message): Promise<void> {
    if ('method' in message && 'id' in message) {
      const answer = this.#answer(message);
      if (answer !== undefined) queueMicrotask(() => this.onmessage?.(answer));
    }
    return Promise.resolve();
  }

  close = (): Promise<void> => Promise.resolve(this.onclose?.());
}

async function calling(eras: (typeof ERAS)[number], answer: object | null) {
  const onerror = vi.fn<(error: Error) => void>();
  const transport = new OwnTransport(({ id, method }) =>
    opened[method] ? { jsonrpc: '2.0', id, result: opened[method] } : { jsonrpc: '2.0', id, ...answer },
  );
  const client = await connect(transport, { eras, onerror });
  return { client, transport, onerror };
}

test.each([
  ['"result" must be an object', { result: null }],
  ['"result" must be an object', { result: 'x' }],
  ['exactly one of "result" and "error"', {}],
  ['"error" must have an integer "code" and a string "message"', { error: null }],
  ['"error" must have an integer "code" and a string "message"', { error: { code: 'x', message: {} } }],
])('a response that says nothing fails its call: %s, %j', async (why, answer) => {
  for (const era of ERAS) {
    const { client, onerror } = await calling(era, answer);
    await expect(client.callTool('a')).rejects.toThrow(why);
    expect(onerror).toHaveBeenCalledExactlyOnceWith(expect.objectContaining({ message: expect.stringContaining(why) }));
  }
});

test.each(ERAS)('a response to the first request that says nothing ends connecting: %s', async (eras) => {
  const transport = new OwnTransport(({ id }) => ({ jsonrpc: '2.0', id, result: null }));
  await expect(connect(transport, { eras, onerror: () => {} })).rejects.toThrow('"result" must be an object');
});

test('anything else that is not a message is reported', async () => {
  for (const era of ERAS) {
    const { transport, onerror } = await calling(era, {});
    const wrong: any[] = [
      null,
      undefined,
      'x',
      [],
      { jsonrpc: '2.0', method: 5 },
      { jsonrpc: '2.0', method: 'a', params: null },
    ];
    for (const each of wrong) transport.onmessage!(each);
    expect(onerror).toHaveBeenCalledTimes(wrong.length);
  }
});

test.each(ERAS)('an error that is thrown by send is reported: %s', async (era) => {
  const { client, transport, onerror } = await calling(era, {});
  const leaving = new AbortController();
  transport.onmessage = () => {};
  const call = client.callTool('a', {}, { signal: leaving.signal });
  const failed = new Error('not a promise');
  transport.send = () => {
    throw failed;
  };
  leaving.abort(new Error('left'));
  await expect(call).rejects.toThrow('left');
  await vi.advanceTimersByTimeAsync(0);
  expect(onerror).toHaveBeenCalledExactlyOnceWith(failed);
});

test.each(ERAS)('a transport that never starts ends connecting after its time limit: %s', async (eras) => {
  const transport = new OwnTransport(() => undefined);
  transport.start = () => new Promise(() => {});
  const failed = connect(transport, { eras, connectTimeout: 300 }).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(300);
  const error = await failed;
  expect(error).toBeInstanceOf(TimeoutError);
  expect(error).toHaveProperty('message', expect.stringContaining('The transport did not start within 300 ms'));
  expect(vi.getTimerCount()).toBe(0);
});
