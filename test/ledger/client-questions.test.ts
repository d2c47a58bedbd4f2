import { expect, test, vi } from 'vitest';
import type { SampleParams } from '../../src/protocol/sampling.ts';
import { json, scripted } from '../support/http-server.ts';
import { clientOf, PlayedServer } from './played-server.ts';

/** Asks once, and then completes. */
const asking = (method: string, params: object) => ({
  'tools/call': ({ params: { inputResponses } }: any) =>
    inputResponses ? { content: [] } : { resultType: 'input_required', inputRequests: { k: { method, params } } },
});

test('the URL of an elicitation is passed to the application completely, and never fetched', async () => {
  const page = await scripted((_, response) => json(response, {}));
  const url = `${page.url.href}?for=ada&next=https://xn--e1awd7f.example/#top`;
  const server = new PlayedServer(asking('elicitation/create', { mode: 'url', message: 'Sign in', url }));
  const visit = vi.fn<(request: { url: string }) => { action: 'accept' }>(() => ({ action: 'accept' }));
  const { client } = await clientOf(server, { onelicit: { url: visit } });
  await client.callTool('a');
  expect(visit.mock.calls.map(([request]) => request.url)).toEqual([url]);
  expect(server.of('tools/call').at(-1).params.inputResponses).toEqual({ k: { action: 'accept' } });
  expect(page.connections()).toBe(0);
});

test('an elicitation without a mode is a form, and gets its defaults', async () => {
  const requestedSchema = {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer', default: 18 } },
    required: ['name', 'age'],
  };
  const server = new PlayedServer(asking('elicitation/create', { message: 'Who?', requestedSchema }));
  const { client } = await clientOf(server, { onelicit: () => ({ action: 'accept', content: { name: 'Ada' } }) });
  await client.callTool('a');
  const { inputResponses } = server.of('tools/call').at(-1).params;
  expect(inputResponses).toEqual({ k: { action: 'accept', content: { name: 'Ada', age: 18 } } });
});

test('the messages of one sampling request are not in the next, and its options are passed on', async () => {
  const params = {
    messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }],
    maxTokens: 7,
    modelPreferences: { hints: [{ name: 'small' }], costPriority: 1 },
    tools: [{ name: 'add', inputSchema: { type: 'object' } }],
    toolChoice: { mode: 'required' },
  };
  const server = new PlayedServer(asking('sampling/createMessage', params));
  const seen: SampleParams[] = [];
  const { client } = await clientOf(server, {
    sampling: { tools: true },
    onsample: (request) => {
      seen.push(request);
      return { role: 'assistant', model: 'small', content: { type: 'text', text: 'hello' } };
    },
  });
  await client.callTool('a');
  await client.callTool('b');
  expect(seen).toEqual([params, params]);
});

test.each([{ tools: [] }, { toolChoice: { mode: 'none' } }])(
  'sampling with %j is refused by a client without sampling.tools, and the handler is not called',
  async (more) => {
    const params = { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 7, ...more };
    const server = new PlayedServer(asking('sampling/createMessage', params));
    const onsample = vi.fn<() => never>();
    const { client } = await clientOf(server, { onsample });
    await expect(client.callTool('a')).rejects.toMatchObject({ code: -32021 });
    expect(onsample).not.toHaveBeenCalled();
  },
);

test('completions may be incomplete, and without a total', async () => {
  const completions = [{ values: [] }, { values: ['a'], hasMore: true }, { values: ['a'], total: 3 }];
  const server = new PlayedServer({ 'completion/complete': () => ({ completion: completions.shift() }) });
  const { client } = await clientOf(server);
  const complete = () => client.complete({ type: 'ref/prompt', name: 'p' }, { name: 'x', value: '' });
  expect(await complete()).toEqual({ values: [] });
  expect(await complete()).toEqual({ values: ['a'], hasMore: true });
  expect(await complete()).toEqual({ values: ['a'], total: 3 });
  await expect(complete()).rejects.toMatchObject({ name: 'InvalidResultError' });
});
