import { expect, test } from 'vitest';
import { request, resultResponse, type Message } from '../../../jsonrpc/message.ts';
import { profileOf } from '../../../protocol/revisions.ts';
import { Incoming } from './incoming.ts';

function incoming(revision = '2025-11-25') {
  const delivered: Message[] = [];
  const reported: string[] = [];
  const answered: unknown[] = [];
  const texts = new Incoming({
    deliver: (message) => void delivered.push(message),
    report: ({ message }) => void reported.push(message),
    answer: (response) => void answered.push(response),
  });
  texts.profile = profileOf(revision);
  return { delivered, reported, answered, texts, take: (value: unknown) => texts.receive(JSON.stringify(value)) };
}

const malformed = (id: unknown) => ({ jsonrpc: '2.0', id, method: 'elicitation/create', params: 'str' });
const error = (id: number | string) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32600, message: 'Invalid request: "params" must be an object' },
});

test('a malformed request is reported, and answered with its id', () => {
  const { take, delivered, reported, answered } = incoming();
  take(malformed('s1'));
  expect([delivered, answered]).toEqual([[], [error('s1')]]);
  expect(reported).toEqual(['Invalid request: "params" must be an object']);
});

test.each([
  ['a notification', malformed(undefined)],
  ['a request with an invalid id', malformed(1.5)],
  ['a response', { jsonrpc: '2.0', id: 1, result: 'text' }],
  ['an object without a method and a result', { jsonrpc: '2.0', id: 1 }],
  ['a value that is not an object', 'hello'],
])('if malformed, %s is reported and not answered', (_, value) => {
  const { take, reported, answered } = incoming();
  take(value);
  expect([answered, reported.length]).toEqual([[], 1]);
});

test('a malformed request is not answered if a request in flight has its id', () => {
  const { take, texts, answered, reported } = incoming();
  take(request(1, 'ping'));
  take(malformed(1));
  expect([answered, reported.length]).toEqual([[], 1]);
  texts.sending(resultResponse(1, {}));
  take(malformed(1));
  expect(answered).toEqual([error(1)]);
});

test('in a batch, malformed requests with unique ids are answered', () => {
  const { take, delivered, answered, reported } = incoming('2025-03-26');
  take([malformed(1), request(1, 'ping'), malformed(2)]);
  expect([delivered, answered]).toEqual([[request(1, 'ping')], [error(2)]]);
  expect(reported).toHaveLength(2);
});

test('a batch with long ids takes little time', () => {
  const { texts, delivered, answered } = incoming('2025-03-26');
  const id = (n: number): string => 'x'.repeat(16_000) + String(n);
  const batch = Array.from({ length: 1000 }, (_, n) => (n % 2 === 0 ? request(id(n), 'ping') : malformed(id(n))));
  const text = JSON.stringify(batch);
  const before = process.cpuUsage();
  texts.receive(text);
  expect([delivered.length, answered.length]).toEqual([500, 500]);
  // The processor time of this process only. It took 0.27 seconds when each id was compared with all others.
  expect(process.cpuUsage(before).user).toBeLessThan(150_000);
});
