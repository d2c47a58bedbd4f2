import { expect, test } from 'vitest';
import { Reconnection } from './reconnection.ts';

test('attempts have growing pauses, and are limited in number', () => {
  const reconnection = new Reconnection({ maxAttempts: 4 });
  const delays = [0, 0, 0, 0].map(() => reconnection.next(0)!);
  for (const [n, least] of [100, 200, 400, 800].entries()) {
    expect(delays[n]).toBeGreaterThanOrEqual(least);
    expect(delays[n]).toBeLessThanOrEqual(least * 1.5 + 2);
  }
  expect(reconnection.next(0)).toBeUndefined();
  reconnection.progress();
  expect(reconnection.next(0)).toBeLessThan(200);
});

test('the server is never asked before the time that it gave', () => {
  const reconnection = new Reconnection();
  reconnection.retry = 500;
  for (let n = 0; n < 5; n += 1) expect(reconnection.next(0)).toBeGreaterThan(500);
});

test('after a long connection the next attempt comes after the server’s retry time, and after a short one at least 100 ms later', () => {
  const reconnection = new Reconnection();
  reconnection.retry = 0;
  for (const [lasted, least, most] of [
    [2000, 0, 5],
    [60, 40, 50],
    [0, 100, 115],
  ] as const) {
    reconnection.progress();
    const delay = reconnection.next(10_000, 10_000 - lasted);
    expect(delay).toBeGreaterThanOrEqual(least);
    expect(delay).toBeLessThan(most);
  }
});

test('a server with nothing to send is asked with growing pauses, without end', () => {
  const reconnection = new Reconnection({ maxAttempts: 4, maxTime: 5000 });
  const delays = [0, 10_000, 20_000, 30_000, 40_000, 50_000].map((now) => {
    reconnection.idle();
    return reconnection.next(now)!;
  });
  for (const [n, least] of [100, 200, 400, 800, 800, 800].entries()) {
    expect(delays[n]).toBeGreaterThanOrEqual(least);
    expect(delays[n]).toBeLessThanOrEqual(least * 1.5 + 2);
  }
  reconnection.progress();
  expect(reconnection.next(60_000)).toBeLessThan(200);
});

test('a server that sends a retry time is asked at that rate', () => {
  const reconnection = new Reconnection();
  reconnection.retry = 1000;
  for (let n = 0; n < 20; n += 1) {
    reconnection.idle();
    const delay = reconnection.next(n * 60_000);
    expect(delay).toBeGreaterThan(1000);
    expect(delay).toBeLessThan(1110);
  }
});

test('attempts end after a total time, even if the server asks for a longer pause', () => {
  const reconnection = new Reconnection({ maxTime: 1000 });
  expect(reconnection.next(0)).toBeDefined();
  expect(reconnection.next(900)).toBeUndefined();
  reconnection.progress();
  expect(reconnection.next(900)).toBeDefined();
  const patient = new Reconnection({ maxTime: 1000 });
  patient.retry = 2000;
  expect(patient.next(0)).toBeUndefined();
});
