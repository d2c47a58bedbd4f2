import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { stderrReport, withoutOwnStack } from './stderr-report.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test('of many errors 20 are written in 10 seconds, followed by the number of the others', () => {
  const write = vi.fn<(text: string) => void>();
  const report = stderrReport(write);
  const errors = Array.from({ length: 200_000 }, (_, n) => new Error(String(n)));
  for (const error of errors) report(error);
  expect(write.mock.calls.map(([text]) => text)).toEqual(errors.slice(0, 20).map(({ stack }) => stack));
  vi.advanceTimersByTime(10_000);
  expect(write).toHaveBeenCalledTimes(21);
  expect(write).toHaveBeenLastCalledWith(expect.stringMatching(/^199980 more errors came within 10 seconds/));
  const next = new Error('next');
  report(next);
  expect(write).toHaveBeenLastCalledWith(next.stack);
});

test('a few errors are written unchanged', () => {
  const write = vi.fn<(text: string) => void>();
  const report = stderrReport(write);
  for (let n = 0; n < 20; n += 1) report(new Error(String(n)));
  vi.advanceTimersByTime(60_000);
  expect(write).toHaveBeenCalledTimes(20);
  expect(vi.getTimerCount()).toBe(0);
});

test('control characters are made visible, in an error and in its causes', () => {
  const write = vi.fn<(text: string) => void>();
  stderrReport(write)(new Error('red: \u001b[31m', { cause: new Error('title: \u001b]0;x\u0007') }));
  expect(write).toHaveBeenCalledWith(
    expect.stringMatching(/^Error: red: \\u001b\[31m\n[^]*\nCaused by: Error: title: \\u001b\]0;x\\u0007\n/),
  );
});

test('an error with millions of characters is cut', () => {
  const write = vi.fn<(text: string) => void>();
  stderrReport(write)(new Error('x'.repeat(1_000_000)));
  expect(write.mock.lastCall![0]).toHaveLength(32_768);
});

test('an error of a connection is written without a stack, unless a handler of the application caused it', () => {
  const write = vi.fn<(text: string) => void>();
  const report = stderrReport(write, withoutOwnStack);
  report(new Error('node exited with code 3', { cause: Object.assign(new Error('reset'), { code: 'ECONNRESET' }) }));
  const bug = new TypeError('x is not a function');
  report(new Error('The client could not answer roots/list', { cause: bug }));
  expect(write.mock.calls).toEqual([
    ['Error: node exited with code 3'],
    [`Error: The client could not answer roots/list\nCaused by: ${bug.stack}`],
  ]);
});
