import { describe, expect, test, vi } from 'vitest';
import { TestExchange } from '../test/support/exchange.ts';
import { filesShownIn } from '../test/support/shown.ts';
import { server } from './tasks.ts';

const TASKS = 'io.modelcontextprotocol/tasks';
const caller = { revision: '2026-07-28', capabilities: { elicitation: {}, extensions: { [TASKS]: {} } } } as const;

const send = (method: string, params: object, able: object = caller) =>
  server.service(new TestExchange(method, { ...params }, { caller: able, onask: () => accept({ yes: true }) }));
const accept = (content: object) => ({ action: 'accept', content });
const until = (taskId: string, status: string) =>
  vi.waitFor(async () => {
    const task = await send('tasks/get', { taskId });
    expect(task).toMatchObject({ status });
    return task;
  });

test('the page about tasks shows the example unchanged', () => {
  const files = filesShownIn('docs/tasks.md');
  expect(files.map(({ file }) => file)).toEqual(['examples/tasks.ts']);
  for (const { shown, actual } of files) expect(shown).toBe(actual);
});

describe('print', () => {
  test('is a task that asks for the cover', async () => {
    const { taskId } = await send('tools/call', { name: 'print', arguments: { title: 'Momo' } });
    const { inputRequests } = await until(taskId, 'input_required');
    const [key] = Object.keys(inputRequests);
    await send('tasks/update', { taskId, inputResponses: { [key!]: accept({ colour: 'blue' }) } });
    const { result } = await until(taskId, 'completed');
    expect(result.content).toEqual([{ type: 'text', text: 'Printed, in blue.' }]);
  });

  test('can be cancelled', async () => {
    const { taskId } = await send('tools/call', { name: 'print', arguments: { title: 'Momo', pages: 1000 } });
    await send('tasks/cancel', { taskId });
    expect(await send('tasks/get', { taskId })).toMatchObject({ status: 'cancelled' });
  });
});

describe('order', () => {
  test('answers small orders at once', async () => {
    const result = await send('tools/call', { name: 'order', arguments: { title: 'Momo' } });
    expect(result['content']).toEqual([{ type: 'text', text: 'Ordered 3 pages.' }]);
  });

  test('asks about a large order, and then becomes a task', async () => {
    const result = await send('tools/call', { name: 'order', arguments: { title: 'Momo', pages: 101 } });
    expect(result).toMatchObject({ resultType: 'task', statusMessage: 'At the printer', ttlMs: 600_000 });
    await until(result['taskId'], 'completed');
  });

  test('waits for the result if the caller does not support tasks', async () => {
    const early = { revision: '2025-11-25', capabilities: { elicitation: {} } };
    const result = await send('tools/call', { name: 'order', arguments: { title: 'Momo', pages: 101 } }, early);
    expect(result['content']).toEqual([{ type: 'text', text: 'Ordered 101 pages.' }]);
  });
});
