import { expect, onTestFinished, test, vi } from 'vitest';
import { retryInUse } from './file-in-use.ts';

const failure = (code: string): Error => Object.assign(new Error(code), { code });

/** Fails as often as given, then returns how often it was called. */
function failing(times: number, code: string) {
  let calls = 0;
  return vi.fn<() => number>(() => {
    calls += 1;
    if (calls <= times) throw failure(code);
    return calls;
  });
}

test.each(['EPERM', 'EACCES', 'EBUSY'])(
  'on Windows, a file that another program has open is tried again: %s',
  async (code) => {
    expect(await retryInUse(failing(2, code), 'win32')).toBe(3);
  },
);

test('on Windows, a file that stays open is an error after a while', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const change = failing(Infinity, 'EPERM');
  const begun = Date.now();
  const failed = retryInUse(change, 'win32').catch((error: unknown) => error);
  await vi.runAllTimersAsync();
  expect(await failed).toEqual(failure('EPERM'));
  expect(Date.now() - begun).toBe(1880);
});

test('other errors are no reason to try again, and on other systems none is', async () => {
  const missing = failing(1, 'ENOENT');
  await expect(retryInUse(missing, 'win32')).rejects.toThrow('ENOENT');
  expect(missing).toHaveBeenCalledOnce();
  const denied = failing(1, 'EPERM');
  await expect(retryInUse(denied, 'linux')).rejects.toThrow('EPERM');
  expect(denied).toHaveBeenCalledOnce();
});
