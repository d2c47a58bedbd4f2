import { expect, test } from 'vitest';
import { BatchAnswers, openBatch } from './batch.ts';
import { errorResponse, notification, request, resultResponse } from './message.ts';

test('a batch is split into its messages', () => {
  const elements = [request(1, 'a'), notification('notifications/b'), 5, request('1', 'c'), request(1, 'd')];
  const { messages, requests, errors } = openBatch(elements);
  expect(messages).toEqual([elements[0], elements[1], elements[3]]);
  expect(requests).toEqual([1, '1']);
  // Neither has an id: the second would be taken for the response to the first request 1.
  expect(errors).toEqual([
    { jsonrpc: '2.0', error: { code: -32600, message: 'Invalid request: a message must be a JSON object' } },
    { jsonrpc: '2.0', error: { code: -32600, message: 'Invalid request: id 1 occurs twice in one batch' } },
  ]);
});

test('an empty batch and one with too many messages are refused', () => {
  expect(() => openBatch([])).toThrow('must not be empty');
  expect(() => openBatch([1, 2, 3], 2)).toThrow('at most 2');
  expect(openBatch([1, 2], 2).errors).toHaveLength(2);
});

test('an error in this package is not reported as an invalid batch', () => {
  const broken = Object.defineProperty({}, 'id', {
    get: () => {
      throw new RangeError('broken');
    },
  });
  expect(() => openBatch([broken])).toThrow(RangeError);
});

test('an invalid message is delivered only as the response to a waiting request', () => {
  const { messages, errors } = openBatch([
    { jsonrpc: '2.0', id: 'a' },
    { jsonrpc: '2.0', result: {} },
  ]);
  expect(messages).toEqual([]);
  expect(errors).toMatchObject([{ id: 'a' }, { error: { message: expect.stringContaining('Invalid response') } }]);
});

test('responses wait for the last response of their batch', () => {
  const answers = new BatchAnswers();
  answers.add(openBatch([request(1, 'a'), request(2, 'b')]));
  answers.add(openBatch([request(3, 'c')]));
  expect(answers.take(resultResponse(2, {}))).toBeUndefined();
  expect(answers.take(resultResponse(3, {}))).toEqual([resultResponse(3, {})]);
  expect(answers.take(notification('notifications/x'))).toEqual(notification('notifications/x'));
  expect(answers.take(resultResponse(9, {}))).toEqual(resultResponse(9, {}));
  expect(answers.take(resultResponse(1, {}))).toEqual([resultResponse(2, {}), resultResponse(1, {})]);
});

test('errors are sent with the responses of their batch, and do not delay other batches', () => {
  const answers = new BatchAnswers();
  const batch = openBatch([request(1, 'a'), 5]);
  answers.add(batch);
  // A request from this side may have the same id, and an error without an id answers no request.
  for (const other of [request(1, 'own'), errorResponse(undefined, { code: -32700, message: 'Parse error' })]) {
    expect(answers.take(other)).toBe(other);
  }
  expect(answers.take(resultResponse(1, {}))).toEqual([...batch.errors, resultResponse(1, {})]);
  // The id may be used again, outside of the batch.
  expect(answers.take(resultResponse(1, {}))).toEqual(resultResponse(1, {}));
});

test('a cancelled request gets no response, and no longer delays its batch', () => {
  const answers = new BatchAnswers();
  answers.add(openBatch([request(1, 'a'), request(2, 'b')]));
  expect(answers.take(resultResponse(1, {}))).toBeUndefined();
  expect(answers.abandon(2)).toEqual([resultResponse(1, {})]);
  expect(answers.abandon(2)).toBeUndefined();
  answers.add(openBatch([request(3, 'c')]));
  expect(answers.abandon(3)).toBeUndefined();
});

test('responses above 1 MiB do not wait for the last one of their batch, whichever batch is large', () => {
  const answers = new BatchAnswers();
  const large = (id: number, size: number) => resultResponse(id, { text: 'x'.repeat(size) });
  answers.add(openBatch([request(1, 'a'), request(2, 'b'), request(3, 'c')]));
  answers.add(openBatch([request(4, 'd'), request(5, 'e')]));
  const [one, two] = [large(1, 900_000), large(2, 200_000)];
  expect(answers.take(one)).toBeUndefined();
  expect(answers.take(large(4, 100_000))).toBeUndefined();
  expect(answers.take(two)).toEqual([one, two]);
  // There is room again.
  expect(answers.take(large(5, 900_000))).toHaveLength(2);
  expect(answers.take(resultResponse(3, {}))).toEqual([resultResponse(3, {})]);
  answers.add(openBatch([request(6, 'f'), request(7, 'g')]));
  expect(answers.take(resultResponse(6, {}))).toBeUndefined();
});

test('errors above 1 MiB do not wait', () => {
  const answers = new BatchAnswers();
  const id = 'x'.repeat(2_000_000);
  const batch = openBatch([request(1, 'a'), { jsonrpc: '2.0', id, method: 5 }]);
  expect(answers.add(batch)).toEqual(batch.errors);
  expect(answers.take(resultResponse(1, {}))).toEqual([resultResponse(1, {})]);
});

test('a malformed response in a batch fails its request, and its error has no id', () => {
  const { messages, errors } = openBatch([{ jsonrpc: '2.0', id: 1, result: 5 }]);
  const error = { code: -32600, message: expect.stringContaining('Invalid response') };
  expect(messages).toEqual([{ jsonrpc: '2.0', id: 1, error }]);
  expect(errors).toEqual([{ jsonrpc: '2.0', error }]);
});
