import { expect, test } from 'vitest';
import { TestExchange } from '../../../../test/support/exchange.ts';
import type { Session } from '../../../core/exchange.ts';
import { TaskTokens } from './task-tokens.ts';

const session: Session = { id: 's', signal: new AbortController().signal };
const call = (params: object = { task: {} }, caller: object = { session }) =>
  new TestExchange('tools/call', { _meta: { progressToken: 'p' }, ...params }, { caller });
const task = (taskId: unknown, status = 'working') => ({ task: { taskId, status } });

test('an answer with a task keeps its token', () => {
  const tokens = new TaskTokens();
  tokens.answered(call(), task('a'), 1);
  expect(tokens.of(1)).toEqual({ session, token: 'p' });
  tokens.said({ taskId: 'a', status: 'input_required' });
  expect(tokens.of(1)).toBeDefined();
  tokens.said({ taskId: 'a', status: 'completed' });
  expect(tokens.of(1)).toBeUndefined();
});

test.each([
  ['did not ask for a task', call({}), task('a'), 1],
  ['gave no token', call(), task('a'), undefined],
  ['has no session', call({ task: {} }, {}), task('a'), 1],
  ['was answered with none', call(), { content: [] }, 1],
  ['was answered with one without an id', call(), task(5), 1],
  ['was answered with one that has ended', call(), task('a', 'completed'), 1],
])('a request that %s keeps none', (_, exchange, answer, token) => {
  const tokens = new TaskTokens();
  tokens.answered(exchange, answer, token);
  expect(tokens.of(1)).toBeUndefined();
});

test('of more than 1000 tasks the oldest are forgotten', () => {
  const tokens = new TaskTokens();
  for (let n = 0; n <= 1000; n += 1) tokens.answered(call(), task(`t${n}`), n);
  expect(tokens.of(0)).toBeUndefined();
  expect(tokens.of(1)).toBeDefined();
  expect(tokens.of(1000)).toBeDefined();
});
