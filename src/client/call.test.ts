import { getEventListeners } from 'node:events';
import { afterEach, describe, expect, test, vi } from 'vitest';
import type { Exchange } from '../core/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { McpServer } from '../server/mcp-server.ts';
import { TestExchange } from '../../test/support/exchange.ts';
import { aborted, deferred } from '../../test/support/service.ts';
import { Call } from './call.ts';
import { connect } from './connect.ts';
import type { ClientOptions } from './options.ts';

afterEach(() => void vi.useRealTimers());

const DISCOVERED = { supportedVersions: ['2026-07-28'], capabilities: { tools: {}, resources: {} } };

/** A client whose middleware answers in place of the server. */
async function clientOf(answer: (exchange: Exchange) => JsonObject | Promise<JsonObject>, options: ClientOptions = {}) {
  const client = await connect({ service: () => Promise.resolve(DISCOVERED) }, { cache: false, ...options });
  return client.use(() => async (exchange) => answer(exchange));
}

/** The error of a call. */
const failed = (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    () => undefined,
    (error: unknown) => error,
  );

const never = () => new Promise<never>(() => {});

describe('a call settles', () => {
  test('after its timeout, and the server gets a cancellation', async () => {
    vi.useFakeTimers();
    const reason = deferred<unknown>();
    const client = await clientOf((exchange) => {
      exchange.signal.addEventListener('abort', () => reason.resolve(exchange.signal.reason));
      return never();
    });
    const call = failed(client.callTool('slow', {}, { timeout: 1000 }));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await call).toMatchObject({
      name: 'TimeoutError',
      message: 'tools/call was not answered within 1000 ms',
      limit: 1000,
    });
    expect(await reason.promise).toMatchObject({ name: 'TimeoutError' });
    expect(vi.getTimerCount()).toBe(0);
  });

  test('after the client’s timeout, if the call has none', async () => {
    vi.useFakeTimers();
    const client = await clientOf(never, { timeout: 1000 });
    const over = vi.fn<(error: Error) => void>();
    void client.callTool('slow').catch(over);
    await vi.advanceTimersByTimeAsync(1000);
    expect(over).toHaveBeenCalledWith(expect.objectContaining({ limit: 1000 }));
  });

  test('after a minute by default, if there is no response', async () => {
    vi.useFakeTimers();
    const client = await clientOf(never);
    const call = failed(client.readResource('a:b'));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await call).toMatchObject({ limit: 60_000 });
  });

  test('later if there is progress, but within its maximum', async () => {
    vi.useFakeTimers();
    const client = await clientOf(async (exchange) => {
      for (let progress = 0; ; progress += 1) {
        await new Promise((resolve) => setTimeout(resolve, 800));
        await exchange.notify('notifications/progress', { progressToken: 1, progress });
      }
    });
    const onprogress = vi.fn<() => void>();
    const call = failed(client.callTool('slow', {}, { timeout: 1000, maxTimeout: 3000, onprogress }));
    await vi.advanceTimersByTimeAsync(3000);
    expect(await call).toMatchObject({ limit: 3000 });
    expect(onprogress).toHaveBeenCalledTimes(3);
  });

  test('not while a user answers a question, but within its time afterwards', async () => {
    vi.useFakeTimers();
    const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
    const client = await clientOf(
      async (exchange) => ({ content: [await exchange.ask('elicitation/create', form), await never()] }),
      {
        onelicit: () => new Promise((resolve) => setTimeout(() => resolve({ action: 'decline' }), 10_000)),
      },
    );
    const settled = vi.fn<() => void>();
    const call = client.callTool('ask', {}, { timeout: 1000 }).catch(settled);
    await vi.advanceTimersByTimeAsync(10_500);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(600);
    expect(settled).toHaveBeenCalledWith(expect.objectContaining({ limit: 1000 }));
    await call;
  });

  test.each([true, false])(
    'within its time if questions come again and again (for the session: %s)',
    async (outlives) => {
      vi.useFakeTimers();
      let asked = 0;
      const client = await clientOf(
        async (exchange) => {
          while (!exchange.signal.aborted) {
            await new Promise((resolve) => setTimeout(resolve, 100));
            asked += 1;
            await exchange.ask('roots/list', {}, { outlivesRequest: outlives }).catch(() => {});
          }
          return {};
        },
        { onerror: () => {} },
      );
      const settled = vi.fn<() => void>();
      const call = client.callTool('flood', {}, { timeout: 8050, maxTimeout: 20_000 }).catch(settled);
      await vi.advanceTimersByTimeAsync(8049);
      expect(settled).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(settled).toHaveBeenCalledWith(expect.objectContaining({ limit: 8050 }));
      expect(asked).toBe(80);
      await call;
    },
  );

  test('with what a question has left of its time', async () => {
    vi.useFakeTimers();
    const client = await clientOf(
      async (exchange) => {
        await new Promise((resolve) => setTimeout(resolve, 700));
        await exchange.ask('roots/list', {});
        return never();
      },
      { onroots: () => new Promise((resolve) => setTimeout(() => resolve([]), 10_000)) },
    );
    const settled = vi.fn<() => void>();
    const call = client.callTool('ask', {}, { timeout: 1000 }).catch(settled);
    await vi.advanceTimersByTimeAsync(10_999);
    expect(settled).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1);
    expect(settled).toHaveBeenCalledWith(expect.objectContaining({ limit: 1000 }));
    await call;
  });

  test('with the reason of its signal, whether it fires before or during the call', async () => {
    const started = deferred<Exchange>();
    const client = await clientOf((exchange) => {
      started.resolve(exchange);
      return never();
    });
    const controller = new AbortController();
    const call = client.callTool('slow', {}, { signal: controller.signal });
    const exchange = await started.promise;
    const reason = new Error('changed my mind');
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    await aborted(exchange.signal);
    await expect(client.callTool('slow', {}, { signal: controller.signal })).rejects.toBe(reason);
  });

  test('when the client is closed, like every later call', async () => {
    const client = await clientOf(never);
    const calls = [client.callTool('a'), client.readResource('b:c'), client.listTools()];
    const errors = calls.map(failed);
    await client.close();
    for (const error of errors) expect(await error).toMatchObject({ name: 'ConnectionError' });
    const later = [client.callTool('a'), client.readResource('b:c'), client.request('vendor/echo'), client.ping()];
    for (const error of later.map(failed))
      expect(await error).toMatchObject({
        name: 'ConnectionError',
        message: 'The client was closed',
        notExecuted: true,
      });
    expect(client.closed).toBe(true);
  });
});

describe('a call that is over', () => {
  test('gets no more messages and questions, and cannot be cancelled', async () => {
    const onprogress = vi.fn<() => void>();
    const answer = vi.fn<() => Promise<JsonObject>>(() => Promise.resolve({}));
    const call = new Call(
      { caller: new TestExchange('').caller, notice: onprogress, answer },
      'tools/call',
      {},
      { timeout: 0, maxTimeout: 0 },
    );
    expect(await call.run(() => Promise.resolve({ content: [] }))).toEqual({ content: [] });
    await call.notify('notifications/progress', { progress: 1 });
    await expect(call.ask('roots/list', {})).rejects.toMatchObject({ code: -32600 });
    call.abort(new Error('closed'));
    expect(onprogress).not.toHaveBeenCalled();
    expect(answer).not.toHaveBeenCalled();
    expect(call.signal.aborted).toBe(false);
  });

  test('cancels its question', async () => {
    let signal: AbortSignal | undefined;
    const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
    const asked = deferred();
    const client = await clientOf(
      async (exchange) => {
        exchange.ask('elicitation/create', form).catch(() => {});
        await asked.promise;
        return { content: [] };
      },
      {
        onelicit: (_, question) => {
          ({ signal } = question);
          asked.resolve();
          return never();
        },
      },
    );
    expect(await client.callTool('ask')).toEqual({ content: [] });
    expect(signal!.reason).toMatchObject({ message: 'The request has been answered' });
  });

  test('has no timer left after a late response', async () => {
    vi.useFakeTimers();
    const answer = deferred<{ action: 'decline' }>();
    const form = { message: 'Who?', requestedSchema: { type: 'object', properties: {} } };
    const client = await clientOf(async (exchange) => ({ content: [await exchange.ask('elicitation/create', form)] }), {
      onelicit: () => answer.promise,
    });
    const call = failed(client.callTool('ask', {}, { maxTimeout: 1000 }));
    await vi.advanceTimersByTimeAsync(1000);
    expect(await call).toMatchObject({ limit: 1000 });
    answer.resolve({ action: 'decline' });
    await vi.advanceTimersByTimeAsync(0);
    expect(vi.getTimerCount()).toBe(0);
  });
});

test('a closed client runs no call and no middleware', async () => {
  const client = await clientOf(() => ({ content: [] }));
  const called = vi.fn<() => void>();
  client.use((next) => (exchange) => {
    called();
    return next(exchange);
  });
  await client.close();
  await expect(client.callTool('a')).rejects.toThrow('The client was closed');
  expect(called).not.toHaveBeenCalled();
});

test('the error for an invalid result describes it', async () => {
  const client = await clientOf(({ method }) =>
    method === 'tools/call' ? { resultType: 'strange' } : { resultType: 'input_required' },
  );
  await expect(client.callTool('a')).rejects.toMatchObject({
    name: 'InvalidResultError',
    message: expect.stringContaining('"strange"'),
  });
  await expect(client.listTools()).rejects.toThrow('asked for input to answer tools/list');
  const tasks = await clientOf(() => ({ resultType: 'task', taskId: 'a' }));
  await expect(tasks.getPrompt('a')).rejects.toThrow('prompts/get with a result of the unknown type "task"');
  const others = await clientOf(() => ({}));
  await expect(others.readResource('a:b')).rejects.toThrow('without contents');
  await expect(others.getPrompt('a')).rejects.toThrow('without messages');
  await expect(others.complete({ type: 'ref/prompt', name: 'a' }, { name: 'b', value: '' })).rejects.toThrow(
    'without values',
  );
  expect(await others.callTool('a')).toEqual({ content: [] });
});

test('the number of rounds of questions is limited', async () => {
  const limits: [number, ClientOptions][] = [
    [16, {}],
    [3, { maxRounds: 3 }],
  ];
  for (const [limit, options] of limits) {
    let rounds = 0;
    const client = await clientOf(() => {
      rounds += 1;
      return { resultType: 'input_required', requestState: `${rounds}` };
    }, options);
    await expect(client.callTool('a')).rejects.toThrow(`asked for input ${limit} times`);
    expect(rounds).toBe(limit + 1);
  }
});

test('a retry has the answers and the unchanged state, and no state if the server gave none', async () => {
  const seen: JsonObject[] = [];
  const client = await clientOf(
    ({ params }) => {
      seen.push(params);
      const inputRequests = { where: { method: 'roots/list' } };
      if (seen.length === 1) return { resultType: 'input_required', inputRequests, requestState: 'ä"\\' };
      if (seen.length === 2) return { resultType: 'input_required', inputRequests };
      return { content: [] };
    },
    { onroots: () => [{ uri: 'file:///a' }] },
  );
  await client.callTool('a', { b: 1 });
  const request = { name: 'a', arguments: { b: 1 } };
  const inputResponses = { where: { roots: [{ uri: 'file:///a' }] } };
  expect(seen).toEqual([request, { ...request, inputResponses, requestState: 'ä"\\' }, { ...request, inputResponses }]);
});

test('an error in a listener is reported, and the call continues', async () => {
  const onerror = vi.fn<(error: Error) => void>();
  const client = await clientOf(
    async (exchange) => {
      await exchange.notify('notifications/progress', { progress: 1 });
      await exchange.notify('notifications/progress', { progress: 'much' });
      return { content: [] };
    },
    { onerror },
  );
  const failing = (): void => {
    throw new Error('mine');
  };
  expect(await client.callTool('a', {}, { onprogress: failing })).toEqual({ content: [] });
  expect(onerror.mock.calls.map(([{ message }]) => message)).toEqual([
    'mine',
    'The server sent progress without a number',
  ]);
});

test.each(['legacy', 'modern'] as const)('10,000 completed calls leave nothing in memory (%s)', async (eras) => {
  const server = new McpServer({ name: 's', version: '1' });
  server.tool('echo', {}, () => 'x');
  const client = await connect(server, { eras });
  const { signal } = new AbortController();
  const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  for (let round = 0; round < 1000; round += 1) {
    await Promise.all(Array.from({ length: 10 }, () => client.callTool('echo', {}, { signal, onprogress: () => {} })));
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  }
  expect(timers()).toBeLessThanOrEqual(before);
  await client.close();
});

test('a call that became a task leaves nothing in memory', async () => {
  const server = new McpServer({ name: 's', version: '1' });
  server.tool('task', { task: { pollIntervalMs: 100 } }, () => 'x');
  const client = await connect(server);
  const { signal } = new AbortController();
  expect(await client.callTool('task', {}, { signal })).toMatchObject({ content: [{ text: 'x' }] });
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  await client.close();
});
