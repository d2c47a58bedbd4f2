import { expect, test } from 'vitest';
import { askedServer } from '../../../../test/support/own-requests.ts';
import { settled, unhandled } from '../../../../test/support/service.ts';
import type { LogLevel } from '../../../protocol/logging.ts';
import { ServerSetting } from './server-setting.ts';

const forever = new AbortController().signal;

function setUp() {
  const server = askedServer();
  const wanted: { level: LogLevel | undefined } = { level: undefined };
  const level = new ServerSetting<LogLevel>(
    (value) => server.send('logging/setLevel', { level: value }),
    () => wanted.level,
  );
  /** A caller that wants the given level from now on. */
  const want = (value: LogLevel, signal = forever): Promise<void> => {
    wanted.level = value;
    return level.adjust(signal);
  };
  return { ...server, level, want };
}

test('a level is requested once, and not at all if nobody wants one', async () => {
  const { level, want, asked, answer } = setUp();
  await level.adjust();
  const both = [want('info'), want('info')];
  answer();
  await Promise.all(both);
  await want('info');
  expect(asked()).toEqual(['logging/setLevel info']);
});

test('only one change is requested at a time', async () => {
  const { want, asked, answer } = setUp();
  const one = want('error');
  const two = want('debug');
  await settled();
  expect(asked()).toEqual(['logging/setLevel error']);
  answer();
  await one;
  await settled();
  expect(asked()).toEqual(['logging/setLevel debug']);
  answer();
  await two;
});

test('a refusal affects only callers that want the refused level', async () => {
  const { want, asked, answer } = setUp();
  const one = want('error');
  const two = want('debug');
  const three = want('debug');
  answer(new Error('first'));
  await expect(one).rejects.toThrow('first');
  await settled();
  answer(new Error('second'));
  await expect(two).rejects.toThrow('second');
  await expect(three).rejects.toThrow('second');
  expect(asked()).toEqual(['logging/setLevel error', 'logging/setLevel debug']);
});

test('a waiter that leaves delays no other, and the last one cancels the request', async () => {
  const lost = unhandled();
  const { want, asked, answer } = setUp();
  const [first, second] = [new AbortController(), new AbortController()];
  const waiting = [want('info', first.signal), want('info', second.signal)];
  first.abort();
  await waiting[0];
  expect(asked()).toEqual(['logging/setLevel info']);
  second.abort();
  await waiting[1];
  expect(asked()).toEqual(['cancelled logging/setLevel']);
  // The state of the server is unknown.
  const next = want('info');
  expect(asked()).toEqual(['logging/setLevel info']);
  answer();
  await next;
  expect(await lost()).toEqual([]);
});

test('nothing is requested for a caller that has already left', async () => {
  const { want, asked } = setUp();
  await want('info', AbortSignal.abort());
  expect(asked()).toEqual([]);
});
