import { expect, test } from 'vitest';
import { collidingNumbers } from '../../test/support/colliding-numbers.ts';
import { asksFor, isWithin, requestedPart } from './subscriptions.ts';

test.each([
  ['file:///dir', 'file:///dir', true],
  ['file:///dir/a.txt', 'file:///dir', true],
  ['file:///dir/a.txt', 'file:///dir/', true],
  ['file:///directory', 'file:///dir', false],
  ['file:///', 'file:///dir', false],
  [undefined, 'file:///dir', false],
  ['file:///dir', 5, false],
])('an update of %j concerns a subscription to %j: %s', (updated, uri, within) => {
  expect(isWithin(updated, uri)).toBe(within);
});

test.each([
  ['tools/list_changed', {}, { toolsListChanged: true }, true],
  ['tools/list_changed', {}, { toolsListChanged: 1, promptsListChanged: true }, false],
  ['resources/updated', { uri: 'a' }, { resourceSubscriptions: ['b'] }, true],
  ['resources/updated', { uri: 'a' }, { resourceSubscriptions: [], resourcesListChanged: true }, false],
  ['resources/updated', { uri: 'a' }, { resourceSubscriptions: 'a' }, false],
  ['tasks', { taskId: 't' }, { taskIds: ['t'] }, true],
  ['tasks', { taskId: 't' }, { taskIds: ['u'] }, false],
  ['tasks', { taskId: 't' }, { taskIds: 'tu' }, false],
  ['tasks/status', { taskId: 't' }, { taskIds: ['t'], vendor: true }, false],
  ['message', {}, { vendor: true }, false],
  ['vendor', {}, { vendor: true }, true],
  ['vendor', {}, { toolsListChanged: true, taskIds: ['t'] }, false],
])('%s %j matches %j: %s', (method, params, filter, asked) => {
  expect(asksFor(filter as object, `notifications/${method}`, params)).toBe(asked);
});

test('an acknowledged filter is compared in linear time, also if the server names numbers with one hash', () => {
  const acknowledged = { resourceSubscriptions: [...collidingNumbers(40_000), 'file:///a'] } as object;
  const started = process.cpuUsage();
  expect(requestedPart({ resourceSubscriptions: ['file:///a', 'file:///b'] }, acknowledged)).toEqual({
    resourceSubscriptions: ['file:///a'],
  });
  expect(process.cpuUsage(started).user).toBeLessThan(500_000);
});
