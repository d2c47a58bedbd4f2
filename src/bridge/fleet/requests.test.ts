import { describe, expect, test } from 'vitest';
import { ask, down, fleetOf, list, never, toolServer } from '../../../test/support/fleet.ts';
import { TestExchange } from '../../../test/support/exchange.ts';
import { scripted } from '../../../test/support/service.ts';
import { NoConnection } from '../../client/errors.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import { createFleet } from './fleet.ts';

/** The server is unreachable. */
const unreachable = (): never => {
  throw new RpcError(-32000, 'gone', { cause: new NoConnection('gone') });
};

/** A task of 2025-11-25, without its id. */
const working = {
  status: 'working',
  ttl: null,
  createdAt: '2025-11-25T10:00:00Z',
  lastUpdatedAt: '2025-11-25T10:00:00Z',
};

describe('other requests', () => {
  test('for a task go to the server that has the task', async () => {
    const taskServer = (name: string): ReturnType<typeof scripted> =>
      toolServer(name, [`${name}_tool`], {
        'server/discover': () => ({ capabilities: { tools: {}, tasks: { list: {} } } }),
        'tools/call': () => ({ resultType: 'task', taskId: 't1', status: 'working' }),
        'tasks/get': ({ params }) => ({
          resultType: 'complete',
          taskId: params['taskId'],
          status: 'completed',
          result: { content: [{ type: 'text', text: name }] },
        }),
        'tasks/list': () => ({ tasks: [{ ...working, taskId: 't1' }] }),
        'tasks/result': ({ params }) => ({
          content: [],
          _meta: { 'io.modelcontextprotocol/related-task': { taskId: params['taskId'] } },
        }),
      });
    const { fleet } = fleetOf({ a: taskServer('a'), b: taskServer('b') });
    const { tasks } = await ask(fleet, 'tasks/list');
    expect(tasks).toMatchObject([{ taskId: 'a:t1' }, { taskId: 'b:t1' }]);
    const { taskId } = await ask(fleet, 'tools/call', { name: 'b__b_tool' });
    expect(taskId).toBe('b:t1');
    expect(await ask(fleet, 'tasks/get', { taskId })).toMatchObject({ taskId, result: { content: [{ text: 'b' }] } });
    expect(await ask(fleet, 'tasks/result', { taskId })).toMatchObject({
      _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
    });
    await expect(ask(fleet, 'tasks/get', { taskId: 't1' })).rejects.toMatchObject({ code: -32602 });
    await expect(ask(fleet, 'tasks/get', { taskId: 'nobody:t1' })).rejects.toMatchObject({ code: -32602 });
  });

  test('for prompts and their arguments go to the server that has the prompt', async () => {
    const promptServer = (name: string): ReturnType<typeof scripted> =>
      scripted(
        {
          'prompts/list': () => ({ prompts: [{ name: 'greet' }, { name: `only ${name}` }] }),
          'prompts/get': ({ params }) => ({ messages: [], description: `${name}: ${params['name']}` }),
          'completion/complete': ({ params }) => ({ completion: { values: [name, params['ref'].name] } }),
        },
        { prompts: {}, completions: {} },
      );
    const { fleet } = fleetOf({ a: promptServer('a'), b: promptServer('b') });
    const names = await list(fleet, 'prompts/list', 'prompts', 'name');
    expect(names).toEqual([
      'a__greet',
      expect.stringMatching(/^a__only_a_/),
      'b__greet',
      expect.stringMatching(/^b__only_b_/),
    ]);
    const got = await Promise.all(names.map((name) => ask(fleet, 'prompts/get', { name })));
    expect(got.map(({ description }) => description)).toEqual(['a: greet', 'a: only a', 'b: greet', 'b: only b']);
    const ref = { type: 'ref/prompt', name: 'b__greet' };
    expect(await ask(fleet, 'completion/complete', { ref, argument: { name: 'x', value: '' } })).toEqual({
      completion: { values: ['b', 'greet'] },
    });
  });

  test('with unknown methods go to the server that they name, or to the first that knows the method', async () => {
    const [a, b] = [toolServer('a', [], { echo: never, only: () => ({ from: 'a' }) }), toolServer('b', [])];
    const { fleet } = fleetOf({ down: { service: unreachable }, a, b });
    expect(await ask(fleet, 'echo', { x: 1 })).toEqual({ params: { x: 1 } });
    expect(await ask(fleet, 'only', { x: 1 })).toEqual({ from: 'a' });
    const params = { x: 1, _meta: { 'dev.everwire/server': 'b' } };
    a.seen.length = 0;
    expect(await ask(fleet, 'echo', params)).toEqual({ params });
    expect(a.seen).toEqual([]);
    await expect(ask(fleet, 'only', params)).rejects.toMatchObject({ code: -32601 });
    await expect(ask(fleet, 'echo', { _meta: { 'dev.everwire/server': 'c' } })).rejects.toMatchObject({ code: -32602 });
    // It might know the method if it were reachable.
    await expect(ask(fleet, 'nobody/knows')).rejects.toMatchObject({ code: -32000 });
    await expect(ask(fleetOf({ a, b }).fleet, 'nobody/knows')).rejects.toMatchObject({ code: -32601 });
  });

  test('with unknown methods are not sent to another server after one may have run them', async () => {
    const losses = [
      down,
      () => Promise.reject(new Error('broken')),
      () => Promise.reject(new RpcError(-32001, 'late')),
    ];
    for (const lost of losses) {
      const other = toolServer('b', [], { pay: () => ({ paid: true }) });
      const { fleet } = fleetOf({ a: scripted({ pay: lost }), b: other });
      await expect(ask(fleet, 'pay')).rejects.toThrow(/gone|broken|late/);
      expect(other.seen).toEqual([]);
    }
  });

  test('with unknown methods are not sent to another server after the caller cancelled', async () => {
    const other = toolServer('b', []);
    const exchange = new TestExchange('pay');
    const giving = scripted({
      pay: () => {
        exchange.abort();
        return never();
      },
    });
    await expect(fleetOf({ a: giving, b: other }).fleet.service(exchange)).rejects.toThrow('Method not found');
    expect(other.seen).toEqual([]);
  });

  test('for an unknown resource go to the server that has it, and fail with its error', async () => {
    const reading = (uri: string): ReturnType<typeof scripted> =>
      scripted(
        {
          'resources/list': () => ({ resources: [{ uri, name: 'x' }] }),
          'resources/directory/read': ({ params }) => {
            if (params['uri'] !== uri) throw new RpcError(-32602, 'not mine');
            return { of: uri };
          },
        },
        { resources: {} },
      );
    const { fleet } = fleetOf({ a: reading('x:a'), b: reading('x:b') });
    expect(await ask(fleet, 'resources/directory/read', { uri: 'x:b' })).toEqual({ of: 'x:b' });
    await expect(ask(fleet, 'resources/directory/read', { uri: 'x:c' })).rejects.toMatchObject({ code: -32602 });
  });

  test('fail with "method not found" for lists that no server has, and with "not found" for tasks that name no server', async () => {
    const { fleet } = fleetOf({ a: scripted({}, { tools: {} }), b: scripted({}, { tools: {} }) });
    for (const method of ['prompts/list', 'tasks/list'])
      await expect(ask(fleet, method), method).rejects.toMatchObject({ code: -32601 });
    for (const method of ['tasks/get', 'tasks/result'])
      await expect(ask(fleet, method, { taskId: 'x' }), method).rejects.toThrow('Task not found');
  });

  test('as notifications go to all servers, even if one is down', async () => {
    const notified: string[] = [];
    const hearing = (name: string): ReturnType<typeof scripted> =>
      scripted({ 'notifications/roots/list_changed': () => (notified.push(name), {}) });
    const { fleet } = fleetOf({
      a: hearing('a'),
      b: scripted({ 'notifications/roots/list_changed': down }),
      c: hearing('c'),
    });
    expect(await ask(fleet, 'notifications/roots/list_changed')).toEqual({});
    expect(notified).toEqual(['a', 'c']);
  });

  test('are refused once the fleet is closed', async () => {
    const { fleet } = fleetOf({ a: toolServer('a', []) });
    fleet.close();
    await expect(ask(fleet, 'tools/list')).rejects.toMatchObject({ code: -32000 });
  });

  test('two members with the same name are refused', () => {
    const { service } = toolServer('a', []);
    const members = [
      { name: 'a', service },
      { name: 'a', service },
    ];
    expect(() => createFleet({ members })).toThrow(TypeError);
    const { fleet } = fleetOf({ a: { service } });
    expect(() => fleet.update(members)).toThrow(TypeError);
    expect(fleet.names).toEqual(['a']);
  });
});
