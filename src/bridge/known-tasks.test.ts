import { expect, test } from 'vitest';
import { KnownTasks } from './known-tasks.ts';

const known = (tasks: KnownTasks, principal: string, ids: string): string =>
  Array.from(ids)
    .filter((id) => tasks.has(principal, id))
    .join('');

test('above the limit, the principal with the most tasks loses its oldest one', () => {
  const tasks = new KnownTasks(4);
  for (const [principal, id] of ['a1', 'b1', 'b2', 'b3', 'b4', 'c1']) tasks.add(principal!, id!);
  expect(['a', 'b', 'c'].map((each) => known(tasks, each, '1234'))).toEqual(['1', '34', '1']);
});

test('a task that is added again becomes the newest, and counts once', () => {
  const tasks = new KnownTasks(2);
  for (const id of '12113') tasks.add('a', id);
  expect(known(tasks, 'a', '123')).toBe('13');
});

test('if all principals have one task, the principal that came first loses it', () => {
  const tasks = new KnownTasks(2);
  for (const principal of 'abca') tasks.add(principal, '1');
  expect(['a', 'b', 'c'].filter((principal) => tasks.has(principal, '1'))).toEqual(['a', 'c']);
});
