import { expect, test } from 'vitest';
import { TaskStoreFull } from '../store/task-store.ts';
import { TaskLoad } from './task-load.ts';

const large = { text: 'x'.repeat(40 * 1024 * 1024) };

test('the requests of one principal are bounded, and those of others are not touched by that', () => {
  const load = new TaskLoad();
  load.add('1', 'ada', large);
  expect(() => load.add('2', 'ada', large)).toThrow(TaskStoreFull);
  load.add('3', 'bob', large);
  load.add('4', 'ada', { text: 'small' });
});

test('all requests together are bounded, of callers without a principal too', () => {
  const load = new TaskLoad();
  for (let id = 0; id < 6; id += 1) load.add(String(id), undefined, large);
  expect(() => load.add('6', 'ada', large)).toThrow(TaskStoreFull);
});

test('a task that is over gives its room back, once', () => {
  const load = new TaskLoad();
  load.add('1', 'ada', large);
  load.delete('1');
  load.delete('1');
  load.add('2', 'ada', large);
  expect(() => load.add('3', 'ada', large)).toThrow(TaskStoreFull);
});

test('a request that is refused takes no room', () => {
  const load = new TaskLoad();
  load.add('1', 'ada', large);
  for (let again = 0; again < 2; again += 1) expect(() => load.add('2', 'ada', large)).toThrow(TaskStoreFull);
  load.delete('2');
  load.delete('1');
  load.add('2', 'ada', large);
});

test('what comes for a task later counts with it, and goes with it', () => {
  const load = new TaskLoad();
  load.add('1', 'ada', { text: 'small' });
  load.add('1', 'ada', large);
  expect(() => load.add('1', 'ada', large)).toThrow(TaskStoreFull);
  load.delete('1');
  load.add('2', 'ada', large);
});

test('a request counts with what it takes in memory once it is parsed', () => {
  const load = new TaskLoad();
  // Less than a megabyte of JSON.
  const wide = { list: Array.from({ length: 300_000 }, () => ({})) };
  load.add('1', 'ada', wide);
  load.add('2', 'ada', wide);
  expect(() => load.add('3', 'ada', wide)).toThrow(TaskStoreFull);
});
