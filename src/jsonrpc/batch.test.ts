import { expect, test } from 'vitest';
import { BatchAnswers, openBatch } from './batch.ts';
import { notification, request, resultResponse } from './message.ts';

test('a batch is taken apart', () => {
  const elements = [request(1, 'a'), notification('notifications/b'), 5, request('1', 'c'), request(1, 'd')];
  const { messages, requests, errors } = openBatch(elements);
  expect(messages).toEqual([elements[0], elements[1], elements[3]]);
  expect(requests).toEqual([1, '1']);
  // Neither carries an id: the second would be taken for the answer to the first request 1.
  expect(errors.map((error) => 'id' in error)).toEqual([false, false]);
});

test('an empty batch and one that is too large are refused', () => {
  expect(() => openBatch([])).toThrow('must not be empty');
  expect(() => openBatch([1, 2, 3], 2)).toThrow('at most 2');
});

test('responses are held back until the last of their batch', () => {
  const answers = new BatchAnswers();
  answers.add(openBatch([request(1, 'a'), request(2, 'b')]));
  answers.add(openBatch([request(3, 'c')]));
  expect(answers.take(resultResponse(2, {}))).toBeUndefined();
  expect(answers.take(resultResponse(3, {}))).toEqual([resultResponse(3, {})]);
  expect(answers.take(notification('notifications/x'))).toEqual(notification('notifications/x'));
  expect(answers.take(resultResponse(9, {}))).toEqual(resultResponse(9, {}));
  expect(answers.take(resultResponse(1, {}))).toEqual([resultResponse(2, {}), resultResponse(1, {})]);
});

test('what was cancelled is left out, and completes its batch', () => {
  const answers = new BatchAnswers();
  answers.add(openBatch([request(1, 'a'), request(2, 'b')]));
  expect(answers.take(resultResponse(1, {}))).toBeUndefined();
  expect(answers.abandon(2)).toEqual([resultResponse(1, {})]);
  expect(answers.abandon(2)).toBeUndefined();
  answers.add(openBatch([request(3, 'c')]));
  expect(answers.abandon(3)).toBeUndefined();
});

test('a malformed response in a batch fails what waits for it, and is answered without its id', () => {
  const { messages, errors } = openBatch([{ jsonrpc: '2.0', id: 1, result: 5 }]);
  const error = { code: -32600, message: expect.stringContaining('Invalid response') };
  expect(messages).toEqual([{ jsonrpc: '2.0', id: 1, error }]);
  expect(errors).toEqual([{ jsonrpc: '2.0', error }]);
});
