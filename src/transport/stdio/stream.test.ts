import { connect, createServer } from 'node:net';
import { once } from 'node:events';
import { type Duplex, PassThrough, Readable, Writable } from 'node:stream';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { errorResponse, notification, request, resultResponse, type Message } from '../../jsonrpc/message.ts';
import { streamTransport, type StreamTransport, type StreamTransportOptions } from './stream.ts';

/** A reader that takes data only when the test says so. */
class SlowReader extends Writable {
  readonly writes: string[] = [];
  #taken: (() => void) | undefined;
  slow = false;

  constructor() {
    super({ decodeStrings: false, highWaterMark: 16_384 });
  }

  override _write(chunk: unknown, _encoding: string, taken: () => void): void {
    this.writes.push(String(chunk));
    if (this.slow) this.#taken = taken;
    else taken();
  }

  read(): void {
    this.slow = false;
    const taken = this.#taken;
    this.#taken = undefined;
    taken?.();
  }

  get messages(): any[] {
    return this.writes
      .join('')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line));
  }
}

const opened: StreamTransport[] = [];
afterEach(async () => {
  vi.useRealTimers();
  await Promise.all(opened.splice(0).map((transport) => transport.close()));
});

function open(options: StreamTransportOptions = {}) {
  const input = new PassThrough();
  const output = new SlowReader();
  const transport = streamTransport(input, output, { drainTimeout: 1000, ...options });
  opened.push(transport);
  const log: string[] = [];
  const errors: Error[] = [];
  const received: Message[] = [];
  transport.onmessage = (message) => received.push(message);
  transport.onerror = (error) => errors.push(error);
  transport.onend = () => log.push('end');
  const closed = new Promise<void>((resolve) => {
    transport.onclose = () => {
      log.push('close');
      resolve();
    };
  });
  const write = (...messages: unknown[]) => {
    for (const message of messages) input.write(`${typeof message === 'string' ? message : JSON.stringify(message)}\n`);
  };
  return { input, output, transport, log, errors, received, closed, write };
}

/** Waits until all pending work is done. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe('writing', () => {
  test('the messages of one tick are written together, each on its own line', async () => {
    const { transport, output, write } = open();
    transport.onmessage = ({ id }) =>
      void Promise.resolve().then(() => transport.send(resultResponse(id, { text: 'a\nb' })));
    await transport.start();
    write(request(1, 'a'), request(2, 'b'));
    await settled();
    expect(output.writes).toHaveLength(1);
    expect(output.writes[0]).toBe(
      '{"jsonrpc":"2.0","id":1,"result":{"text":"a\\nb"}}\n{"jsonrpc":"2.0","id":2,"result":{"text":"a\\nb"}}\n',
    );
  });

  test('a client writes all responses to one chunk together, in the same turn of the event loop', async () => {
    const { input, output, transport } = open({ role: 'client' });
    await transport.start();
    const later = async (id: number): Promise<void> => {
      for (let hops = 0; hops < 20; hops += 1) await Promise.resolve();
      void transport.send(request(id, 'next'));
    };
    transport.onmessage = (message) => void later((message as { id: number }).id);
    const writes = new Promise<number>((resolve) => {
      input.once('data', () => setImmediate(() => resolve(output.writes.length)));
    });
    input.write([1, 2, 3].map((id) => `${JSON.stringify(resultResponse(id, {}))}\n`).join(''));
    expect(await writes).toBe(1);
    expect(output.messages.map(({ id }) => id)).toEqual([1, 2, 3]);
  });

  test('the first of several messages is written at once, the others of the turn together', async () => {
    const { input, output, transport } = open({ role: 'client' });
    await transport.start();
    input.write('\n');
    await settled();
    for (const id of [1, 2, 3]) process.nextTick(() => void transport.send(request(id, 'next')));
    await settled();
    await settled();
    expect(output.messages.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(output.writes).toHaveLength(2);
  });

  test('questions that a server asks at once are written together', async () => {
    const { output, transport } = open();
    await transport.start();
    const ask = async (id: number): Promise<void> => {
      for (let hops = 0; hops < id; hops += 1) await Promise.resolve();
      await transport.send(request(id, 'elicitation/create'));
    };
    await Promise.all([1, 2, 3].map((id) => ask(id)));
    await settled();
    expect(output.messages.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(output.writes).toHaveLength(1);
  });

  test('send resolves at once, or after a slow reader has caught up', async () => {
    const { transport, output } = open();
    await transport.start();
    await transport.send(notification('zeroth', { text: 'x'.repeat(100_000) }));
    output.slow = true;
    const taken: string[] = [];
    const first = transport.send(notification('first', { text: 'x'.repeat(100_000) })).then(() => taken.push('first'));
    const second = transport.send(notification('second')).then(() => taken.push('second'));
    await settled();
    expect(taken).toEqual([]);
    output.read();
    await Promise.all([first, second]);
    await settled();
    expect(output.messages.map(({ method }) => method)).toEqual(['zeroth', 'first', 'second']);
  });

  test('send rejects if too much waits for a reader', async () => {
    const { transport, output } = open({ maxPendingBytes: 1000 });
    await transport.start();
    output.slow = true;
    await expect(transport.send(request(0, 'q', { text: 'x'.repeat(1000) }))).rejects.toThrow(
      'The message is too large to send: 1058 of at most 1000 bytes',
    );
    for (let n = 0; n < 8; n++) void transport.send(request(n, 'q', { text: 'x'.repeat(50) }));
    await settled();
    await expect(transport.send(request(8, 'q', { text: 'x'.repeat(400) }))).rejects.toThrow('does not read');
    output.read();
    await settled();
    await transport.send(request(8, 'q', { text: 'x'.repeat(400) }));
  });

  test('a result that does not fit is replaced by an error, and the connection continues', async () => {
    const { transport, output, errors } = open({ maxPendingBytes: 40_000 });
    output.slow = true;
    await transport.start();
    for (let id = 1; id <= 6; id++) void transport.send(resultResponse(id, { text: 'x'.repeat(9000) }));
    output.read();
    await settled();
    await transport.send(resultResponse(7, {}));
    const dropped = { error: { code: -32603, message: expect.stringContaining('dropped') } };
    expect(output.messages).toEqual([
      ...[1, 2, 3, 4].map((id) => expect.objectContaining({ id, result: expect.anything() })),
      ...[5, 6].map((id) => expect.objectContaining({ id, ...dropped })),
      expect.objectContaining({ id: 7, result: {} }),
    ]);
    expect(errors).toHaveLength(2);
  });

  test('the connection closes if a response is lost, because its caller would wait for ever', async () => {
    const { transport, output, closed } = open({ maxPendingBytes: 1000, drainTimeout: 10 });
    output.slow = true;
    await transport.start();
    for (let n = 0; n < 8; n++) void transport.send(request(n, 'q', { text: 'x'.repeat(60) }));
    await expect(transport.send(resultResponse(1, { text: 'x'.repeat(900) }))).rejects.toThrow('does not read');
    await closed;
    expect(transport.closeReason?.message).toContain('does not read');
  });

  test('a server stops reading while its client does not read', async () => {
    const { transport, output, input, write, received } = open({ maxPendingBytes: 40_000 });
    transport.onmessage = (message) => {
      received.push(message);
      void transport.send(resultResponse(message.id, { text: 'x'.repeat(1000) }));
    };
    await transport.start();
    output.slow = true;
    for (let id = 0; id < 100; id++) {
      write(request(id, 'a'));
      await settled();
    }
    expect(received.length).toBeLessThan(20);
    expect(input.isPaused()).toBe(true);
    output.read();
    await vi.waitUntil(() => received.length === 100);
    await settled();
    expect(output.messages.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, id) => id));
  });

  test('a server stops reading while its client only writes invalid lines', async () => {
    const { transport, output, input, write, errors, log } = open({ maxPendingBytes: 40_000 });
    await transport.start();
    output.slow = true;
    for (let n = 0; n < 1000; n++) {
      write('nonsense');
      await settled();
    }
    expect(input.isPaused()).toBe(true);
    // Each is reported, and none is lost.
    expect(errors.length).toBeLessThan(200);
    output.read();
    await vi.waitUntil(() => errors.length === 1000);
    await settled();
    expect(output.messages).toHaveLength(1000);
    expect(new Set(errors.map(({ message }) => message.replace(/\(.*/, '')))).toEqual(
      new Set(['Parse error: not valid JSON ']),
    );
    expect(log).toEqual([]);
  });

  test('a response to an invalid line that does not fit is reported', async () => {
    const { transport, write, errors } = open({ maxPendingBytes: 10 });
    await transport.start();
    write('nonsense');
    await settled();
    expect(errors.map(({ message }) => message.split(':')[0])).toEqual([
      'Parse error',
      'The message is too large to send',
    ]);
  });

  test('a message that JSON cannot represent rejects, and nothing is written', async () => {
    const { transport, output } = open();
    await transport.start();
    await expect(transport.send(resultResponse(1, { big: 1n }))).rejects.toThrow('BigInt');
    expect(output.writes).toEqual([]);
  });

  test('send rejects before start, and start can be called only once', async () => {
    const { transport } = open();
    await expect(transport.send(notification('n'))).rejects.toThrow('not started');
    await transport.start();
    await expect(transport.start()).rejects.toThrow('already been started');
    await transport.close();
    await expect(transport.start()).rejects.toThrow('closed');
  });
});

describe('the end of the input', () => {
  test('is reported, and a server answers the requests in flight before it closes', async () => {
    const { transport, input, output, write, log, received, closed } = open();
    await transport.start();
    write(request(1, 'a'), request(2, 'b'), request(3, 'c'), notification('notifications/cancelled', { requestId: 3 }));
    input.end();
    await settled();
    expect([log, received.length]).toEqual([['end'], 4]);
    await expect(transport.send(request('mine', 'ask'))).rejects.toThrow('ask was not sent: the peer has closed');
    await transport.send(resultResponse(1, {}));
    await transport.send(notification('still going'));
    expect(log).toEqual(['end']);
    await transport.send(errorResponse(2, { code: 1, message: 'x' }));
    await closed;
    expect(log).toEqual(['end', 'close']);
    expect(output.messages).toEqual([
      resultResponse(1, {}),
      notification('still going'),
      errorResponse(2, { code: 1, message: 'x' }),
    ]);
    await expect(transport.send(notification('late'))).rejects.toThrow('closed');
  });

  test('closes at once if nothing is in flight, and the last line may lack its newline', async () => {
    const { transport, input, log, received, closed } = open();
    await transport.start();
    input.end(JSON.stringify(notification('last')));
    await closed;
    expect([log, received]).toEqual([['end', 'close'], [notification('last')]]);
  });

  test('may come before start', async () => {
    const { transport, input, log, closed } = open();
    input.resume().end();
    await once(input, 'end');
    await transport.start();
    await closed;
    expect(log).toEqual(['end', 'close']);
  });

  test('lets a server finish its responses, however long they take', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] });
    const { transport, input, output, write, log, errors, closed } = open();
    await transport.start();
    write(request(1, 'slow'));
    input.end();
    await settled();
    expect(vi.getTimerCount()).toBe(1);
    await vi.advanceTimersByTimeAsync(3_600_000);
    expect(log).toEqual(['end']);
    await transport.send(resultResponse(1, {}));
    await closed;
    expect(output.messages).toEqual([resultResponse(1, {})]);
    await vi.advanceTimersByTimeAsync(1000);
    expect([log, errors, vi.getTimerCount()]).toEqual([['end', 'close'], [], 0]);
  });

  test('lets a server answer until the peer closes the output', async () => {
    const { transport, input, output, write, log, closed } = open();
    await transport.start();
    write(request(1, 'never'));
    input.end();
    await settled();
    expect(log).toEqual(['end']);
    output.destroy();
    await closed;
    expect(log).toEqual(['end', 'close']);
  });

  test('lets a server answer only until the answer timeout, if there is one', async () => {
    const { transport, input, write, log, errors, closed } = open({ answerTimeout: 20 });
    await transport.start();
    write(request(1, 'never'));
    input.end();
    await closed;
    expect(log).toEqual(['end', 'close']);
    expect(errors.map(({ message }) => message)).toEqual([
      '1 requests were not answered within 20 ms after the input ended',
    ]);
  });

  test('waits for a slow reader of the responses, but no longer than that timeout', async () => {
    const { transport, input, output, write, closed, log } = open();
    await transport.start();
    write(request(1, 'a'));
    output.slow = true;
    input.end();
    await settled();
    await transport.send(resultResponse(1, {}));
    await settled();
    expect(log).toEqual(['end']);
    output.read();
    await closed;

    const stuck = open({ drainTimeout: 20 });
    await stuck.transport.start();
    stuck.output.slow = true;
    await stuck.transport.send(notification('n'));
    stuck.input.end();
    await stuck.closed;
  });

  test('closes the connection of a client', async () => {
    const { transport, input, write, log, closed } = open({ role: 'client' });
    await transport.start();
    write(request(1, 'ask'));
    input.end();
    await closed;
    expect(log).toEqual(['close']);
    expect(transport.closeReason).toBeUndefined();
  });
});

describe('a broken stream', () => {
  test.each(['input', 'output'] as const)('closes the connection and is reported: %s', async (side) => {
    const wire = open();
    await wire.transport.start();
    const error = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
    wire[side].destroy(error);
    await wire.closed;
    expect([wire.errors, wire.transport.closeReason]).toEqual([[error], error]);
    await expect(wire.transport.send(notification('n'))).rejects.toThrow('The connection is closed: write EPIPE');
  });

  test('before start does not end the process, and start reports it', async () => {
    const { transport, input, errors } = open();
    input.destroy(new Error('broken early'));
    await settled();
    expect(errors).toHaveLength(1);
    await expect(transport.start()).rejects.toThrow('broken early');
  });

  test('rejects messages that wait for the reader', async () => {
    const { transport, output, closed } = open();
    await transport.start();
    output.slow = true;
    void transport.send(notification('n', { text: 'x'.repeat(100_000) }));
    const waiting = transport.send(notification('n'));
    output.destroy(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    await closed;
  });

  test('during a client’s writes does not prevent it from reading the server’s last messages', async () => {
    const { transport, input, output, write, received, errors, closed } = open({ role: 'client' });
    await transport.start();
    output.destroy(new Error('write EPIPE'));
    await settled();
    expect(errors).toHaveLength(1);
    await expect(transport.send(notification('n'))).rejects.toThrow('closed its side');
    write(resultResponse(1, {}));
    input.end();
    await closed;
    expect(received).toEqual([resultResponse(1, {})]);
    expect(transport.closeReason?.message).toBe('write EPIPE');
  });
});

describe('a line that is too long', () => {
  test('closes the connection of a client if it may be the response to any request, with a reason', async () => {
    const { transport, write, errors, received, closed } = open({ role: 'client', maxMessageBytes: 100 });
    await transport.start();
    write(errorResponse(undefined, { code: 1, message: 'x'.repeat(100) }), notification('n'));
    await closed;
    expect(received).toEqual([]);
    expect(errors).toEqual([transport.closeReason]);
    expect(transport.closeReason?.message).toContain('at most 100 bytes');
  });

  test('is refused by a server, which continues', async () => {
    const { transport, write, output, received } = open({ maxMessageBytes: 100 });
    await transport.start();
    write(resultResponse(1, { text: 'x'.repeat(100) }), notification('n'));
    await settled();
    expect(received).toEqual([notification('n')]);
    expect(output.messages).toMatchObject([{ error: { code: -32600 } }]);
    expect('id' in output.messages[0]).toBe(false);
  });
});

test('a stream that emits strings can be read', async () => {
  const input = Readable.from([`${JSON.stringify(notification('ä'))}\n`]);
  const transport = streamTransport(input, new SlowReader());
  const received = new Promise((resolve) => (transport.onmessage = resolve));
  await transport.start();
  expect(await received).toEqual(notification('ä'));
  await transport.close();
});

test('a stream that emits neither bytes nor strings ends its own connection, and nothing else', async () => {
  const output = new SlowReader();
  const transport = streamTransport(Readable.from([[1, 2, 3]]), output, { drainTimeout: 1000 });
  opened.push(transport);
  const errors: Error[] = [];
  transport.onerror = (error) => errors.push(error);
  const closed = new Promise<void>((resolve) => (transport.onclose = resolve));
  await transport.start();
  await closed;
  expect(errors).toEqual([expect.any(TypeError)]);
  expect(transport.closeReason).toBe(errors[0]);
});

test('an onclose that throws is reported', async () => {
  const { transport, errors } = open();
  transport.onclose = () => {
    throw new Error('from onclose');
  };
  await transport.start();
  await transport.close();
  expect(errors.map(({ message }) => message)).toEqual(['from onclose']);
});

test('a socket whose peer neither reads nor closes is eventually released', async () => {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const near = connect((server.address() as { port: number }).port, '127.0.0.1');
  const [far] = (await once(server, 'connection')) as [Duplex];
  const transport = streamTransport(near, near);
  await transport.start();
  await transport.send(notification('n'));
  await transport.close();
  await once(near, 'close');
  far.destroy();
  server.close();
  await once(server, 'close');
});
