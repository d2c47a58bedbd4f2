import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { memoryTransportPair } from '../../src/transport/memory.ts';
import { serve } from '../../src/wire/serve.ts';
import { featureServer } from '../support/features.ts';
import { expectAnswer, classify, classifyValue, seed, texts } from './malformed.ts';

type JsonObject = Record<string, any>;

test('10,000 random values over memory are answered correctly, or rejected', async () => {
  console.info(`Random inputs have seed ${seed}.`);
  const [ours, theirs] = memoryTransportPair();
  const errors: Error[] = [];
  await serve(featureServer().service, ours, { onerror: (error) => errors.push(error) });
  const received: JsonObject[] = [];
  let look = (): void => {};
  theirs.onmessage = (message: JsonObject) => {
    received.push(message);
    look();
  };
  await theirs.start();
  const until = (condition: () => boolean, what: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(what)), 10_000);
      look = () => {
        if (!condition()) return;
        clearTimeout(timer);
        resolve();
      };
      look();
    });
  const say = (message: unknown): Promise<void> => theirs.send(message as never);
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'fuzz', version: '1' } };
  await say({ jsonrpc: '2.0', id: 'open', method: 'initialize', params });
  await say({ jsonrpc: '2.0', method: 'notifications/initialized' });
  await until(() => received.length === 1, 'initialize is answered');

  const values = texts
    .filter((text) => classify(text).kind !== 'parse error')
    .map((text) => JSON.parse(Buffer.from(text).toString()) as unknown)
    .map((value) => ({ classified: classifyValue(value), value }));
  const property = fc.asyncProperty(fc.array(values, { minLength: 50, maxLength: 50 }), async (messages) => {
    received.length = 0;
    for (const { classified, value } of messages) {
      const sent = await say(value).then(
        () => true,
        () => false,
      );
      expect(sent).toBe(classified.kind !== 'invalid');
    }
    await say({ jsonrpc: '2.0', id: 'after', method: 'ping' });
    const ids = messages.flatMap(({ classified }) => (classified.kind === 'request' ? [classified.id] : []));
    const answered = (): boolean => {
      const found = new Set(received.map(({ id }) => id));
      // Of two requests with the same id, one is refused without an id.
      return found.has('after') && ids.every((id) => found.has(id));
    };
    await until(answered, 'every request is answered');
    received.forEach(expectAnswer);
  });
  await fc.assert(property, { numRuns: 200, seed, endOnFailure: true });

  received.length = 0;
  await say({ jsonrpc: '2.0', id: 'good', method: 'tools/call', params: { name: 'add', arguments: { a: 1, b: 2 } } });
  await until(() => received.length > 0, 'a good request is answered');
  expect(received).toEqual([
    expect.objectContaining({ id: 'good', result: expect.objectContaining({ structuredContent: { result: 3 } }) }),
  ]);
  // Only errors of the client are reported, none of this package.
  expect(errors.filter((error) => error instanceof TypeError || error instanceof RangeError)).toEqual([]);
  await theirs.close();
});
