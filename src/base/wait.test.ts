import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { untilAborted, waitFor } from './wait.ts';

test('waits until the work completes, fails or is cancelled', async () => {
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

test('a wait ends with the work, with the signal, or after its time', async () => {
  const never = new Promise<string>(() => {});
  expect(await waitFor(Promise.resolve('done'), { timeout: 1000 })).toBe('done');
  await expect(waitFor(never, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
  await expect(waitFor(never, { timeout: 1, timeoutError: () => new Error('too late') })).rejects.toThrow('too late');
});
