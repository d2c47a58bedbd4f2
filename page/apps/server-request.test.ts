import { signal } from '@preact/signals';
import { describe, expect, test } from 'vitest';
import type { Session } from '../explore/explorer.ts';
import type { Outcome, Sent } from '../explore/request.ts';
import type { TaskView } from '../explore/task.ts';
import { answerOf, finalOutcome, serverRequest } from './server-request.ts';

const done: Outcome = { kind: 'result', result: { content: [] }, duration: 1 };
const created: Outcome = { kind: 'result', result: { resultType: 'task', taskId: 't1' }, duration: 1 };

function sessionWith(view: TaskView): { session: Session; change: (part: Partial<TaskView>) => void } {
  const state = signal(view);
  const session = { task: () => ({ view: state }) } as unknown as Session;
  return {
    session,
    change: (part) => {
      state.value = { ...state.value, ...part };
    },
  };
}

const working: TaskView = { id: 't1', status: 'working', questions: {} };

describe('the outcome of a call that became a task', () => {
  test('is that of the task, once it has ended', async () => {
    const { session, change } = sessionWith(working);
    const final = finalOutcome(session, created);
    change({ status: 'input_required' });
    change({ status: 'completed', outcome: done });
    change({ status: 'completed', outcome: created });
    expect(await final).toBe(done);
  });

  test.each([
    [{ status: 'cancelled' }, 'The task is cancelled.'],
    [{ status: 'failed' }, 'The task is failed.'],
    [{ lost: 'gone' }, 'gone'],
  ] as const)('is a refusal if nothing more comes of it: %j', async (part, message) => {
    const { session, change } = sessionWith(working);
    const final = finalOutcome(session, created);
    change(part);
    expect(await final).toEqual({ kind: 'refused', message });
  });

  test('is its own if it became none', async () => {
    const { session } = sessionWith(working);
    expect(await finalOutcome(session, done)).toBe(done);
  });
});

describe('an app gets', () => {
  test('the result, the error, or why there is none', async () => {
    expect(await answerOf(done)).toEqual({ result: { content: [] } });
    const error = { code: -1, message: 'no', data: 1 };
    expect(await answerOf({ kind: 'error', error, duration: 1 })).toEqual({ error });
    expect(await answerOf({ kind: 'error', error: { message: 'no' }, duration: 1 })).toMatchObject({
      error: { code: -32_603, message: 'no' },
    });
    for (const kind of ['refused', 'lost'] as const)
      expect(await answerOf({ kind, message: 'why' })).toEqual({ error: { code: -32_603, message: 'why' } });
  });

  test('its answer, and can cancel the request', async () => {
    let cancelled = 0;
    const sent = { settled: Promise.resolve(done), cancel: () => (cancelled += 1) } as unknown as Sent;
    const { answered, cancel } = serverRequest(sessionWith(working).session, sent);
    cancel();
    expect(cancelled).toBe(1);
    expect(await answered).toEqual({ result: { content: [] } });
  });
});
