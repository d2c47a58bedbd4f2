import { expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { inputRequired, type InputRequest } from './input-required.ts';
import { McpServer } from './mcp-server.ts';

const name: InputRequest = { method: 'elicitation/create', params: { message: 'Who?' } };

test('a result may contain a question, a state, or both', () => {
  expect(inputRequired({ inputRequests: { name } })).toStrictEqual({
    resultType: 'input_required',
    inputRequests: { name },
  });
  expect(inputRequired({ requestState: '' })).toStrictEqual({ resultType: 'input_required', requestState: '' });
  expect(inputRequired({ inputRequests: { roots: { method: 'roots/list' } }, requestState: 's' })).toStrictEqual({
    resultType: 'input_required',
    inputRequests: { roots: { method: 'roots/list' } },
    requestState: 's',
  });
});

test.each<[string, JsonObject]>([
  ['neither', {}],
  ['a question with another method', { inputRequests: { a: { method: 'tools/call', params: {} } } }],
  ['a state that is not a string', { requestState: 5 }],
])('a result without a question is refused: %s', (_, asked) => {
  expect(() => inputRequired(asked)).toThrow(TypeError);
});

test.each([
  ['tools/call', { name: 'plain' }],
  ['tools/call', { name: 'typed' }],
  ['prompts/get', { name: 'p' }],
  ['resources/read', { uri: 'a://1' }],
])('a handler of %s %j is called again with the answers and its state', async (method, params) => {
  const server = new McpServer({ name: 'test', version: '1' });
  const seen: unknown[] = [];
  const ask = (ctx: { inputResponses: unknown; requestState: unknown }) => {
    seen.push([ctx.inputResponses, ctx.requestState]);
    return inputRequired({ inputRequests: { name }, requestState: `round ${seen.length}` });
  };
  server.tool('plain', {}, (_, ctx) => ask(ctx));
  server.tool('typed', { output: { type: 'object', properties: { a: { type: 'string' } } } }, (_, ctx) => ask(ctx));
  server.prompt('p', {}, (_, ctx) => ask(ctx));
  server.resource('a://1', { name: 'a', ttlMs: 5 }, (_, ctx) => ask(ctx));

  const first = await server.service(new TestExchange(method, params));
  const answers = { inputResponses: { name: { action: 'decline' } }, requestState: 'round 1' };
  await server.service(new TestExchange(method, { ...params, ...answers }));
  await server.service(new TestExchange(method, { ...params, inputResponses: 'x', requestState: 5 }));
  // The result must not have the fields of a cacheable result (2026-07-28, server/utilities/caching: Cacheable Results).
  expect(first).toStrictEqual({ resultType: 'input_required', inputRequests: { name }, requestState: 'round 1' });
  expect(seen).toEqual([
    [{}, undefined],
    [answers.inputResponses, 'round 1'],
    [{}, undefined],
  ]);
});
