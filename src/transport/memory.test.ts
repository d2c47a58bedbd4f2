import { describe, expect, test } from 'vitest';
import { notification } from '../jsonrpc/message.ts';
import { transportSuite } from '../testing/contracts/transport-suite.ts';
import { memoryTransportPair } from './memory.ts';

describe('the memory pair follows the contract', () => {
  const suite = transportSuite(() => {
    const [a, b] = memoryTransportPair();
    return Promise.resolve({ a, b });
  });
  for (const { name, run } of suite) test(name, run);
});

describe('the memory pair', () => {
  test('delivers messages by reference, in a later turn than send', async () => {
    const [a, b] = memoryTransportPair();
    const received: unknown[] = [];
    b.onmessage = (message) => received.push(message);
    await Promise.all([a.start(), b.start()]);
    const message = notification('n', {});
    const sent = a.send(message);
    expect(received).toEqual([]);
    await sent;
    expect(received[0]).toBe(message);
  });

  test('cannot be started twice', async () => {
    const [a] = memoryTransportPair();
    await a.start();
    await expect(a.start()).rejects.toThrow('already been started');
  });
});
