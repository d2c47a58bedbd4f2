import { expect, test } from 'vitest';
import { BaseExchange, abortReason, isAborted, offAbort, onAbort } from './base-exchange.ts';
import { derive } from './derive.ts';
import type { Exchange } from './exchange.ts';

test('notes are created when they are first used', () => {
  class Noting extends BaseExchange {}
  const exchange = new Noting();
  expect(exchange.noted).toBeUndefined();
  exchange.notes.set('a', 1);
  expect(exchange.noted).toBe(exchange.notes);
});

class Request extends BaseExchange implements Exchange {
  readonly method = 'm';
  readonly params = {};
  readonly caller = {} as Exchange['caller'];
  notify = () => Promise.resolve();
  ask = () => Promise.resolve({});

  override settle(reason: Error): void {
    super.settle(reason);
  }

  override fire(reason: Error): void {
    super.fire(reason);
  }
}

/** An exchange itself, and one that middleware derived from it. */
const shapes: [string, (exchange: Request) => Exchange][] = [
  ['that is not derived', (exchange) => exchange],
  ['derived', (exchange) => derive(exchange, {})],
];

test.each(shapes)('all listeners of an exchange %s are notified once when it is cancelled', (_, shape) => {
  const request = new Request();
  const exchange = shape(request);
  const notified: string[] = [];
  for (const name of ['a', 'b', 'c']) onAbort(exchange, () => notified.push(name));
  expect(isAborted(exchange)).toBe(false);
  const reason = new Error('enough');
  request.fire(reason);
  expect(notified.toSorted()).toEqual(['a', 'b', 'c']);
  expect(isAborted(exchange)).toBe(true);
  expect(abortReason(exchange)).toBe(reason);
  request.fire(new Error('again'));
  expect(notified).toHaveLength(3);
});

test.each(shapes)('a removed listener of an exchange %s is not notified', (_, shape) => {
  const request = new Request();
  const exchange = shape(request);
  const notified: string[] = [];
  const [first, second] = ['first', 'second'].map((name) => () => void notified.push(name));
  onAbort(exchange, first!);
  onAbort(exchange, second!);
  offAbort(exchange, first!);
  request.fire(new Error('enough'));
  expect(notified).toEqual(['second']);
});

test('a settled exchange notifies nobody, and is aborted if its signal is first read afterwards', () => {
  const request = new Request();
  onAbort(request, () => expect.fail('called back'));
  request.settle(new Error('answered'));
  expect(isAborted(request)).toBe(true);
  const watched = new Request();
  void watched.signal;
  watched.settle(new Error('answered'));
  expect(isAborted(watched)).toBe(false);
});
