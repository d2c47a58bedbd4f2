import { expect, test } from 'vitest';
import type { JsonObject, Request } from '../jsonrpc/message.ts';
import { CallOrder, RecordedCalls } from './call-order.ts';

const REVISION = '2025-11-25';
const asked = (params: JsonObject): Request => ({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
const numbers = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

/** A recording of a thousand calls of different tools. */
const order = new CallOrder(
  new RecordedCalls(
    numbers(1000).map((n) => ({
      n,
      revision: REVISION,
      message: asked({ name: `tool-${n}`, arguments: { n, list: [1, 2] } }),
      steps: [],
      session: 1,
      sent: 0,
      answered: 1,
      cancelled: undefined,
    })),
  ),
  false,
);

function missed(method: string, params: JsonObject): string {
  const found = order.find({ jsonrpc: '2.0', id: 1, method, params }, REVISION)!;
  return 'miss' in found ? found.miss.message : 'found';
}

test('the nearest call is one of the same tool', () => {
  expect(missed('tools/call', { name: 'tool-70', arguments: { n: 71, list: [1, 2] } })).toBe(
    'Invalid params: tools/call tool-70 is not in the recording with these parameters. Record 70 is the nearest, but arguments.n is 71 and not 70',
  );
});

test.each<[string, JsonObject]>([
  ['many keys', Object.fromEntries(numbers(90_000).map((n) => [`k${n}`, n]))],
  ['a long list', { list: numbers(190_000) }],
])('the nearest call to one with %s is found at once', (_, args) => {
  const before = process.cpuUsage();
  expect(missed('tools/call', { name: 'other', arguments: args })).toContain('is the nearest');
  expect(process.cpuUsage(before).user).toBeLessThan(500_000);
});

test('of a long method, tool or argument, the error has the beginning', () => {
  const long = 'x'.repeat(1_000_000);
  for (const message of [missed(long, {}), missed('tools/call', { name: long, arguments: { [long]: long } })])
    expect(message.length).toBeLessThan(1000);
});
