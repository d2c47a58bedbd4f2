import { expect, test } from 'vitest';
import { errorResponse, notification, request, resultResponse } from '../jsonrpc/message.ts';
import { REVISIONS, type Revision } from '../protocol/revisions.ts';
import { admitBatch } from './batches.ts';

const profile = REVISIONS['2025-03-26'];
const none = (): boolean => false;
const refused = (message: string, id?: number) => errorResponse(id, { code: -32600, message });

test.each([
  [undefined, 'no revision has been negotiated yet'],
  ['2024-11-05', 'this connection speaks 2024-11-05'],
  ['2025-06-18', 'this connection speaks 2025-06-18'],
  ['2025-11-25', 'this connection speaks 2025-11-25'],
  ['2026-07-28', 'this connection speaks 2026-07-28'],
] satisfies [Revision | undefined, string][])('a batch is refused in revision %s', (revision, spoken) => {
  const rules = { profile: revision && REVISIONS[revision], inUse: none };
  expect(() => admitBatch([request(1, 'a')], rules)).toThrow(
    `Invalid request: batches exist only in revision 2025-03-26; ${spoken}`,
  );
});

test('requests, notifications and responses are accepted', () => {
  const messages = [request(1, 'a'), notification('n'), resultResponse(9, {})];
  expect(admitBatch(messages, { profile, inUse: none })).toEqual({ messages, requests: [1], errors: [] });
});

test('elements that cannot be delivered are answered one by one, and reported', () => {
  const reported: string[] = [];
  const batch = admitBatch(
    [
      request(1, 'a'),
      1,
      { jsonrpc: '2.0', id: 1, method: 1 },
      { jsonrpc: '2.0', id: 6, method: 1 },
      request(1, 'again'),
      request(5, 'b'),
      request(2, 'initialize'),
    ],
    { profile, inUse: (id) => id === 5, refused: ({ message }) => reported.push(message) },
  );
  const errors = [
    refused('Invalid request: a message must be a JSON object'),
    refused('Invalid request: "method" must be a string'),
    refused('Invalid request: "method" must be a string', 6),
    refused('Invalid request: id 1 occurs twice in one batch'),
    refused('Invalid request: id 5 is still in use'),
    refused('Invalid request: initialize must not be part of a batch', 2),
  ];
  expect(batch).toEqual({ messages: [request(1, 'a')], requests: [1], errors });
  expect(reported).toEqual(errors.map(({ error }) => error.message));
});

test('refused requests are reported even if the transport has no onerror', () => {
  const batch = admitBatch([1, request(5, 'b')], { profile, inUse: (id) => id === 5, answerInvalid: false });
  expect(batch.errors).toEqual([refused('Invalid request: id 5 is still in use')]);
});

test('long ids take little time', () => {
  const id = (n: number): string => 'x'.repeat(16_000) + String(n);
  const text = JSON.stringify(Array.from({ length: 1000 }, (_, n) => request(id(n), 'ping')));
  // Parsed, because texts that were made in another way may already be known to differ.
  const elements = JSON.parse(text) as unknown[];
  const before = process.cpuUsage();
  expect(admitBatch(elements, { profile, inUse: none }).messages).toHaveLength(1000);
  // The processor time of this process only. It took 0.4 seconds when each id was compared with all others.
  expect(process.cpuUsage(before).user).toBeLessThan(200_000);
});
