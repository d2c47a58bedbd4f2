import { expect, test } from 'vitest';
import { askedServer } from '../../../../test/support/own-requests.ts';
import { settled, unhandled } from '../../../../test/support/service.ts';
import { UpstreamSubscriptions } from './upstream-subscriptions.ts';

const URI = 'x://y';

function setUp() {
  const server = askedServer();
  const errors: Error[] = [];
  return {
    ...server,
    errors,
    subscriptions: new UpstreamSubscriptions(server.send, (error) => void errors.push(error)),
  };
}

test('the next subscription waits until the server has let go of the last', async () => {
  const { subscriptions, asked, answer } = setUp();
  const one = subscriptions.join(URI);
  answer();
  await one.made;
  const left = subscriptions.leave(one);
  const two = subscriptions.join(URI);
  await settled();
  expect(asked()).toEqual([`resources/subscribe ${URI}`, `resources/unsubscribe ${URI}`]);
  answer();
  await left;
  await settled();
  expect(asked()).toEqual([`resources/subscribe ${URI}`]);
  answer();
  await two.made;
});

test('one that was left while it waited is not made', async () => {
  const { subscriptions, asked, answer } = setUp();
  const one = subscriptions.join(URI);
  answer();
  await one.made;
  const left = subscriptions.leave(one);
  await subscriptions.leave(subscriptions.join(URI));
  asked();
  answer();
  await left;
  await settled();
  expect(asked()).toEqual([]);
});

test('one that the server does not answer is taken back with the last who waits for it, and undone', async () => {
  const lost = unhandled();
  const { subscriptions, asked, answer, errors } = setUp();
  const [one, two] = [subscriptions.join(URI), subscriptions.join(URI)];
  await subscriptions.leave(one);
  expect(asked()).toEqual([`resources/subscribe ${URI}`]);
  const left = subscriptions.leave(two);
  expect(asked()).toEqual(['cancelled resources/subscribe', `resources/unsubscribe ${URI}`]);
  // It may never have been made.
  answer(new Error('not subscribed'));
  await left;
  expect(errors).toEqual([]);
  expect(await lost()).toEqual([]);
});

test('one that is refused fails all who wait, and is asked for anew by the next', async () => {
  const { subscriptions, asked, answer } = setUp();
  const [one, two] = [subscriptions.join(URI), subscriptions.join(URI)];
  answer(new Error('no such resource'));
  await expect(one.made).rejects.toThrow('no such resource');
  await expect(two.made).rejects.toThrow('no such resource');
  const three = subscriptions.join(URI);
  answer();
  await three.made;
  await subscriptions.leave(one);
  await subscriptions.leave(two);
  expect(asked()).toEqual([`resources/subscribe ${URI}`, `resources/subscribe ${URI}`]);
});
