import { describe, expect, onTestFinished, test } from 'vitest';
import {
  connect,
  RpcError,
  type Change,
  type Client,
  type ClientOptions,
  type LogMessage,
} from '../../../src/client/index.ts';
import { eventually } from '../../support/process.ts';
import { textOf } from '../../support/reader.ts';
import { aborted, deferred } from '../../support/service.ts';
import { v1Http, v1Sse, v1Stdio, v2Http, v2Stdio } from './official-servers.ts';

/** What an application does beyond calls, with official servers of both major versions. */

describe.each([
  ['1.x over stdio', v1Stdio],
  ['1.x over Streamable HTTP', v1Http],
  ['1.x over HTTP+SSE', v1Sse],
  ['2.x over stdio', () => v2Stdio('reject')],
  ['2.x over HTTP', () => v2Http('reject')],
] as const)('an official server %s', (_, start) => {
  const errors: Error[] = [];

  async function connected(options: ClientOptions = {}): Promise<Client> {
    errors.length = 0;
    const { target, stop } = await start();
    onTestFinished(async () => void (await stop()));
    const client = await connect(target, { onerror: (error) => void errors.push(error), ...options });
    onTestFinished(() => client.close());
    return client;
  }

  test('is listed page by page, and no page is requested before it is needed', async () => {
    let asked = 0;
    const client = await connected({
      middleware: [
        (next) => (exchange) => {
          if (exchange.method === 'prompts/list') asked += 1;
          return next(exchange);
        },
      ],
    });
    expect((await client.listPrompts()).map(({ name }) => name)).toEqual(['greet', 'thank', 'praise']);
    expect(asked).toBe(3);
    for await (const { name } of client.prompts({ fresh: true })) if (name === 'thank') break;
    expect(asked).toBe(5);
    await expect(client.listPrompts({ fresh: true, maxPages: 2 })).rejects.toMatchObject({
      name: 'InvalidResultError',
    });
    await expect(client.request('prompts/list', { cursor: 'nowhere' })).rejects.toMatchObject({ code: -32602 });
    expect(errors).toEqual([]);
  });

  test('notifies subscribers from the start', async () => {
    const changes: Change[] = [];
    const client = await connected({ onchange: (change) => void changes.push(change) });
    await client.callTool('grow', { name: 'grown' });
    await eventually(() => changes.length > 0, 'the change is heard of');
    expect(changes).toEqual([{ type: 'tools' }]);
    expect((await client.listTools()).map(({ name }) => name)).toContain('grown');
    expect(errors).toEqual([]);
  });

  test('logs at the requested level from the start, and then at another level', async () => {
    const heard: LogMessage[] = [];
    const client = await connected({ onlog: (message) => void heard.push(message), logLevel: 'error' });
    const log = (level: string): Promise<unknown> => client.callTool('log', { level, data: level });
    const levels = (): string[] => heard.map(({ level }) => level);
    await log('warning');
    await log('error');
    await eventually(() => levels().includes('error'), 'the error is heard of');
    await client.setLogLevel('debug');
    await log('debug');
    await eventually(() => levels().includes('debug'), 'the rest is heard of');
    expect(levels()).toEqual(['error', 'debug']);
    expect(errors).toEqual([]);
  });

  test('stops a call that has timed out', async () => {
    const client = await connected();
    const late = client.callTool('wait', {}, { timeout: 100, onprogress: () => {} });
    await expect(late).rejects.toMatchObject({ name: 'TimeoutError', limit: 100 });
    const stopped = async (): Promise<boolean> => textOf(await client.callTool('cancellations')) === '1';
    await eventually(stopped, 'the server hears of it');
    expect(errors).toEqual([]);
  });

  test('cancels a question with its call', async () => {
    const asked = deferred();
    const over = deferred();
    const client = await connected({
      onelicit: async (_form, { signal }) => {
        asked.resolve();
        await aborted(signal);
        over.resolve();
        return { action: 'cancel' };
      },
    });
    const controller = new AbortController();
    const call = client.callTool('ask', {}, { signal: controller.signal });
    await asked.promise;
    controller.abort(new Error('enough'));
    await expect(call).rejects.toThrow('enough');
    await over.promise;
    await client.ping();
  });

  test('gets the reason of a refusal, without internal details', async () => {
    let refuse: () => Error = () => new RpcError(-1, 'User rejected the request');
    const client = await connected({
      onsample: () => {
        throw refuse();
      },
    });
    const sample = (): Promise<string> =>
      client.callTool('sample', { prompt: 'x' }).then(
        (result) => String(textOf(result)),
        (error: Error) => error.message,
      );
    expect(await sample()).toContain('User rejected the request');
    expect(errors).toEqual([]);
    refuse = () => new Error('the secret of the model');
    expect(await sample()).not.toContain('secret');
    expect(errors).toMatchObject([{ cause: { message: 'the secret of the model' } }]);
  });

  test('does not ask a client without handlers', async () => {
    const client = await connected();
    const outcome = (name: string, args: Record<string, string> = {}): Promise<string> =>
      client.callTool(name, args).then(
        ({ isError, content }) => `${String(isError)} ${JSON.stringify(content)}`,
        (error: Error) => `refused: ${error.message}`,
      );
    expect(await outcome('ask')).toMatch(/^(true|refused)/);
    expect(await outcome('sample', { prompt: 'x' })).toMatch(/^(true|refused)/);
    expect(await outcome('roots')).toMatch(/^(true|refused)/);
    expect(await client.ping()).toBeUndefined();
  });
});
