import { expect, onTestFinished, test, vi } from 'vitest';
import { Events } from '../../test/support/http.ts';
import { accept, begin, nodes, until, type Node } from '../../test/support/task-nodes.ts';
import { NotTaken, type Bus, type BusCallOptions } from '../store/bus.ts';

/** What a client hears of a task if it listens at another process than the one that runs it. */

const PATIENT = { timeout: 30_000 };

/** Listens to tasks. Resolves when that is acknowledged. */
async function listen({ open }: Node, ...taskIds: readonly string[]) {
  const events = new Events(await open('subscriptions/listen', { notifications: { taskIds } }));
  onTestFinished(() => events.cancel().catch(() => {}));
  const { params } = await events.message();
  return { events, acknowledged: params.notifications.taskIds };
}

/** The next state of a task. */
async function next(events: Events) {
  const { method, params } = await events.message();
  expect(method).toBe('notifications/tasks');
  return params;
}

/** A bus that notes the requests for changes. */
function noted(calls: BusCallOptions[]) {
  return (bus: Bus): Bus => ({
    ...bus,
    call: (to, kind, body, options) => {
      if (kind.startsWith('task-changes')) calls.push(options!);
      return bus.call(to, kind, body, options);
    },
  });
}

test('it hears each change, until the task has ended', async () => {
  const { started } = await nodes();
  const [a, b] = started;
  const taskId = await begin(a, 'hello');
  await until(b, taskId, 'input_required');
  const { events, acknowledged } = await listen(b, taskId);
  expect(acknowledged).toEqual([taskId]);
  expect(await next(events)).toMatchObject({ taskId, status: 'input_required' });
  await a.send('tasks/update', { taskId, inputResponses: accept('Ada') });
  let state = await next(events);
  if (state.status === 'working') state = await next(events);
  expect(state).toMatchObject({ taskId, status: 'completed', result: { content: [{ text: 'Hello, Ada, from a!' }] } });
});

test('it hears that a task has been cancelled, also if another client listens', async () => {
  const { started } = await nodes();
  const [a, b] = started;
  const taskId = await begin(a, 'wait');
  const listeners = [await listen(b, taskId), await listen(b, taskId), await listen(a, taskId)];
  await listeners[0]!.events.cancel();
  await b.send('tasks/cancel', { taskId });
  for (const { events } of listeners.slice(1))
    expect(await next(events)).toMatchObject({ taskId, status: 'cancelled' });
});

test('it hears that a task has failed with its process', async () => {
  const { alive, started } = await nodes();
  const [a, b] = started;
  const taskId = await begin(a, 'wait');
  const { events } = await listen(b, taskId);
  alive.delete('a');
  const statusMessage = 'The server was stopped before the task was done';
  expect(await next(events)).toMatchObject({ taskId, status: 'failed', statusMessage });
});

test('it learns that it cannot listen to a task whose process cannot be reached', async () => {
  const { started } = await nodes((bus) => ({ ...bus, call: () => Promise.reject(new NotTaken('no')) }));
  const [a, b] = started;
  const [elsewhere, here] = [await begin(a, 'wait'), await begin(b, 'wait')];
  expect((await listen(b, elsewhere, here)).acknowledged).toEqual([here]);
});

test('it goes on to hear of a task whose process could not be reached for a time', async () => {
  const calls: BusCallOptions[] = [];
  const cut = new AbortController();
  const { started } = await nodes((bus) =>
    noted(calls)({
      ...bus,
      call: async (to, kind, body, options) => {
        const signal = AbortSignal.any([options?.signal, cut.signal].filter((one) => one !== undefined));
        if (!kind.startsWith('task-changes') || calls.length > 2) return bus.call(to, kind, body, options);
        return bus.call(to, kind, body, { ...options, signal });
      },
    }),
  );
  const [a, b] = started;
  const taskId = await begin(a, 'hello');
  await until(b, taskId, 'input_required');
  const { events } = await listen(b, taskId);
  expect(await next(events)).toMatchObject({ status: 'input_required' });
  await expect.poll(() => calls.length, PATIENT).toBe(2);
  cut.abort(new NotTaken('cut'));
  await a.send('tasks/update', { taskId, inputResponses: accept('Ada') });
  let state = await next(events);
  while (state.status !== 'completed') state = await next(events);
  expect(calls.length).toBeGreaterThan(2);
});

test('its process asks for no more changes when nobody listens any more', async () => {
  const calls: BusCallOptions[] = [];
  const { started } = await nodes(noted(calls));
  const [a, b] = started;
  const taskId = await begin(a, 'wait');
  const [one, other] = [await listen(b, taskId), await listen(b, taskId)];
  await vi.waitFor(() => expect(calls).toHaveLength(2), PATIENT);
  await one.events.cancel();
  await other.events.cancel();
  await expect.poll(() => calls.at(-1)!.signal!.aborted, PATIENT).toBe(true);
  expect(calls).toHaveLength(2);
});

test('a client cannot listen to more than 256 tasks of other processes', async () => {
  const { started } = await nodes();
  const [a, b] = started;
  const ids = await Promise.all(Array.from({ length: 300 }, () => begin(a, 'wait')));
  const { acknowledged } = await listen(b, ...ids);
  expect(acknowledged).toHaveLength(256);
  for (const id of acknowledged) expect(ids).toContain(id);
});
