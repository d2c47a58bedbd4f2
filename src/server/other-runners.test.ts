import { describe, expect, test, vi } from 'vitest';
import { accept, begin, nodes, until } from '../../test/support/task-nodes.ts';
import { BusCalls } from '../store/bus-calls.ts';
import { NotTaken, type Bus } from '../store/bus.ts';

/** What a client sees if its requests for a task reach another process than the one that runs it. */

describe('at another process', () => {
  test('an answer goes to the runner of the task, and its result can be read anywhere', async () => {
    const { started } = await nodes();
    const [a, b] = started;
    const taskId = await begin(a, 'hello');
    const { inputRequests } = await until(b, taskId, 'input_required');
    expect(Object.keys(inputRequests)).toEqual(['name']);
    expect((await b.send('tasks/update', { taskId, inputResponses: accept('Ada') })).result).toMatchObject({});
    for (const node of [a, b]) {
      const { result } = await until(node, taskId, 'completed');
      expect(result.content).toEqual([{ type: 'text', text: 'Hello, Ada, from a!' }]);
    }
  });

  test('a malformed answer gets the error of the runner, and the task still asks', async () => {
    const { started } = await nodes();
    const [a, b] = started;
    const taskId = await begin(a, 'hello');
    await until(b, taskId, 'input_required');
    const { error } = await b.send('tasks/update', { taskId, inputResponses: { name: { action: 'maybe' } } });
    expect(error).toMatchObject({ code: -32602 });
    await until(b, taskId, 'input_required');
  });

  test('a cancellation ends the handler at once', async () => {
    const { started } = await nodes();
    const [a, b] = started;
    const taskId = await begin(a, 'wait');
    expect((await b.send('tasks/cancel', { taskId })).result).toMatchObject({ resultType: 'complete' });
    await vi.waitFor(() => expect(a.aborts).toEqual(['a']), 30_000);
    await until(b, taskId, 'cancelled');
  });

  test('nothing happens to a task that has ended', async () => {
    const { started } = await nodes();
    const [a, b] = started;
    const taskId = await begin(a, 'hello');
    await until(b, taskId, 'input_required');
    await b.send('tasks/update', { taskId, inputResponses: accept('Ada') });
    await until(b, taskId, 'completed');
    await b.send('tasks/cancel', { taskId });
    await b.send('tasks/update', { taskId, inputResponses: accept('Bea') });
    expect((await until(b, taskId, 'completed')).result.content[0].text).toContain('Ada');
  });
});

describe('if the runner is gone', () => {
  test.each(['tasks/update', 'tasks/cancel'])('the task has failed, and says why (%s)', async (method) => {
    const { alive, started } = await nodes();
    const [a, b] = started;
    const taskId = await begin(a, 'hello');
    await until(b, taskId, 'input_required');
    alive.delete('a');
    expect((await b.send(method, { taskId, inputResponses: accept('Ada') })).error).toBeUndefined();
    const { statusMessage } = await until(b, taskId, 'failed');
    expect(statusMessage).toBe('The server was stopped before the task was done');
  });

  test('while it is asked, the task has failed too', async () => {
    const gone: { end?: () => void } = {};
    const { alive, started } = await nodes((bus) => ({
      ...bus,
      call: async () => {
        gone.end!();
        throw new NotTaken('gone');
      },
    }));
    gone.end = () => alive.delete('a');
    const [a, b] = started;
    const taskId = await begin(a, 'hello');
    await until(b, taskId, 'input_required');
    expect((await b.send('tasks/update', { taskId, inputResponses: accept('Ada') })).error).toBeUndefined();
    await until(b, taskId, 'failed');
  });
});

describe('if the runner cannot be reached', () => {
  const unreachable = (bus: Bus): Bus => ({ ...bus, call: () => Promise.reject(new NotTaken('no')) });

  test('an answer is refused for now', async () => {
    const { started } = await nodes(unreachable);
    const [a, b] = started;
    const taskId = await begin(a, 'hello');
    await until(b, taskId, 'input_required');
    const { error } = await b.send('tasks/update', { taskId, inputResponses: accept('Ada') });
    expect(error.message).toBe('The process that runs the task cannot be reached; try again later');
    await until(b, taskId, 'input_required');
  });

  test('a cancellation is stored, so that the runner learns it with its next write', async () => {
    const { started } = await nodes(unreachable);
    const [a, b] = started;
    const taskId = await begin(a, 'wait');
    expect((await b.send('tasks/cancel', { taskId })).result).toMatchObject({ resultType: 'complete' });
    await until(b, taskId, 'cancelled');
  });

  test('a confirmation that is lost changes nothing', async () => {
    let left = 2;
    const { started } = await nodes((bus, node) => {
      const send: Bus['send'] = async (to, kind, body) => {
        const taken = await bus.send(to, kind, body);
        if (kind === 'call' && (left -= 1) >= 0) throw new Error('not confirmed');
        return taken;
      };
      const calls = new BusCalls(node, { send, on: bus.on }, () => Promise.resolve(true));
      return { ...bus, send, call: (...call) => calls.call(...call), answer: (...handler) => calls.answer(...handler) };
    });
    const [a, b] = started;
    const taskId = await begin(a, 'hello');
    await until(b, taskId, 'input_required');
    expect((await b.send('tasks/update', { taskId, inputResponses: accept('Ada') })).error).toBeUndefined();
    await until(b, taskId, 'completed');
  });
});
