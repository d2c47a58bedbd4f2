import { expect, test } from 'vitest';
import type { JsonObject, Request } from '../jsonrpc/message.ts';
import { CallOrder, RecordedCalls } from './call-order.ts';

const REVISION = '2025-11-25';
const asked = (params: JsonObject): Request => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** A recording of two thousand calls of different tools. */
const recorded = new RecordedCalls(
  numbers(2000).map((n) => ({
    n,
    revision: REVISION,
    message: asked({ name: `tool-${n}`, arguments: { n, list: [1, 2] } }),
    steps: [],
    session: 1,
    sent: 0,
    answered: 1,
    cancelled: undefined,
  })),
);
const order = new CallOrder(recorded, false);

function missed(method: string, params: JsonObject): string {
  const found = order.find({ jsonrpc: '2.0', id: 1, method, params }, REVISION)!;
  return 'miss' in found ? found.miss.message : 'found';
}

test('the nearest call is one of the same tool', () => {
  expect(missed('tools/call', { name: 'tool-70', arguments: { n: 71, list: [1, 2] } })).toBe(
    'Invalid params: tools/call tool-70 is not in the recording with these parameters. Record 70 is the nearest, but arguments.n is 71 and not 70',
  );
});

// A request with so many keys takes V8 about 150 ms: it parses them, and the mock sorts them.
test.each<[string, (prefix: string) => JsonObject]>([
  ['many keys', (prefix) => Object.fromEntries(numbers(90_000).map((n) => [`${prefix}${n}`, n]))],
  ['a long list', (prefix) => ({ [prefix]: numbers(190_000) })],
])('a request with %s is not compared, so one keeps the loop for less than 250 ms', (_, args) => {
  const texts = ['a', 'b', 'c'].map((prefix) => JSON.stringify({ name: 'other', arguments: args(prefix) }));
  const times = texts.map((text) => {
    const before = process.cpuUsage();
    expect(missed('tools/call', JSON.parse(text) as JsonObject)).toBe(
      'Invalid params: tools/call other is not in the recording with these parameters, which are too large to look for the nearest record',
    );
    return process.cpuUsage(before).user;
  });
  expect(Math.min(...times)).toBeLessThan(250_000);
});

test('a large request gets the first answer for the same tool, if the mock is lenient', () => {
  const call = new CallOrder(recorded, true).find(asked({ name: 'tool-70', text: 'x'.repeat(1_000_000) }), REVISION);
  expect(call).toMatchObject({ call: { n: 70 } });
  const other = new CallOrder(recorded, true).find(asked({ name: 'other', text: 'x'.repeat(1_000_000) }), REVISION);
  expect(other).toHaveProperty('miss');
});

test('of a long method, tool or argument, the error has the beginning', () => {
  const long = 'x'.repeat(1_000_000);
  for (const message of [missed(long, {}), missed('tools/call', { name: long, arguments: { [long]: long } })])
    expect(message.length).toBeLessThan(1000);
});
