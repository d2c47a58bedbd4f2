import { describe, expect, test } from 'vitest';
import { countTurns } from '../../../../test/support/turns.ts';
import { receiveBudget } from '../../../base/receive-budget.ts';
import { MAX_AT_ONCE } from '../../../base/parsed-at-once.ts';
import { inShortTurns } from '../../../base/short-turns.ts';
import { Lifetime } from '../../../base/lifetime.ts';
import { Deferred } from '../../../base/deferred.ts';
import { httpCarrier } from './http-carrier.ts';
import type { HttpReply } from './http.ts';
import { parsedInTurn } from './parsed-in-turn.ts';
import { StreamableClient } from './streamable-client.ts';

const COUNT = 20;
const members = Array.from({ length: 90_000 }, (_, n) => `"k${n}":1`).join(',');
const textOf = (id: unknown): string => `{"jsonrpc":"2.0","id":${String(id)},"result":{"a":{${members}}}}`;

/** Responses that all end in the same turn of the event loop. */
function responses(isStream: boolean) {
  const ends = new Deferred();
  let begun = 0;
  const http = ({ body = '{}' }: { body?: string | undefined }): Promise<HttpReply> => {
    const text = textOf((JSON.parse(body) as { id: unknown }).id);
    if ((begun += 1) === COUNT) setImmediate(() => ends.resolve());
    return Promise.resolve({
      status: 200,
      header: (name) => (name === 'content-type' ? (isStream ? 'text/event-stream' : 'application/json') : undefined),
      text: () => ends.promise.then(() => text),
      discard: () => {},
      async *chunks() {
        yield Buffer.from(`data: ${text}\n`);
        await ends.promise;
        yield Buffer.from('\n');
      },
    });
  };
  return http;
}

describe.each([
  ['JSON', false],
  ['event streams', true],
])('large answers as %s that end together are parsed in turns of the event loop', (_, isStream) => {
  test('of a server without sessions', async () => {
    const carrier = httpCarrier(new URL('http://localhost/mcp'), { http: responses(isStream) });
    const now = countTurns();
    const lifetime = new Lifetime();
    const asked = { method: 'tools/call', params: {}, lifetime, onnotification: () => {} };
    const seen = await Promise.all(Array.from({ length: COUNT }, () => carrier.request(asked).then(now)));
    expect(new Set(seen).size).toBeGreaterThan(1);
    await carrier.close();
  });

  test('of a session', async () => {
    const client = new StreamableClient(new URL('http://localhost/mcp'), { http: responses(isStream) });
    const now = countTurns();
    const all = new Deferred();
    const seen: number[] = [];
    client.onmessage = () => {
      if (seen.push(now()) === COUNT) all.resolve();
    };
    await client.start();
    for (let id = 1; id <= COUNT; id += 1) void client.send({ jsonrpc: '2.0', id, method: 'tools/call' });
    await all.promise;
    expect(new Set(seen).size).toBeGreaterThan(1);
    await client.close();
  });
});

test('only the end of a large event waits for its turn, not each part of it', async () => {
  const http = responses(true);
  const carrier = httpCarrier(new URL('http://localhost/mcp'), {
    http: async (request) => {
      const reply = await http(request);
      return {
        ...reply,
        async *chunks() {
          yield Buffer.from(`data: ${await reply.text(Number.POSITIVE_INFINITY)}\n\n`);
        },
      };
    },
  });
  let over = false;
  let turnsOfOthers = 0;
  const busy = (): void => {
    turnsOfOthers += 1;
    const end = performance.now() + 25;
    while (performance.now() < end);
    if (!over) void inShortTurns(busy, 'another server');
  };
  const answers = Array.from({ length: COUNT }, () =>
    carrier.request({ method: 'tools/call', params: {}, lifetime: new Lifetime(), onnotification: () => {} }),
  );
  for (let count = 0; count < 2; count += 1) void inShortTurns(busy, 'another server');
  await Promise.all(answers);
  over = true;
  // An answer has more than 200 parts.
  expect(turnsOfOthers).toBeLessThan(5 * COUNT);
  await carrier.close();
});

test('a small text is parsed at once', () => {
  expect(parsedInTurn('x'.repeat(MAX_AT_ONCE), 'a', ({ length }) => length)).toBe(MAX_AT_ONCE);
});

test('texts that wait are counted, and fail if they take too much memory', async () => {
  const text = 'x'.repeat(16 * 1024 * 1024);
  const busy = (): void => {
    const end = performance.now() + 30;
    while (performance.now() < end);
  };
  const parsed = Array.from({ length: 20 }, async (_, n) => parsedInTurn(text, `server ${n}`, busy));
  expect(receiveBudget.bytes).toBeLessThanOrEqual(receiveBudget.limit);
  expect(receiveBudget.bytes).toBeGreaterThan(receiveBudget.limit / 2);
  const outcomes = await Promise.allSettled(parsed);
  expect(outcomes.filter(({ status }) => status === 'rejected').length).toBeGreaterThan(0);
  expect(outcomes.at(-1)).toMatchObject({ status: 'fulfilled' });
  expect(receiveBudget.bytes).toBe(0);
});
