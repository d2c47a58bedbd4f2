import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect, type Client } from 'everwire/client';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { programs, root, startNode, type RunningProcess } from '../support/process.ts';

/**
 * For a server at a URL or on a shared connection, all clients of a bridge are one caller. The bridge keeps them
 * separate.
 */

type Json = Record<string, any>;

const TASKS = 'io.modelcontextprotocol/tasks';
const STATE = 'state of the server';
const TASK_SERVER = `${root}test/fixtures/tasks.mjs`;

let server: Server;
let running: RunningProcess[];
beforeEach(async () => {
  running = [];
  server = createServer((request, response) => {
    void text(request).then((body) => {
      const { id, method, params } = JSON.parse(body);
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ jsonrpc: '2.0', id, result: answer(method, params) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(async () => {
  await Promise.all(running.map((each) => each.stop()));
  server.closeAllConnections();
  server.close();
});

/** A server that gives tasks and states to anyone who knows their ids. */
function answer(method: string, params: Json): Json {
  const task = { taskId: 't', status: 'working', createdAt: '', lastUpdatedAt: '', ttlMs: null };
  const question = { method: 'elicitation/create', params: { message: 'm', requestedSchema: { type: 'object' } } };
  switch (method) {
    case 'server/discover':
      return {
        ...{ resultType: 'complete', ttlMs: 0, cacheScope: 'private', supportedVersions: ['2026-07-28'] },
        capabilities: { tools: {}, extensions: { [TASKS]: {} } },
      };
    case 'tools/call':
      if (params['name'] === 'begin') return { resultType: 'task', ...task };
      return params['requestState'] === STATE
        ? { resultType: 'complete', content: [{ type: 'text', text: 'done' }] }
        : { resultType: 'input_required', inputRequests: { q: question }, requestState: STATE };
    default:
      return { resultType: 'complete', ...task };
  }
}

function bridge(...words: string[]): Promise<string> {
  return bridgeTo(...words, `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
}

async function bridgeTo(...words: string[]): Promise<string> {
  const child = startNode([...programs.everwire, 'bridge', '--port', '0', ...words]);
  running.push(child);
  return (await child.line(/listening on (http:\S+)/, 30_000))[1]!;
}

async function send(url: string, token: string | undefined, method: string, params: Json): Promise<Json> {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'same', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: {}, extensions: { [TASKS]: {} } },
  };
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': params['name'] ?? params['taskId'],
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
  });
  // A slow response comes in an event stream.
  const body = await response.text();
  const data = body.split('\n').find((line) => line.startsWith('data: {'));
  return JSON.parse(data?.slice('data: '.length) ?? body);
}

const retryOf = ({ result }: Json): Json => ({
  name: 'ask',
  arguments: {},
  requestState: result.requestState,
  inputResponses: { q: { action: 'accept', content: {} } },
});
const ASK = { name: 'ask', arguments: {} };
const [ann, bob] = ['token-of-ann', 'token-of-bob'];
const tokens = ['--bearer', ann, '--bearer', bob];
const DONE = { result: { content: [{ text: 'done' }] } };

describe('for the principals of a bridge with credentials', () => {
  test('the state of a request works only for its own principal', async () => {
    const url = await bridge(...tokens);
    const retry = retryOf(await send(url, ann, 'tools/call', ASK));
    expect(await send(url, bob, 'tools/call', retry)).toMatchObject({
      error: { code: -32602, message: expect.stringContaining('call again without it') },
    });
    expect(await send(url, bob, 'tools/call', { ...retry, requestState: STATE })).toMatchObject({
      error: { code: -32602 },
    });
    expect(await send(url, ann, 'tools/call', retry)).toMatchObject(DONE);
  });

  test('a task works only for its own principal', async () => {
    const url = await bridge(...tokens);
    const { result } = await send(url, ann, 'tools/call', { name: 'begin', arguments: {} });
    const { taskId } = result;
    expect(await send(url, bob, 'tasks/get', { taskId })).toMatchObject({ error: { code: -32602 } });
    expect(await send(url, bob, 'tasks/get', { taskId: 't' })).toMatchObject({ error: { code: -32602 } });
    expect(await send(url, ann, 'tasks/get', { taskId })).toMatchObject({ result: { taskId, status: 'working' } });
  });

  test('tasks and states work after a restart with the same key', async () => {
    const first = await bridge(...tokens, '--state-key', 'key-of-many-characters');
    const retry = retryOf(await send(first, ann, 'tools/call', ASK));
    const { result } = await send(first, ann, 'tools/call', { name: 'begin', arguments: {} });
    const second = await bridge(...tokens, '--state-key', 'key-of-many-characters');
    expect(await send(second, ann, 'tools/call', retry)).toMatchObject(DONE);
    expect(await send(second, ann, 'tasks/get', { taskId: result.taskId })).toMatchObject({
      result: { taskId: result.taskId },
    });
  });
});

describe('if a secret is removed while others stay', () => {
  const KEY = ['--state-key', 'key-of-many-characters'];

  test('what belonged to it does not go to the owner of another one, who keeps their own', async () => {
    const before = await bridge(...tokens, ...KEY);
    const tasks: string[] = [];
    for (const token of [ann, bob])
      tasks.push((await send(before, token, 'tools/call', { name: 'begin', arguments: {} })).result.taskId);
    const [ofAnn, ofBob] = tasks;
    const after = await bridge('--bearer', bob, ...KEY);
    expect(await send(after, bob, 'tasks/get', { taskId: ofAnn })).toMatchObject({ error: { code: -32602 } });
    expect(await send(after, bob, 'tasks/get', { taskId: ofBob })).toMatchObject({ result: { taskId: ofBob } });
  });
});

describe('for the principals of a bridge to a command with tasks of 2025-11-25', () => {
  interface User {
    readonly client: Client;
    /** The task ids in notifications, and in questions of tasks. */
    readonly heard: unknown[];
  }

  async function users(...words: string[]): Promise<[User, User]> {
    const url = await bridgeTo(...words, ...tokens, '--', process.execPath, TASK_SERVER);
    const user = async (token: string): Promise<User> => {
      const heard: unknown[] = [];
      const client = await connect(url, {
        revision: '2025-11-25',
        headers: { authorization: `Bearer ${token}` },
        onelicit: (form) => {
          heard.push(form.message);
          return { action: 'accept', content: {} };
        },
        onnotification: (_, { taskId }) => {
          if (taskId !== undefined) heard.push(taskId);
        },
      });
      onTestFinished(() => client.close());
      return { client, heard };
    };
    return [await user(ann), await user(bob)];
  }

  async function begin({ client }: User): Promise<string> {
    const { task } = await client.request('tools/call', { name: 'begin', task: {} });
    return (task as Json)['taskId'];
  }

  test.each([[['--shared']], [['--pool', '1']]])(
    'a task and its notifications reach only its own principal, with %j',
    async (words) => {
      const [mine, other] = await users(...words);
      const tasks = [await begin(mine), await begin(other)];
      expect(tasks).toEqual([expect.stringMatching(/^task-1\.[\w-]{22}$/), expect.stringMatching(/^task-2\./)]);
      for (const params of [{ taskId: tasks[0] }, { taskId: 'task-1' }, { taskId: tasks[1], TaskId: 'task-1' }])
        await expect(other.client.request('tasks/get', params)).rejects.toMatchObject({ code: -32602 });
      await expect(other.client.request('tasks/list')).rejects.toMatchObject({ code: -32601 });
      await other.client.callTool('announce');
      await other.client.callTool('ask');
      const others = [tasks[1], 'for task-2'];
      await expect.poll(() => [mine.heard, other.heard]).toEqual([[tasks[0]], others]);
      await mine.client.request('tasks/result', { taskId: tasks[0] });
      expect(mine.heard).toEqual([tasks[0], 'for task-1']);
      expect(other.heard).toEqual(others);
    },
  );

  test('each principal lists its own tasks, with a process for each client', async () => {
    const [mine, other] = await users();
    await begin(mine);
    const { tasks } = await mine.client.request('tasks/list');
    expect(tasks).toMatchObject([{ taskId: 'task-1' }]);
    expect(await other.client.request('tasks/list')).toMatchObject({ tasks: [] });
  });
});

test('without credentials, tasks and states survive a restart of the bridge, even without a key', async () => {
  const retry = retryOf(await send(await bridge(), undefined, 'tools/call', ASK));
  const second = await bridge();
  expect(await send(second, undefined, 'tools/call', retry)).toMatchObject(DONE);
  expect(await send(second, undefined, 'tasks/get', { taskId: 't' })).toMatchObject({ result: { taskId: 't' } });
});
