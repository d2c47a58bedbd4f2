import { expect, test } from 'vitest';
import { SingleFlight } from './single-flight.ts';

function deferred(): { promise: Promise<void>; resolve: () => void; reject: (error: Error) => void } {
  let resolve!: () => void;
  let reject!: (error: Error) => void;
  const promise = new Promise<void>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

test('one run serves all waiters, and the next call starts a new run', async () => {
  const flight = new SingleFlight();
  let runs = 0;
  const work = deferred();
  const start = (): Promise<void> => {
    runs += 1;
    return work.promise;
  };
  const all = Promise.all([flight.run(start, undefined), flight.run(start, undefined), flight.run(start, undefined)]);
  work.resolve();
  expect(await all).toEqual([true, false, false]);
  await flight.run(start, undefined);
  expect(runs).toBe(2);
});

test('a waiter can leave without stopping the run for the others', async () => {
  const flight = new SingleFlight();
  const work = deferred();
  let inner!: AbortSignal;
  const leaving = new AbortController();
  const first = flight.run((signal) => ((inner = signal), work.promise), leaving.signal);
  const second = flight.run(() => work.promise, undefined);
  leaving.abort(new Error('left'));
  await expect(first).rejects.toThrow('left');
  expect(inner.aborted).toBe(false);
  work.resolve();
  expect(await second).toBe(false);
});

test('the run stops when no waiter is left', async () => {
  const flight = new SingleFlight();
  let inner!: AbortSignal;
  const leaving = new AbortController();
  const only = flight.run((signal) => ((inner = signal), new Promise(() => {})), leaving.signal);
  leaving.abort(new Error('left'));
  await expect(only).rejects.toThrow('left');
  expect(inner.aborted).toBe(true);
  expect(await flight.run(() => Promise.resolve(), undefined)).toBe(true);
});

test('all waiters get the error of the run, and the next call starts a new run', async () => {
  const flight = new SingleFlight();
  const work = deferred();
  const both = [flight.run(() => work.promise, undefined), flight.run(() => work.promise, undefined)];
  work.reject(new Error('failed'));
  for (const each of await Promise.allSettled(both)) expect(each.status).toBe('rejected');
  expect(await flight.run(() => Promise.resolve(), undefined)).toBe(true);
});
