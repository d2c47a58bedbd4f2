import { expect, test } from 'vitest';
import { Reconnection } from './reconnection.ts';

test('attempts come at growing distances, and end', () => {
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

test('the server is never asked before the time that it names', () => {
  const reconnection = new Reconnection();
  reconnection.retry = 500;
  for (let n = 0; n < 5; n += 1) expect(reconnection.next(0)).toBeGreaterThan(500);
  reconnection.progress();
  reconnection.retry = 0;
  expect(reconnection.next(0)).toBeLessThan(5);
});

test('attempts end with their time, and where the server asks for more', () => {
  const reconnection = new Reconnection({ maxTime: 1000 });
  expect(reconnection.next(0)).toBeDefined();
  expect(reconnection.next(900)).toBeUndefined();
  reconnection.progress();
  expect(reconnection.next(900)).toBeDefined();
  const patient = new Reconnection({ maxTime: 1000 });
  patient.retry = 2000;
  expect(patient.next(0)).toBeUndefined();
});
