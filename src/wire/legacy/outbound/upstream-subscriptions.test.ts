import { expect, test } from 'vitest';
import { askedServer } from '../../../../test/support/own-requests.ts';
import { settled, unhandled } from '../../../../test/support/service.ts';
import { UpstreamSubscriptions } from './upstream-subscriptions.ts';

const URI = 'x://y';

function setUp() {
  const server = askedServer();
  const errors: Error[] = [];
  const subscriptions = new UpstreamSubscriptions(server.send, (error) => void errors.push(error));
  const join = (signal = new AbortController().signal): Promise<void> => subscriptions.join(URI, signal);
  return { ...server, errors, subscriptions, join };
}

test('the next subscription waits until the last one is unsubscribed', async () => {
  const { subscriptions, join, asked, answer } = setUp();
  const one = join();
  answer();
  await one;
  const left = subscriptions.leave(URI);
  const two = join();
  await settled();
  expect(asked()).toEqual([`resources/subscribe ${URI}`, `resources/unsubscribe ${URI}`]);
  answer();
  await left;
  await settled();
  expect(asked()).toEqual([`resources/subscribe ${URI}`]);
  answer();
  await two;
});

test('a subscription that is cancelled while it waits is not requested', async () => {
  const { subscriptions, join, asked, answer } = setUp();
  const one = join();
  answer();
  await one;
  const left = [subscriptions.leave(URI)];
  void join();
  left.push(subscriptions.leave(URI));
  asked();
  answer();
  await Promise.all(left);
  expect(asked()).toEqual([]);
});

test('a pending subscription is cancelled with its last waiter, and then unsubscribed', async () => {
  const lost = unhandled();
  const { subscriptions, join, asked, answer, errors } = setUp();
  const [one, two] = [new AbortController(), new AbortController()];
  const joined = [join(one.signal), join(two.signal)];
  one.abort();
  await joined[0];
  await subscriptions.leave(URI);
  expect(asked()).toEqual([`resources/subscribe ${URI}`]);
  two.abort();
  await joined[1];
  const left = subscriptions.leave(URI);
  expect(asked()).toEqual(['cancelled resources/subscribe', `resources/unsubscribe ${URI}`]);
  // The server may have ignored the request.
  answer(new Error('not subscribed'));
  await left;
  expect(errors).toEqual([]);
  expect(await lost()).toEqual([]);
});

test('a refused subscription fails all waiters, and the next caller requests it again', async () => {
  const { subscriptions, join, asked, answer } = setUp();
  const [one, two] = [join(), join()];
  answer(new Error('no such resource'));
  await expect(one).rejects.toThrow('no such resource');
  await expect(two).rejects.toThrow('no such resource');
  const three = join();
  answer();
  await three;
  await subscriptions.leave(URI);
  await subscriptions.leave(URI);
  expect(asked()).toEqual([`resources/subscribe ${URI}`, `resources/subscribe ${URI}`]);
});
