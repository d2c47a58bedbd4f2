import { expect, test } from 'vitest';
import { TestExchange } from '../../../../test/support/exchange.ts';
import type { Session } from '../../../core/exchange.ts';
import { TaskOwners } from './task-owners.ts';

const session: Session = { id: 's', signal: new AbortController().signal };
const call = (params: object = { task: {} }, caller: object = { session }) =>
  new TestExchange('tools/call', { _meta: { progressToken: 'p' }, ...params }, { caller });
const task = (taskId: unknown, status = 'working') => ({ task: { taskId, status } });

test('an answer with a task keeps its token', () => {
  const tokens = new TaskOwners();
  tokens.answered(call(), task('a'), 1);
  expect(tokens.ofToken(1)).toEqual({ session, token: 'p' });
  tokens.status({ taskId: 'a', status: 'input_required' });
  expect(tokens.ofToken(1)).toBeDefined();
  tokens.status({ taskId: 'a', status: 'completed' });
  expect(tokens.ofToken(1)).toBeUndefined();
});

test.each([
  ['did not ask for a task', call({}), task('a'), 1],
  ['gave no token', call(), task('a'), undefined],
  ['has no session', call({ task: {} }, {}), task('a'), 1],
  ['was answered with none', call(), { content: [] }, 1],
  ['was answered with one without an id', call(), task(5), 1],
  ['was answered with one that has ended', call(), task('a', 'completed'), 1],
])('a request that %s keeps none', (_, exchange, answer, token) => {
  const tokens = new TaskOwners();
  tokens.answered(exchange, answer, token);
  expect(tokens.ofToken(1)).toBeUndefined();
});

test('of more than 1000 tasks the oldest are forgotten', () => {
  const tokens = new TaskOwners();
  for (let n = 0; n <= 1000; n += 1) tokens.answered(call(), task(`t${n}`), n);
  expect(tokens.ofToken(0)).toBeUndefined();
  expect(tokens.ofToken(1)).toBeDefined();
  expect(tokens.ofToken(1000)).toBeDefined();
});

const [mine, other] = ['mine', 'other'].map((id): Session => ({ id, signal: new AbortController().signal })) as [
  Session,
  Session,
];
const begins = (owner?: Session, params: object = { task: {} }) =>
  new TestExchange('tools/call', params, { caller: { session: owner } });

test('a task is that of the session that began it', () => {
  const tasks = new TaskOwners();
  tasks.answered(begins(mine), task('a'));
  expect([tasks.sessionOf('a', undefined), tasks.sessionOf('a', other)]).toEqual([mine, mine]);
});

test('a task of a caller without a session belongs to no session', () => {
  const tasks = new TaskOwners();
  tasks.answered(begins(), task('a'));
  expect(tasks.sessionOf('a', other)).toBeUndefined();
});

test.each([
  ['did not ask for a task', begins(mine, {}), task('a')],
  ['was answered with none', begins(mine), { content: [] }],
  ['was answered with one without an id', begins(mine), task(5)],
])('if a request %s, its task belongs to the only session', (_, exchange, answer) => {
  const tasks = new TaskOwners();
  tasks.answered(exchange, answer);
  expect([tasks.sessionOf('a', other), tasks.sessionOf('a', undefined)]).toEqual([other, undefined]);
});

test('the sessions of more than 1000 tasks are forgotten from the oldest on', () => {
  const tasks = new TaskOwners();
  for (let n = 0; n <= 1000; n += 1) tasks.answered(begins(mine), task(`t${n}`));
  expect([tasks.sessionOf('t0', undefined), tasks.sessionOf('t1', undefined)]).toEqual([undefined, mine]);
});
