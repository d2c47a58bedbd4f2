import { expect, test } from 'vitest';
import { TestExchange } from '../../../../test/support/exchange.ts';
import type { Session } from '../../../core/exchange.ts';
import { TaskOwners } from './task-owners.ts';

const session: Session = { id: 's', signal: new AbortController().signal };
const call = (params: object = { task: {} }, caller: object = { session }) =>
  new TestExchange('tools/call', { _meta: { progressToken: 'p' }, ...params }, { caller });
const task = (taskId: unknown, status = 'working') => ({ task: { taskId, status } });

test('a response with a task keeps the progress token of its request', () => {
  const tokens = new TaskOwners();
  tokens.answered(call(), task('a'), 1);
  expect(tokens.ofToken(1)).toEqual({ session, token: 'p' });
  tokens.status({ taskId: 'a', status: 'input_required' });
  expect(tokens.ofToken(1)).toBeDefined();
  tokens.status({ taskId: 'a', status: 'completed' });
  expect(tokens.ofToken(1)).toBeUndefined();
});

test.each([
  ['does not request a task', call({}), task('a'), 1],
  ['has no token', call(), task('a'), undefined],
  ['has no session', call({ task: {} }, {}), task('a'), 1],
  ['gets a result without a task', call(), { content: [] }, 1],
  ['gets a task without an id', call(), task(5), 1],
  ['gets a task that has ended', call(), task('a', 'completed'), 1],
])('the token is not kept if a request %s', (_, exchange, answer, token) => {
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

const mine: Session = { id: 'mine', signal: new AbortController().signal };
const begins = (owner?: Session, params: object = { task: {} }) =>
  new TestExchange('tools/call', params, { caller: { session: owner } });

test('a task belongs to the session that created it', () => {
  const tasks = new TaskOwners();
  tasks.answered(begins(mine), task('a'));
  expect(tasks.sessionOf('a')).toBe(mine);
});

test('a task of a caller without a session belongs to no session', () => {
  const tasks = new TaskOwners();
  tasks.answered(begins(), task('a'));
  expect(tasks.sessionOf('a')).toBeUndefined();
});

test.each([
  ['does not request a task', begins(mine, {}), task('a')],
  ['gets a result without a task', begins(mine), { content: [] }],
  ['gets a task without an id', begins(mine), task(5)],
])('if a request %s, its task belongs to no session', (_, exchange, answer) => {
  const tasks = new TaskOwners();
  tasks.answered(exchange, answer);
  expect(tasks.sessionOf('a')).toBeUndefined();
});

test('of more than 1000 tasks, the sessions of the oldest are forgotten', () => {
  const tasks = new TaskOwners();
  for (let n = 0; n <= 1000; n += 1) tasks.answered(begins(mine), task(`t${n}`));
  expect([tasks.sessionOf('t0'), tasks.sessionOf('t1')]).toEqual([undefined, mine]);
});

test('task ids and progress tokens with more than 1024 characters are not remembered', () => {
  const tasks = new TaskOwners();
  const [most, tooMany] = ['x'.repeat(1024), 'x'.repeat(1025)] as const;
  tasks.answered(call({ task: {}, _meta: { progressToken: most } }), task(most), 1);
  expect([tasks.sessionOf(most), tasks.ofToken(1)]).toEqual([session, { session, token: most }]);
  tasks.answered(call(), task(tooMany), 2);
  tasks.answered(call({ task: {}, _meta: { progressToken: tooMany } }), task('a'), 3);
  expect([tasks.sessionOf(tooMany), tasks.ofToken(2), tasks.ofToken(3)]).toEqual(Array(3).fill(undefined));
  expect(tasks.sessionOf('a')).toBe(session);
});
