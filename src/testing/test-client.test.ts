import { McpServer as OfficialServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { TimeoutError } from '../client/errors.ts';
import type { Revision } from '../protocol/revisions.ts';
import { McpServer } from '../server/mcp-server.ts';
import { createInbound } from '../wire/serve.ts';
import { unchecked } from './answers.ts';
import { testClient, type TestClient, type TestableServer, type TestClientOptions } from './test-client.ts';

/** Closes the client when its test is over. */
async function open(server: TestableServer, options?: TestClientOptions): Promise<TestClient> {
  const client = await testClient(server, options);
  onTestFinished(() => client.close());
  return client;
}

const make = (): McpServer => new McpServer({ name: 'tested', version: '1.0.0', onerror: () => {} });

const textOf = ({ content }: { content: readonly object[] }): unknown => (content[0] as { text?: string }).text;

const asking = (): McpServer => {
  const server = make();
  server.tool('order', {}, async (_, context) => {
    const schema = {
      type: 'object',
      properties: { size: { type: 'string', default: 'small' } },
    } as const;
    const sizes: unknown[] = [];
    for (const message of ['First size?', 'Second size?']) {
      const { action, content } = await context.elicit({ message, schema });
      sizes.push(content?.size ?? action);
    }
    return JSON.stringify(sizes);
  });
  server.tool('pay', {}, async (_, context) => {
    const { action } = await context.elicitUrl({ message: 'Pay', url: 'https://pay.example/' });
    return action;
  });
  server.tool('haiku', {}, async (_, context) => {
    const { content, model } = await context.sample({
      messages: [{ role: 'user', content: { type: 'text', text: 'A haiku' } }],
      maxTokens: 50,
    });
    return JSON.stringify([model, content]);
  });
  server.tool('folders', {}, async (_, context) => JSON.stringify(await context.roots()));
  server.tool('polite', {}, (_, context) => `can ask: ${context.can('elicitation')}`);
  return server;
};

describe.each<Revision>(['2025-11-25', '2026-07-28'])('a test client of %s', (revision) => {
  test('has the revision that the test chose', async () => {
    const client = await open(make(), { revision });
    expect(client.revision).toBe(revision);
  });

  test('calls as a principal with scopes, and other data of a credential', async () => {
    const server = make();
    server.tool('who', {}, (_, { caller, auth }) =>
      JSON.stringify([caller.principal, auth?.scopes, auth?.clientId, auth?.claims]),
    );
    const ada = { principal: 'ada', scopes: ['a', 'b'], clientId: 'app', claims: { tenant: 'x' } };
    const client = await open(server, { revision, ...ada });
    expect(textOf(await client.callTool('who'))).toBe('["ada",["a","b"],"app",{"tenant":"x"}]');
    const anonymous = await open(server, { revision });
    expect(textOf(await anonymous.callTool('who'))).toBe('[null,null,null,null]');
  });

  test('is refused without the scope of a tool', async () => {
    const server = make();
    server.tool('write', { scopes: ['notes:write'] }, () => 'written');
    const reader = await open(server, { revision, principal: 'ada', scopes: ['notes:read'] });
    await expect(reader.callTool('write')).rejects.toThrow('needs scopes that were not granted: notes:write');
    const nothing = await open(server, { revision, principal: 'ada' });
    await expect(nothing.callTool('write')).rejects.toThrow('notes:write');
    const writer = await open(server, { revision, principal: 'ada', scopes: ['notes:write'] });
    expect(textOf(await writer.callTool('write'))).toBe('written');
  });

  test.each<[string, TestClientOptions['answers'], string, string]>([
    ['one answer to all', { elicit: { action: 'accept', content: { size: 'large' } } }, 'order', '["large","large"]'],
    [
      'a list of answers',
      { elicit: ['accept', { action: 'accept', content: { size: 'large' } }] },
      'order',
      '["small","large"]',
    ],
    [
      'a function',
      { elicit: ({ message }) => (message.startsWith('First') ? 'cancel' : 'decline') },
      'order',
      '["cancel","decline"]',
    ],
    ['an answer to a URL', { elicitUrl: 'decline' }, 'pay', 'decline'],
    [
      'the text of a message',
      { sample: 'Old pond' },
      'haiku',
      JSON.stringify(['test', { type: 'text', text: 'Old pond' }]),
    ],
    [
      'a message',
      { sample: [{ role: 'assistant', model: 'm', content: { type: 'text', text: 'Frog' } }] },
      'haiku',
      JSON.stringify(['m', { type: 'text', text: 'Frog' }]),
    ],
    ['roots', { roots: [{ uri: 'file:///a' }] }, 'folders', '[{"uri":"file:///a"}]'],
    ['a function for roots', { roots: () => [{ uri: 'file:///b' }] }, 'folders', '[{"uri":"file:///b"}]'],
  ])('answers questions with %s', async (_, answers, tool, text) => {
    const client = await open(asking(), { revision, answers });
    expect(textOf(await client.callTool(tool))).toBe(text);
  });

  test('records the questions', async () => {
    const client = await open(asking(), { revision, answers: { elicit: 'decline', roots: [] } });
    await client.callTool('order');
    await client.callTool('folders');
    expect(client.questions).toMatchObject([
      { method: 'elicitation/create', params: { message: 'First size?', requestedSchema: { type: 'object' } } },
      { method: 'elicitation/create', params: { message: 'Second size?' } },
      { method: 'roots/list' },
    ]);
  });

  test('fails a call that asks more questions than there are answers', async () => {
    const client = await open(asking(), { revision, answers: { elicit: ['decline'] } });
    await expect(client.callTool('order')).rejects.toThrow(
      'Unexpected question: "Second size?". There are 1 answers in answers.elicit, and this is question 2',
    );
  });

  test.each<[string, TestClientOptions['answers'], string]>([
    [
      'does not match the form',
      { elicit: { action: 'accept', content: { size: 5 } } },
      'The answer in answers.elicit does not match the form: size',
    ],
    [
      'fails',
      {
        elicit: () => {
          throw new Error('no such size');
        },
      },
      'The answer in answers.elicit cannot be given: no such size',
    ],
  ])('rejects a call with the reason if an answer %s', async (_, answers, reason) => {
    const server = asking();
    const errors: Error[] = [];
    const client = await open(server, { revision, answers, onerror: (error) => errors.push(error) });
    await expect(client.callTool('order')).rejects.toThrow(reason);
    expect(errors).toEqual([]);
  });

  test('sends an answer of unchecked, whatever it is', async () => {
    const wrong = unchecked({ action: 'accept', content: { size: 5 } });
    for (const elicit of [wrong, [wrong], () => wrong]) {
      const client = await open(asking(), { revision, answers: { elicit } });
      await expect(client.callTool('order')).rejects.toThrow('The answer does not match the form: size');
    }
  });

  test('has no capability for questions without answers', async () => {
    const client = await open(asking(), { revision, answers: { roots: [] } });
    expect(textOf(await client.callTool('polite'))).toBe('can ask: false');
    await expect(client.callTool('order')).rejects.toThrow('elicitation');
  });

  test('records log messages and progress of a call, without asking for them', async () => {
    const server = make();
    server.tool('count', {}, async (_, context) => {
      await context.log('debug', { step: 1 }, 'counter');
      await context.progress(1, 2, 'half');
      return 'done';
    });
    const client = await open(server, { revision });
    await client.callTool('count');
    expect(client.notifications.received).toEqual([
      { method: 'notifications/message', params: { level: 'debug', logger: 'counter', data: { step: 1 } } },
      { method: 'notifications/progress', params: { progress: 1, total: 2, message: 'half' } },
    ]);
    expect(client.notifications.of('notifications/progress')).toEqual([{ progress: 1, total: 2, message: 'half' }]);
  });

  test('records changes of lists and of resources', async () => {
    const server = make();
    server.tool('first', {}, () => '');
    server.resource('note://1', { name: 'note' }, () => 'text');
    const client = await open(server, { revision });
    const { notifications } = client;
    server.tool('second', {}, () => '');
    expect(await notifications.next('notifications/tools/list_changed')).toEqual({});
    await client.subscribe('note://1', () => {});
    const updated = notifications.next('notifications/resources/updated');
    server.resourceUpdated('note://1');
    expect(await updated).toEqual({ uri: 'note://1' });
    expect(notifications.received).toHaveLength(2);
  });

  test('returns each notification once, whether it arrived before or after the wait', async () => {
    const server = make();
    server.tool('speak', { input: { type: 'object', properties: { word: {} } } }, async ({ word }, context) => {
      await context.log('info', word);
      return '';
    });
    const client = await open(server, { revision });
    const { notifications } = client;
    const method = 'notifications/message';
    for (const word of ['a', 'b', 'c']) await client.callTool('speak', { word });
    expect(await notifications.next(method, { where: ({ data }) => data === 'b' })).toMatchObject({ data: 'b' });
    expect(await notifications.next(method)).toMatchObject({ data: 'a' });
    expect(await notifications.next(method)).toMatchObject({ data: 'c' });
    const next = notifications.next(method);
    await client.callTool('speak', { word: 'd' });
    expect(await next).toMatchObject({ data: 'd' });
  });

  test('a wait for a notification that does not come says what has come instead', async () => {
    const server = make();
    server.tool('speak', {}, async (_, context) => {
      await context.log('info', 'a');
      await context.log('info', 'b');
      return '';
    });
    const client = await open(server, { revision });
    await client.callTool('speak');
    const { notifications } = client;
    const late = notifications.next('notifications/tools/list_changed', { timeout: 1 });
    await expect(late).rejects.toThrow(TimeoutError);
    await expect(late).rejects.toThrow(
      'No notifications/tools/list_changed was received within 1 ms. Received so far: 2 × notifications/message',
    );
    await notifications.next('notifications/message');
    await expect(notifications.next('notifications/message', { timeout: 1, where: () => false })).rejects.toThrow(
      'No further notifications/message that `where` accepts was received within 1 ms',
    );
  });

  test('sees results as JSON, and a result that is none as an error', async () => {
    const server = make();
    const at = new Date(0);
    server.tool('when', {}, () => ({ content: [], structuredContent: { at, nothing: undefined } }));
    server.tool('big', {}, () => ({ content: [], structuredContent: { count: 1n } }));
    const client = await open(server, { revision });
    expect((await client.callTool('when')).structuredContent).toStrictEqual({ at: '1970-01-01T00:00:00.000Z' });
    await expect(client.callTool('big')).rejects.toThrow('BigInt');
  });

  test('is closed at the end of its block', async () => {
    const server = make();
    let closed: TestClient;
    {
      await using client = await testClient(server, { revision });
      await client.ping();
      closed = client;
    }
    expect(closed.closed).toBe(true);
    await expect(closed.ping()).rejects.toThrow('closed');
  });
});

test('the limits and eras of the server itself apply', async () => {
  const server = new McpServer({ name: 'modern', version: '1.0.0', eras: 'modern' });
  await expect(testClient(server, { revision: '2025-11-25' })).rejects.toThrow('2025-11-25');
});

test('any service can be tested, and a server of the official SDK', async () => {
  const inbound = createInbound(async ({ method }) =>
    method === 'server/discover' ? { supportedVersions: ['2026-07-28'], capabilities: {} } : { pong: true },
  );
  const client = await open(inbound);
  expect(await client.request('custom')).toMatchObject({ pong: true });
  const official = new OfficialServer({ name: 'official', version: '1.0.0' });
  official.registerTool('hello', {}, () => ({ content: [{ type: 'text', text: 'Hello!' }] }));
  expect(textOf(await (await open(official)).callTool('hello'))).toBe('Hello!');
});

test.each<[string, unknown, object, RegExp]>([
  ['a URL', 'http://localhost/mcp', {}, /needs a server with a connect method/],
  ['nothing', undefined, {}, /needs a server with a connect method/],
  ['scopes of nobody', make(), { scopes: ['a'] }, /scopes belongs to a credential. Set principal too/],
  ['claims of nobody', make(), { claims: {} }, /claims belongs to a credential. Set principal too/],
])('%s is refused', async (_, server, options, message) => {
  await expect(testClient(server as TestableServer, options)).rejects.toThrow(TypeError);
  await expect(testClient(server as TestableServer, options)).rejects.toThrow(message);
});

test('a server that was closed cannot be tested', async () => {
  const server = make();
  await server.close();
  await expect(testClient(server)).rejects.toThrow('The server has been closed');
});
