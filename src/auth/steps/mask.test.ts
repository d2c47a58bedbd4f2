import { expect, test } from 'vitest';
import type { Exchange } from './exchange-log.ts';
import { maskedExchange } from './mask.ts';

const exchange = (url: string): Exchange => ({ sender: 'browser', method: 'GET', url, headers: {}, duration: 1 });
const shown = (url: string): string => maskedExchange(exchange(url), []).url;

test('secret parameters of a URL are masked, each time they occur', () => {
  expect(shown('https://as.example/?code=secret&a=1&code=other&token=third')).toBe(
    'https://as.example/?code=********&a=1&code=********&token=********',
  );
  expect(shown('https://as.example/?a=%20b')).toBe('https://as.example/?a=%20b');
});

test('a URL with many secret parameters, which a server names, is masked at once', () => {
  const before = process.cpuUsage();
  shown(`https://as.example/?${'code=1&'.repeat(50_000)}`);
  expect(process.cpuUsage(before).user).toBeLessThan(250_000);
});
