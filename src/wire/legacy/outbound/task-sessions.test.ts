import { expect, test } from 'vitest';
import { TestExchange } from '../../../../test/support/exchange.ts';
import type { Session } from '../../../core/exchange.ts';
import { TaskSessions } from './task-sessions.ts';

const [mine, other] = ['mine', 'other'].map((id): Session => ({ id, signal: new AbortController().signal })) as [
  Session,
  Session,
];
const call = (session?: Session, params: object = { task: {} }) =>
  new TestExchange('tools/call', params, { caller: { session } });
const task = (taskId: unknown) => ({ task: { taskId, status: 'working' } });

test('a task is that of the session that began it', () => {
  const tasks = new TaskSessions();
  tasks.answered(call(mine), task('a'));
  expect([tasks.of('a', undefined), tasks.of('a', other)]).toEqual([mine, mine]);
});

test('one of a caller without a session is nobody’s', () => {
  const tasks = new TaskSessions();
  tasks.answered(call(), task('a'));
  expect(tasks.of('a', other)).toBeUndefined();
});

test.each([
  ['did not ask for a task', call(mine, {}), task('a')],
  ['was answered with none', call(mine), { content: [] }],
  ['was answered with one without an id', call(mine), task(5)],
])('where a request %s, it is that of the only session, if there is just one', (_, exchange, answer) => {
  const tasks = new TaskSessions();
  tasks.answered(exchange, answer);
  expect([tasks.of('a', other), tasks.of('a', undefined)]).toEqual([other, undefined]);
});

test('of more than 1000 the oldest are forgotten', () => {
  const tasks = new TaskSessions();
  for (let n = 0; n <= 1000; n += 1) tasks.answered(call(mine), task(`t${n}`));
  expect([tasks.of('t0', undefined), tasks.of('t1', undefined)]).toEqual([undefined, mine]);
});
