import { Duplex, PassThrough } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { request, resultResponse } from '../../jsonrpc/message.ts';
import { streamTransport, type StreamTransportOptions } from './stream.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
});
afterEach(() => void vi.useRealTimers());

/** Waits until all pending work is done. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
const line = (message: unknown): string => `${JSON.stringify(message)}\n`;

function open(options: StreamTransportOptions = {}, input: PassThrough | Duplex = new PassThrough(), both = false) {
  const output = both ? input : new PassThrough();
  const transport = streamTransport(input, output, { release: () => {}, ...options });
  const log: string[] = [];
  transport.onend = () => void log.push('end');
  transport.onclose = () => void log.push('close');
  transport.onerror = (error) => void log.push(error.message);
  return { input, output, transport, log };
}

test('a closed connection leaves no timer behind', async () => {
  const { transport } = open();
  await transport.start();
  await transport.close();
  expect(vi.getTimerCount()).toBe(0);
});

test('a server whose peer has exited closes, and cancels its requests', async () => {
  let gone = false;
  const { transport, input, log } = open({ gone: () => gone });
  await transport.start();
  input.end(line(request(1, 'a')));
  await settled();
  vi.advanceTimersByTime(10_000);
  await settled();
  expect(log).toEqual(['end']);
  gone = true;
  vi.advanceTimersByTime(1000);
  await settled();
  expect([log, vi.getTimerCount()]).toEqual([['end', 'close'], 0]);
});

test('an answer timeout below one second is used', async () => {
  const { transport, input, log } = open({ answerTimeout: 100 });
  await transport.start();
  input.end(line(request(1, 'a')));
  await settled();
  vi.advanceTimersByTime(99);
  await settled();
  expect(log).toEqual(['end']);
  vi.advanceTimersByTime(1);
  await settled();
  expect(log).toEqual(['end', '1 requests were not answered within 100 ms after the input ended', 'close']);
});

test('a stream that ends in both directions at once closes, and nothing is answered', async () => {
  const both = new Duplex({ allowHalfOpen: false, read: () => {}, write: (_chunk, _encoding, done) => done() });
  const { transport, log } = open({}, both, true);
  await transport.start();
  both.push(line(request(1, 'a')));
  both.push(null);
  await settled();
  expect(log).toEqual(['close']);
});

test('a client whose server reads no more continues to read for a while, and then closes', async () => {
  const { transport, input, output, log } = open({ role: 'client', drainTimeout: 5000 });
  const received: unknown[] = [];
  transport.onmessage = (message) => void received.push(message);
  await transport.start();
  output.destroy(new Error('broken'));
  await settled();
  input.write(line(resultResponse(1, {})));
  await settled();
  vi.advanceTimersByTime(4999);
  await settled();
  expect([received, log]).toEqual([[resultResponse(1, {})], ['broken']]);
  vi.advanceTimersByTime(1);
  await settled();
  expect([log, transport.closeReason?.message]).toEqual([['broken', 'close'], 'broken']);
});

test('a server that waits for its reader does not read on because something else keeps the input open', async () => {
  const { transport, input, output } = open({ maxPendingBytes: 400_000 });
  await transport.start();
  input.pause();
  void transport.send(request(1, 'q', { text: 'x'.repeat(200_000) }));
  await settled();
  output.resume();
  await settled();
  await settled();
  expect(input.isPaused()).toBe(true);
});

test('input after the close is discarded, so that the streams can end', async () => {
  const { transport, input, output } = open({ release: undefined });
  await transport.start();
  output.resume();
  input.pause();
  await transport.close();
  input.write('x'.repeat(100_000));
  input.end();
  for (let turn = 0; turn < 10; turn += 1) await settled();
  expect([input.destroyed, output.destroyed]).toEqual([true, true]);
});
