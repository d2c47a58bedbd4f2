import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { Deferred } from '../../src/base/deferred.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import type { Outcome } from './request.ts';
import { FollowedTask, taskOf, type Send } from './task.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const result = (value: JsonObject): Outcome => ({ kind: 'result', result: value, duration: 0 });

/** A server that answers these requests in order. */
function server(...answers: (readonly [method: string, outcome: Outcome])[]): { send: Send; sent: unknown[] } {
  const sent: unknown[] = [];
  const send: Send = (method, params) => {
    sent.push([method, params]);
    const [expected, outcome] = answers.shift() ?? [method, { kind: 'refused', message: 'nothing is left' }];
    expect(method).toBe(expected);
    return { settled: Promise.resolve(outcome), cancel: () => {} };
  };
  return { send, sent };
}

const CREATED = { resultType: 'task', taskId: 't1', status: 'working', pollIntervalMs: 500 };

test('a task of 2026-07-28 is asked for as often as its server wants, until it ends', async () => {
  const { send, sent } = server(
    ['tasks/get', result({ taskId: 't1', status: 'working', statusMessage: 'half', pollIntervalMs: 2000 })],
    ['tasks/get', result({ taskId: 't1', status: 'completed', result: { content: [] } })],
  );
  const task = new FollowedTask(CREATED, 'tool x', send);
  await vi.advanceTimersByTimeAsync(499);
  expect(sent).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(task.view.value).toMatchObject({ status: 'working', message: 'half' });
  await vi.advanceTimersByTimeAsync(2000);
  expect(task.view.value).toMatchObject({ status: 'completed', outcome: { kind: 'result', result: { content: [] } } });
  await vi.advanceTimersByTimeAsync(100_000);
  expect(sent).toHaveLength(2);
});

test('a hundred of its questions are open at a time, and others follow', async () => {
  const inputRequests = Object.fromEntries(Array.from({ length: 1000 }, (_, at) => [`q${at}`, {}]));
  const asking = { ...CREATED, status: 'input_required', inputRequests };
  const { send } = server(['tasks/update', result({})], ['tasks/get', result(asking)]);
  const task = new FollowedTask(asking, 'tool x', send);
  expect(Object.keys(task.view.value.questions)).toHaveLength(100);
  await task.answer('q0', { action: 'decline' });
  await vi.advanceTimersByTimeAsync(0);
  expect(Object.keys(task.view.value.questions).at(-1)).toBe('q100');
});

test('its questions are answered with tasks/update, and asked once', async () => {
  const question = { method: 'elicitation/create', params: { message: 'Name?' } };
  const waiting = result({ taskId: 't1', status: 'input_required', inputRequests: { q1: question } });
  const { send, sent } = server(
    ['tasks/get', waiting],
    ['tasks/update', result({})],
    ['tasks/get', waiting],
    ['tasks/get', result({ taskId: 't1', status: 'failed', error: { code: -1, message: 'no' } })],
  );
  const task = new FollowedTask(CREATED, 'tool x', send);
  await vi.advanceTimersByTimeAsync(500);
  expect(task.view.value.questions).toEqual({ q1: question });
  await task.answer('q1', { action: 'decline' });
  expect(sent[1]).toEqual(['tasks/update', { taskId: 't1', inputResponses: { q1: { action: 'decline' } } }]);
  await vi.advanceTimersByTimeAsync(0);
  expect(task.view.value).toMatchObject({ status: 'input_required', questions: {} });
  await vi.advanceTimersByTimeAsync(1000);
  expect(task.view.value).toMatchObject({ status: 'failed', outcome: { kind: 'error', error: { code: -1 } } });
});

test.each<Outcome>([
  { kind: 'error', error: { code: -1, message: 'no' }, duration: 0 },
  { kind: 'refused', message: 'no' },
  { kind: 'lost', message: 'no' },
])('a question stays open if its answer did not reach the server: %j', async (outcome) => {
  const questions = { q1: { method: 'elicitation/create' }, q2: {} };
  const { send } = server(['tasks/update', outcome]);
  const task = new FollowedTask({ ...CREATED, status: 'input_required', inputRequests: questions }, 'tool x', send);
  await expect(task.answer('q1', { action: 'decline' })).rejects.toThrow('no');
  expect(task.view.value.questions).toEqual(questions);
});

test('a question stays open until its answer has reached the server, and its answer is sent once', async () => {
  const updated = new Deferred<Outcome>();
  const sent: string[] = [];
  const send: Send = (method) => {
    sent.push(method);
    return { settled: method === 'tasks/update' ? updated.promise : new Promise(() => {}), cancel: () => {} };
  };
  const questions = { q1: { method: 'elicitation/create' } };
  const task = new FollowedTask({ ...CREATED, status: 'input_required', inputRequests: questions }, 'tool x', send);
  const answers = Promise.all([task.answer('q1', { action: 'accept' }), task.answer('q1', { action: 'accept' })]);
  expect(task.view.value.questions).toEqual(questions);
  updated.resolve(result({}));
  await answers;
  expect(task.view.value.questions).toEqual({});
  expect(sent).toEqual(['tasks/update', 'tasks/get']);
});

test('a question does not come back if its answer is refused because the task has ended', async () => {
  const updated = new Deferred<Outcome>();
  const send: Send = (method) => ({
    settled: method === 'tasks/update' ? updated.promise : Promise.resolve(result({ ...CREATED, status: 'cancelled' })),
    cancel: () => {},
  });
  const inputRequests = { q1: { method: 'elicitation/create' } };
  const task = new FollowedTask({ ...CREATED, status: 'input_required', inputRequests }, 'tool x', send);
  const answered = task.answer('q1', { action: 'accept' });
  await vi.advanceTimersByTimeAsync(1000);
  updated.resolve({ kind: 'refused', message: 'no' });
  await expect(answered).rejects.toThrow('no');
  expect(task.view.value.status).toBe('cancelled');
  expect(task.view.value.questions).toEqual({});
});

test.each(['refused', 'lost'] as const)('in 2025-11-25, a task whose result is %s has not ended', async (kind) => {
  const { send } = server(
    ['tasks/get', result({ taskId: 't2', status: 'input_required' })],
    ['tasks/result', { kind, message: 'gone' }],
    ['tasks/get', result({ taskId: 't2', status: 'completed' })],
    ['tasks/result', result({ content: [] })],
  );
  const task = new FollowedTask({ task: { taskId: 't2', status: 'working' } }, 'tool x', send);
  await vi.advanceTimersByTimeAsync(1000);
  expect(task.view.value).toMatchObject({ status: 'input_required', lost: 'gone' });
  expect(task.view.value.outcome).toBeUndefined();
  task.refresh();
  await vi.advanceTimersByTimeAsync(1000);
  expect(task.view.value).toMatchObject({ status: 'completed', outcome: { kind: 'result' } });
});

test('in 2025-11-25, the result of a task is a request of its own', async () => {
  const { send } = server(
    ['tasks/get', result({ taskId: 't2', status: 'completed' })],
    ['tasks/result', result({ content: [], isError: true })],
  );
  const task = new FollowedTask({ task: { taskId: 't2', status: 'working', pollInterval: 1000 } }, 'tool x', send);
  await vi.advanceTimersByTimeAsync(1000);
  expect(task.view.value).toMatchObject({ status: 'completed', outcome: { result: { isError: true } } });
});

test('a task that cannot be asked for any more is lost until the person looks again', async () => {
  const { send, sent } = server();
  const task = new FollowedTask(CREATED, 'tool x', send);
  await vi.advanceTimersByTimeAsync(200_000);
  expect([sent.length, task.view.value.lost]).toEqual([5, 'tasks/get was not answered']);
  task.refresh();
  await vi.advanceTimersByTimeAsync(0);
  expect([sent.length, task.view.value.lost]).toEqual([6, undefined]);
  task.stop();
});

test.each([
  [{ content: [] }, undefined],
  [{ resultType: 'complete', taskId: 'x' }, undefined],
  [{ task: 'x' }, undefined],
  [{ task: { taskId: 'x' } }, { taskId: 'x' }],
])('%j has the task %j', (value, task) => {
  expect(taskOf(value)).toEqual(task);
});

test('a task failed with an error that is malformed', async () => {
  const error = { code: { toString: 1 }, message: { toString: 1 }, data: 1 };
  const { send } = server(['tasks/get', result({ taskId: 't1', status: 'failed', error })]);
  const task = new FollowedTask(CREATED, 'tool x', send);
  await vi.advanceTimersByTimeAsync(500);
  expect(task.view.value).toMatchObject({
    status: 'failed',
    outcome: { kind: 'error', error: { message: 'The error has no message.', data: 1 } },
  });
  expect(task.view.value.outcome).not.toHaveProperty('error.code');
});

describe('a task that the person cancels', () => {
  const working = result({ taskId: 't1', status: 'working' });

  test('is asked for once more, and shown as cancelled', async () => {
    const { send, sent } = server(
      ['tasks/cancel', result({})],
      ['tasks/get', result({ taskId: 't1', status: 'cancelled' })],
    );
    const task = new FollowedTask(CREATED, 'tool x', send);
    task.cancel();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(task.view.value).toMatchObject({ status: 'cancelled' });
    expect(sent).toHaveLength(2);
  });

  test('is not polled while the server goes on with it', async () => {
    const { send, sent } = server(['tasks/cancel', result({})], ['tasks/get', working], ['tasks/get', working]);
    const task = new FollowedTask(CREATED, 'tool x', send);
    task.cancel();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(sent).toHaveLength(2);
    const lost = 'the server was asked to cancel it, and has not done so yet';
    expect(task.view.value).toMatchObject({ status: 'working', lost });
    task.refresh();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(sent).toHaveLength(3);
    expect(task.view.value).toMatchObject({ status: 'working', lost });
  });

  test('is not polled because of an answer that was on its way', async () => {
    const late = new Deferred<Outcome>();
    const sent: string[] = [];
    const task = new FollowedTask(CREATED, 'tool x', (method) => {
      sent.push(method);
      const cancelled = result({ taskId: 't1', status: 'cancelled' });
      const isFirst = sent.length === 1;
      return { settled: isFirst ? late.promise : Promise.resolve(cancelled), cancel: () => {} };
    });
    await vi.advanceTimersByTimeAsync(500);
    task.cancel();
    await vi.advanceTimersByTimeAsync(0);
    late.resolve(working);
    await vi.advanceTimersByTimeAsync(100_000);
    expect(sent).toEqual(['tasks/get', 'tasks/cancel', 'tasks/get']);
    expect(task.view.value.status).toBe('cancelled');
  });

  test('is polled further if the server refuses to cancel it', async () => {
    const refused: Outcome = { kind: 'error', error: { code: -32_602, message: 'no' }, duration: 0 };
    const { send, sent } = server(
      ['tasks/cancel', refused],
      ['tasks/get', working],
      ['tasks/get', result({ taskId: 't1', status: 'completed', result: {} })],
    );
    const task = new FollowedTask(CREATED, 'tool x', send);
    task.cancel();
    await vi.advanceTimersByTimeAsync(100_000);
    expect(task.view.value.status).toBe('completed');
    expect(sent).toHaveLength(3);
  });
});
