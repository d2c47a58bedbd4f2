import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { ModernClient } from '../../test/support/modern.ts';
import { opened } from '../../test/support/wire.ts';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { LEGACY_REVISIONS } from '../protocol/revisions.ts';
import { McpServer, type McpServerOptions } from './mcp-server.ts';
import { UserError } from './user-error.ts';

const SECRET = 'connect ECONNREFUSED postgres://app:hunter2@10.0.0.7';

/** A server whose handlers all throw the same value. */
function brokenServer(thrown: unknown, options: Partial<McpServerOptions> = {}): McpServer {
  const broken = () => {
    throw thrown;
  };
  const server = new McpServer({ name: 'test', version: '1', ...options });
  server.tool('t', {}, broken);
  server.prompt('p', { arguments: { a: { complete: broken } } }, broken);
  server.resource('a://1', { name: 'one' }, broken);
  server.resourceTemplate('b://{x}', { name: 'b', list: broken }, broken);
  return server.use((next) => (exchange) => {
    if (exchange.method === 'subscriptions/listen' && exchange.caller.logLevel !== undefined) broken();
    return next(exchange);
  });
}

describe.each<[string, JsonObject]>([
  ['prompts/get', { name: 'p' }],
  ['resources/read', { uri: 'a://1' }],
  ['resources/read', { uri: 'b://1' }],
  ['resources/list', {}],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }],
  ['logging/setLevel', { level: 'info' }],
])('an error thrown within %s', (method, params) => {
  /** The error that a client gets. It is the same in every revision with a handshake. */
  async function errorFor(thrown: unknown, options: Partial<McpServerOptions> = {}): Promise<JsonObject> {
    const errors: JsonObject[] = [];
    for (const revision of LEGACY_REVISIONS) {
      const { client } = await opened(brokenServer(thrown, options).service, { revision });
      errors.push((await client.request(1, method, params))['error']);
      expect(await client.request(2, 'prompts/list')).toHaveProperty('result.prompts');
    }
    for (const error of errors) expect(error).toEqual(errors[0]);
    return errors[0]!;
  }
  const failed = method === 'logging/setLevel' ? 'subscriptions/listen' : method;

  test('is −32603 without its message, and onerror gets both', async () => {
    const onerror = vi.fn<(error: Error) => void>();
    const thrown = new Error(SECRET);
    expect(await errorFor(thrown, { onerror })).toEqual({
      code: -32603,
      message: `${failed} failed with an internal error`,
    });
    expect(onerror.mock.calls.map(([{ message, cause }]) => [message, cause])).toEqual(
      LEGACY_REVISIONS.map(() => [`${failed} failed: ${SECRET}`, thrown]),
    );
  });

  test('is sent unchanged if it is meant for the caller, or if errors are exposed', async () => {
    const onerror = vi.fn<(error: Error) => void>();
    expect(await errorFor(new UserError('ask for another'), { onerror })).toEqual({
      // What is wrong with a prompt or a resource is wrong with the parameters.
      code: method === 'prompts/get' || method === 'resources/read' ? -32602 : -32603,
      message: 'ask for another',
    });
    const refusal = new RpcError(ErrorCode.InvalidParams, 'not so', { data: 1 });
    expect(await errorFor(refusal, { onerror })).toEqual({ code: -32602, message: 'not so', data: 1 });
    expect(onerror).not.toHaveBeenCalled();
    expect(await errorFor(new Error(SECRET), { onerror, exposeErrors: true })).toEqual({
      code: -32603,
      message: SECRET,
    });
    expect(onerror).toHaveBeenCalledTimes(LEGACY_REVISIONS.length);
  });
});

test('a UserError of another copy of this package is recognised, even if a bundler changed its name', async () => {
  vi.resetModules();
  const { UserError: Other } = await import('./user-error.ts');
  class e extends Other {}
  expect(new e()).not.toBeInstanceOf(UserError);
  const { client } = await opened(brokenServer(new e('ask for another')).service);
  expect(await client.request(1, 'prompts/get', { name: 'p' })).toHaveProperty('error.message', 'ask for another');
});

test('without onerror, an error of a handler is written to stderr with its stack', async () => {
  const written = vi.spyOn(console, 'error').mockImplementation(() => {});
  onTestFinished(() => written.mockRestore());
  const thrown = new Error(SECRET);
  const client = new ModernClient(brokenServer(thrown).service);
  const requests: [string, JsonObject][] = [
    ['tools/call', { name: 't' }],
    ['prompts/get', { name: 'p' }],
    ['resources/read', { uri: 'a://1' }],
  ];
  for (const [method, params] of requests) {
    written.mockClear();
    expect(JSON.stringify(await client.request(method, params))).not.toContain('hunter2');
    expect(written.mock.calls).toEqual([[expect.stringContaining(`Caused by: ${thrown.stack}`)]]);
  }
  expect(thrown.stack).toContain('internal-errors.test.ts');
});

test('a tool returns the message of any error if errors are exposed', async () => {
  const client = new ModernClient(brokenServer(new Error(SECRET), { exposeErrors: true, onerror: () => {} }).service);
  const { response } = await client.request('tools/call', { name: 't' });
  expect(response.result).toMatchObject({ isError: true, content: [{ text: SECRET }] });
});

test('an error of a handler is not reported if its caller has left', async () => {
  const onerror = vi.fn<(error: Error) => void>();
  const server = new McpServer({ name: 'test', version: '1', onerror });
  const waits = (signal: AbortSignal) =>
    new Promise<string>((_, reject) => {
      signal.addEventListener('abort', () => reject(new Error('fetch was aborted', { cause: signal.reason })));
    });
  server.tool('t', {}, (_, { signal }) => waits(signal));
  server.prompt('p', {}, (_, { signal }) => waits(signal));
  const { client } = await opened(server.service);
  await client.send(
    { id: 1, method: 'tools/call', params: { name: 't' } },
    { id: 2, method: 'prompts/get', params: { name: 'p' } },
  );
  for (const requestId of [1, 2]) await client.send({ method: 'notifications/cancelled', params: { requestId } });
  expect(onerror).not.toHaveBeenCalled();
});
