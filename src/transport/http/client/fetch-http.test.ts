import { expect, test } from 'vitest';
import { garbageCollector } from '../../../../test/support/garbage-collector.ts';
import { fetchHttp } from './fetch-http.ts';

test('a text that comes through fetch one byte at a time takes little more memory than its bytes', async () => {
  const length = 300_000;
  const collect = garbageCollector();
  const chunk = Buffer.from('a');
  let sent = 0;
  let [before, after] = [0, 0];
  const memory = (): number => {
    collect();
    return process.memoryUsage().heapUsed;
  };
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    sent += 1;
    if (sent <= length) controller.enqueue(chunk);
    else {
      after = memory();
      controller.close();
    }
  };
  const send = fetchHttp(async () => new Response(new ReadableStream({ pull })));
  const reply = await send({ method: 'GET', url: new URL('http://localhost/'), headers: {} });
  before = memory();
  expect(await reply.text(length)).toBe('a'.repeat(length));
  expect(after - before).toBeLessThan(4 * length);
});
