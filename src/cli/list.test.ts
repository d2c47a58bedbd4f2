import { Writable } from 'node:stream';
import { expect, test } from 'vitest';
import { ErrorCode, RpcError } from '../jsonrpc/errors.ts';
import { list } from './list.ts';
import { Output } from './output.ts';

/** What is printed for a server with resources and prompts that answers the request for templates with an error. */
async function listed(code: number, rest: readonly string[], json = false): Promise<string> {
  let text = '';
  const stdout = new Writable({ write: (chunk, _encoding, done) => done(void (text += String(chunk))) });
  const client = {
    serverCapabilities: { resources: {}, prompts: {} },
    listResources: async () => [{ uri: 'a:b', name: 'one' }],
    listResourceTemplates: async () => Promise.reject(new RpcError(code, 'no')),
    listPrompts: async () => [{ name: 'ask' }],
  };
  const { signal } = new AbortController();
  await list(rest)({ client, output: new Output({ json }, stdout), signal } as never);
  return text;
}

test('a server of resources may have no templates', async () => {
  expect(await listed(ErrorCode.MethodNotFound, [])).toBe('Resources\n  a:b    one\nPrompts\n  ask\n');
  const json = { resources: [{ uri: 'a:b', name: 'one' }], resourceTemplates: [], prompts: [{ name: 'ask' }] };
  expect(JSON.parse(await listed(ErrorCode.MethodNotFound, [], true))).toEqual(json);
});

test('a list that was asked for must be there, and other errors are errors', async () => {
  await expect(listed(ErrorCode.MethodNotFound, ['templates'])).rejects.toThrow('no');
  await expect(listed(ErrorCode.InternalError, [])).rejects.toThrow('no');
});
