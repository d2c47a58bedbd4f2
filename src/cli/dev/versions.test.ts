import { beforeEach, describe, expect, test } from 'vitest';
import { TestExchange } from '../../../test/support/exchange.ts';
import { aborted, deferred, settled } from '../../../test/support/service.ts';
import type { Exchange } from '../../core/exchange.ts';
import { ErrorCode, RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { Method, NotificationMethod } from '../../protocol/methods.ts';
import type { SubscriptionFilter } from '../../protocol/types.ts';
import { Versions } from './versions.ts';

/** The labels of the versions that were closed, in order. */
let closed: string[];
let versions: Versions;
/** The open subscriptions, by version. */
let listens: Map<string, Exchange>;

beforeEach(() => {
  closed = [];
  listens = new Map();
  versions = new Versions('server.ts', (error) => {
    throw error;
  });
});

type Answer = (exchange: Exchange) => JsonObject | Promise<JsonObject>;

/** Makes a version the newest one. It acknowledges subscriptions. */
function replace(label: string, answer: Answer, changed: SubscriptionFilter = {}): void {
  const service = async (exchange: Exchange): Promise<JsonObject> => {
    if (exchange.method !== Method.Listen) return answer(exchange);
    listens.set(label, exchange);
    await exchange.notify(NotificationMethod.Acknowledged, { notifications: exchange.params['notifications'] });
    await aborted(exchange.signal);
    listens.delete(label);
    return {};
  };
  versions.replace({ label, service, close: async () => void closed.push(label) }, changed);
}

const call = (params: JsonObject = {}): Promise<JsonObject> =>
  versions.service(new TestExchange(Method.CallTool, { name: 'a', ...params }));

describe('a version that is replaced', () => {
  test('ends at once if nothing needs it', () => {
    replace('v1', () => ({}));
    replace('v2', () => ({}));
    expect(closed).toEqual(['v1']);
  });

  test('finishes its calls, and new ones go to the newest version', async () => {
    const release = deferred();
    replace('v1', () => release.promise.then(() => ({ by: 'v1' })));
    const inFlight = call();
    replace('v2', () => ({ by: 'v2' }));
    expect(await call()).toEqual({ by: 'v2' });
    expect(closed).toEqual([]);
    release.resolve();
    expect(await inFlight).toEqual({ by: 'v1' });
    expect(closed).toEqual(['v1']);
  });

  test('gets the answers to its questions', async () => {
    const ask: Answer = ({ params }) =>
      params['requestState'] === 'mine'
        ? { by: 'v1', answers: params['inputResponses'] }
        : { resultType: 'input_required', inputRequests: {}, requestState: 'mine' };
    replace('v1', ask);
    const { requestState } = await call();
    replace('v2', () => ({ by: 'v2' }));
    expect(closed).toEqual([]);
    expect(await call({ requestState, inputResponses: { a: 1 } })).toEqual({ by: 'v1', answers: { a: 1 } });
    expect(closed).toEqual(['v1']);
    await expect(call({ requestState })).rejects.toMatchObject({
      code: ErrorCode.InvalidParams,
      message: 'The version of server.ts that this belongs to has ended; call again without "requestState"',
    });
  });

  test('runs until its tasks have ended', async () => {
    let status = 'working';
    replace('v1', ({ method, params }) =>
      method === Method.CallTool ? { resultType: 'task', taskId: 'x', status } : { taskId: params['taskId'], status },
    );
    const { taskId } = await call();
    expect(taskId).toBe('v1:x');
    replace('v2', () => ({}));
    const get = (): Promise<JsonObject> => versions.service(new TestExchange('tasks/get', { taskId }));
    expect(await get()).toEqual({ taskId: 'v1:x', status: 'working' });
    expect(closed).toEqual([]);
    status = 'completed';
    expect(await get()).toEqual({ taskId: 'v1:x', status: 'completed' });
    expect(closed).toEqual(['v1']);
  });

  test('ends with its calls if three newer ones are replaced', () => {
    const stuck = (): Promise<never> => new Promise(() => {});
    for (const label of ['v1', 'v2', 'v3', 'v4', 'v5']) {
      replace(label, stuck);
      void call().catch(() => {});
    }
    expect(closed).toEqual(['v1']);
  });
});

describe('a subscription', () => {
  const filter = { toolsListChanged: true, promptsListChanged: true, resourceSubscriptions: ['memo://a'] };

  test('continues on the next version, and hears only what has changed', async () => {
    replace('v1', () => ({}));
    const exchange = new TestExchange(Method.Listen, { notifications: filter });
    const over = versions.service(exchange);
    await settled();
    replace('v2', () => ({}), { toolsListChanged: true, resourcesListChanged: true });
    await settled();
    expect([...listens.keys()]).toEqual(['v2']);
    expect(closed).toEqual(['v1']);
    await listens.get('v2')!.notify(NotificationMethod.PromptsListChanged);
    expect(exchange.notified).toEqual([
      { method: NotificationMethod.Acknowledged, params: { notifications: filter } },
      { method: NotificationMethod.ToolsListChanged, params: {} },
      { method: NotificationMethod.ResourceUpdated, params: { uri: 'memo://a' } },
      { method: NotificationMethod.PromptsListChanged, params: {} },
    ]);
    exchange.abort();
    await over;
    await settled();
    expect(listens.size).toBe(0);
  });

  test('to a task continues on the version that runs it', async () => {
    replace('v1', () => ({ resultType: 'task', taskId: 'x', status: 'working' }));
    await call();
    const exchange = new TestExchange(Method.Listen, { notifications: { taskIds: ['v1:x'] } });
    const over = versions.service(exchange);
    await settled();
    replace('v2', () => ({}));
    await listens.get('v1')!.notify(NotificationMethod.Task, { taskId: 'x', status: 'completed' });
    expect(exchange.notified.at(-1)).toEqual({
      method: NotificationMethod.Task,
      params: { taskId: 'v1:x', status: 'completed' },
    });
    expect(closed).toEqual(['v1']);
    exchange.abort();
    await over;
  });
});

describe('every version', () => {
  test('has all lists, which may be empty', async () => {
    replace('v1', ({ method }) => {
      if (method === Method.Discover) return { capabilities: { logging: {}, tools: {} } };
      throw new RpcError(ErrorCode.MethodNotFound, 'Method not found');
    });
    const { capabilities } = await versions.service(new TestExchange(Method.Discover));
    expect(capabilities).toEqual({
      logging: {},
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
    });
    expect(await versions.service(new TestExchange(Method.ListPrompts))).toEqual({ prompts: [] });
    await expect(call()).rejects.toThrow('Method not found');
  });
});

describe('before the first version', () => {
  test('requests wait while it starts, and are refused when it has not started', async () => {
    const waiting = call();
    versions.failed();
    await expect(waiting).rejects.toThrow('server.ts did not start; everwire dev has printed why');
    await expect(call()).rejects.toThrow('server.ts did not start');
    versions.starting();
    const next = call();
    replace('v1', () => ({ by: 'v1' }));
    expect(await next).toEqual({ by: 'v1' });
  });
});
