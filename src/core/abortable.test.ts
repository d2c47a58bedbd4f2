import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { Abortable, AbortableExchange, abortReason, isAborted, offAbort, onAbort, untilAborted } from './abortable.ts';
import { derive, type Exchange } from './exchange.ts';

class Work extends Abortable {
  override settle(reason: Error): void {
    super.settle(reason);
  }

  override fire(reason: Error): void {
    super.fire(reason);
  }
}

test('the signal fires with the reason, whether it was wanted before or after', () => {
  const reason = new Error('enough');
  const before = new Work();
  const { signal } = before;
  expect([signal.aborted, before.ended]).toEqual([false, undefined]);
  before.fire(reason);
  expect(signal.reason).toBe(reason);
  const after = new Work();
  after.fire(reason);
  expect(after.signal.reason).toBe(reason);
  expect(after.ended).toBe(reason);
});

test('what is settled ends without a word to who works on it', () => {
  const work = new Work();
  const { signal } = work;
  work.settle(new Error('answered'));
  expect(signal.aborted).toBe(false);
  expect(work.ended).toMatchObject({ message: 'answered' });
});

test('notes are made when they are first wanted', () => {
  class Noting extends AbortableExchange {}
  const exchange = new Noting();
  expect(exchange.noted).toBeUndefined();
  exchange.notes.set('a', 1);
  expect(exchange.noted).toBe(exchange.notes);
});

class Request extends AbortableExchange implements Exchange {
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

/** An exchange as it came, and one that middleware has made of it. */
const shapes: [string, (exchange: Request) => Exchange][] = [
  ['of its own', (exchange) => exchange],
  ['derived', (exchange) => derive(exchange, {})],
];

test.each(shapes)('all that listen to an exchange %s hear once that it is given up', (_, shape) => {
  const request = new Request();
  const exchange = shape(request);
  const heard: string[] = [];
  for (const name of ['a', 'b', 'c']) onAbort(exchange, () => heard.push(name));
  expect(isAborted(exchange)).toBe(false);
  const reason = new Error('enough');
  request.fire(reason);
  expect(heard.toSorted()).toEqual(['a', 'b', 'c']);
  expect(isAborted(exchange)).toBe(true);
  expect(abortReason(exchange)).toBe(reason);
  request.fire(new Error('again'));
  expect(heard).toHaveLength(3);
});

test.each(shapes)('who listens to an exchange %s no more hears nothing', (_, shape) => {
  const request = new Request();
  const exchange = shape(request);
  const heard: string[] = [];
  const [first, second] = ['first', 'second'].map((name) => () => void heard.push(name));
  onAbort(exchange, first!);
  onAbort(exchange, second!);
  offAbort(exchange, first!);
  request.fire(new Error('enough'));
  expect(heard).toEqual(['second']);
});

test('an exchange that is settled calls nobody back, and counts as given up where nobody has taken its signal', () => {
  const request = new Request();
  onAbort(request, () => expect.fail('called back'));
  request.settle(new Error('answered'));
  expect(isAborted(request)).toBe(true);
  const watched = new Request();
  void watched.signal;
  watched.settle(new Error('answered'));
  expect(isAborted(watched)).toBe(false);
});

test('work is waited for until it is done, fails, or is not wanted any more', async () => {
  const controller = new AbortController();
  const { signal } = controller;
  await untilAborted(Promise.resolve(), signal);
  await expect(untilAborted(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed');
  const endless = untilAborted(new Promise(() => {}), signal);
  expect(getEventListeners(signal, 'abort')).toHaveLength(1);
  controller.abort();
  await endless;
  await untilAborted(new Promise(() => {}), signal);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
