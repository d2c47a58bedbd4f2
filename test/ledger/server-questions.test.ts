import { describe, expect, test, vi } from 'vitest';
import type { Context } from '../../src/server/context.ts';
import { McpServer } from '../../src/server/mcp-server.ts';
import type { ToolReply } from '../../src/server/tools.ts';
import { opened, type Peer } from '../support/wire.ts';

const everything = { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} };

/** The newest error that the server reported: mistakes of its author are not sent to the client. */
let reported: Error | undefined;

/** A client of a server whose tool runs the given function, called once. */
async function calling(handler: (ctx: Context) => unknown, capabilities: object = everything): Promise<Peer> {
  const onerror = (error: Error): void => void (reported = error);
  const server = new McpServer({ name: 'test', version: '1', onerror });
  server.tool('ask', {}, (_, ctx) => handler(ctx) as ToolReply<undefined>);
  const { client } = await opened(server.service, { capabilities });
  await client.send({ id: 'call', method: 'tools/call', params: { name: 'ask' } });
  return client;
}

/** The only message is the error result of the call: nothing was asked. The author gets the reason. */
function expectRefusal(client: Peer, why: string): void {
  expect(client.take()).toEqual([
    {
      jsonrpc: '2.0',
      id: 'call',
      result: { isError: true, content: [{ type: 'text', text: 'Tool ask failed with an internal error' }] },
    },
  ]);
  expect(reported?.message).toContain(why);
}

describe('elicitation', () => {
  const schema = { type: 'object', properties: { age: { type: 'integer' } }, required: ['age'] } as const;

  test('a form has a message, a flat schema and the mode "form"', async () => {
    const client = await calling((ctx) => ctx.elicit({ message: 'How old?', schema }));
    const { method, params } = client.next();
    expect(method).toBe('elicitation/create');
    expect(['form', undefined]).toContain(params.mode);
    expect(params).toMatchObject({ message: 'How old?', requestedSchema: schema });
  });

  test('an invalid form schema is not sent', async () => {
    const nested = { type: 'object', properties: { person: { type: 'object', properties: {} } } } as const;
    expectRefusal(await calling((ctx) => ctx.elicit({ message: 'Who?', schema: nested })), 'person');
  });

  test('answers are validated against the schema', async () => {
    const client = await calling(async (ctx) => JSON.stringify(await ctx.elicit({ message: 'How old?', schema })));
    await client.send({ id: client.next().id, result: { action: 'accept', content: { age: 'young' } } });
    await vi.waitUntil(() => client.inbox.length > 0);
    expect(client.next()).toMatchObject({
      id: 'call',
      error: { code: -32602, message: expect.stringContaining('age') },
    });
  });

  test('a URL elicitation has the mode "url", a message, a URL and its own id', async () => {
    const visit = { message: 'Go', url: 'https://example.com/a' };
    const client = await calling((ctx) => Promise.all([ctx.elicitUrl(visit), ctx.elicitUrl(visit)]));
    const [one, other] = [client.next(), client.next()];
    for (const { method, params } of [one, other]) {
      expect(method).toBe('elicitation/create');
      expect(params).toEqual({ mode: 'url', ...visit, elicitationId: expect.stringMatching(/./) });
    }
    expect(one.params.elicitationId).not.toBe(other.params.elicitationId);
  });

  test.each(['', 'example.com', '/relative', 'https://'])('the URL %j is invalid, and is not sent', async (url) => {
    expectRefusal(await calling((ctx) => ctx.elicitUrl({ message: 'Go', url })), 'must be an absolute URL');
  });
});

describe('sampling', () => {
  const text = { type: 'text' as const, text: 'x' };
  const use = (id: string) => ({ type: 'tool_use' as const, id, name: 't', input: {} });
  const result = (toolUseId: string) => ({ type: 'tool_result' as const, toolUseId, content: [text] });
  const user = (...content: any[]) => ({ role: 'user' as const, content });
  const assistant = (...content: any[]) => ({ role: 'assistant' as const, content });

  test('tool uses and their results are sent if they match', async () => {
    const messages = [user(text), assistant(text, use('1'), use('2')), user(result('2'), result('1')), assistant(text)];
    const client = await calling((ctx) => ctx.sample({ messages, maxTokens: 1 }));
    expect(client.next()).toMatchObject({ method: 'sampling/createMessage', params: { messages } });
  });

  test.each([
    ['tool results beside other content', [user(text), assistant(use('1')), user(result('1'), text)], 'messages[2]'],
    ['a missing tool result', [user(text), assistant(use('1'), use('2')), user(result('1'))], 'messages[2]'],
    ['other content before the tool results', [assistant(use('1')), user(text), user(result('1'))], 'messages[1]'],
    ['tool results without tool uses', [user(text), assistant(text), user(result('9'))], 'messages[2]'],
    ['tool uses in the last message', [user(text), assistant(use('1'))], 'tool uses 1'],
  ])('%s: the request is not sent', async (_, messages, why) => {
    expectRefusal(await calling((ctx) => ctx.sample({ messages, maxTokens: 1 })), why);
  });

  test('context of other servers is not requested if the client does not support it', async () => {
    const sample = (ctx: Context) => ctx.sample({ messages: [user(text)], maxTokens: 1, includeContext: 'allServers' });
    const client = await calling(sample, { sampling: {} });
    expect(client.next()).toMatchObject({
      id: 'call',
      error: { message: expect.stringContaining('sampling.context') },
    });
    expect(client.take()).toEqual([]);
    const able = await calling(sample, { sampling: { context: {} } });
    expect(able.next()).toMatchObject({ method: 'sampling/createMessage', params: { includeContext: 'allServers' } });
  });
});
