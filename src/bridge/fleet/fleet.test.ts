import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { aborted, deferred, listening, scripted, settled } from '../../../test/support/service.ts';
import { TestExchange, type TestExchangeOptions } from '../../../test/support/exchange.ts';
import type { Exchange, Service } from '../../core/exchange.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { createFleet, type Fleet, type FleetOptions } from './fleet.ts';

type Answers = Parameters<typeof scripted>[0];

/** A server with these tools, each of which says who was called. */
function toolServer(name: string, tools: readonly string[], more: Answers = {}): ReturnType<typeof scripted> {
  return scripted(
    {
      'tools/list': () => ({ tools: tools.map((tool) => ({ name: tool, inputSchema: {} })) }),
      'tools/call': ({ params }) => ({ content: [{ type: 'text', text: `${name}: ${params['name']}` }] }),
      ...more,
    },
    { tools: { listChanged: true } },
  );
}

function fleetOf(
  servers: Record<string, { service: Service }>,
  options: Partial<FleetOptions> = {},
): { fleet: Fleet; warnings: string[] } {
  const warnings: string[] = [];
  const members = Object.entries(servers).map(([name, { service }]) => ({ name, service }));
  return { fleet: createFleet({ members, onwarning: (warning) => void warnings.push(warning), ...options }), warnings };
}

function ask(
  fleet: Fleet,
  method: string,
  params: JsonObject = {},
  options?: TestExchangeOptions,
): Promise<JsonObject> {
  return fleet.service(new TestExchange(method, params, options));
}

/** The names of all entries of a list, over all its pages. */
async function list(fleet: Fleet, method: string, key: string, id: string): Promise<string[]> {
  const found: string[] = [];
  for (let cursor: string | undefined; ;) {
    const result = await ask(fleet, method, cursor === undefined ? {} : { cursor });
    found.push(...result[key].map((entry: JsonObject) => entry[id]));
    cursor = result['nextCursor'];
    if (cursor === undefined) return found;
  }
}

const tools = (fleet: Fleet): Promise<string[]> => list(fleet, 'tools/list', 'tools', 'name');

async function call(fleet: Fleet, name: string): Promise<string> {
  return (await ask(fleet, 'tools/call', { name }))['content'][0].text;
}

/** A service that answers nothing before it is told to. */
function hanging(then: Service): { service: Service; wake: () => void } {
  const { promise, resolve } = deferred();
  return { service: (exchange) => promise.then(() => then(exchange)), wake: () => resolve() };
}

const never = (): never => {
  throw new RpcError(-32601, 'Method not found');
};

const down = (): never => {
  throw new RpcError(-32000, 'gone');
};

describe('the tools of several servers', () => {
  test('keep their names where no other has them, and are called by them', async () => {
    const { fleet } = fleetOf({
      git: toolServer('git', ['log', 'search']),
      hub: toolServer('hub', ['pull', 'search']),
    });
    const names = await tools(fleet);
    expect(names).toEqual(['log', 'git__search', 'pull', 'hub__search']);
    const called = await Promise.all([...names, 'git__log'].map((name) => call(fleet, name)));
    expect(called).toEqual(['git: log', 'git: search', 'hub: pull', 'hub: search', 'git: log']);
  });

  test('can be called before anybody has listed them', async () => {
    const { fleet } = fleetOf({ git: toolServer('git', ['log']), hub: toolServer('hub', ['pull']) });
    expect(await call(fleet, 'pull')).toBe('hub: pull');
  });

  test('always have their server’s name before them where that is wanted, and no list is read for a call', async () => {
    const [git, hub] = [toolServer('git', ['log']), toolServer('hub', ['pull', 'no spaces'])];
    const { fleet } = fleetOf({ git, hub }, { names: 'always', separator: '.' });
    expect(await call(fleet, 'hub.pull')).toBe('hub: pull');
    expect(hub.seen.map(({ method }) => method)).toEqual(['tools/call']);
    const names = await tools(fleet);
    expect(names).toEqual(['git.log', 'hub.pull', expect.stringMatching(/^hub\.no_spaces_[0-9a-f]{10}$/)]);
    expect(await call(fleet, names[2]!)).toBe('hub: no spaces');
    await expect(call(fleet, 'log')).rejects.toMatchObject({ code: -32602, message: 'Unknown tool: log' });
  });

  test('a name that several have is refused with those to use, and an unknown one as unknown', async () => {
    const { fleet } = fleetOf({ git: toolServer('git', ['search']), hub: toolServer('hub', ['search']) });
    await expect(call(fleet, 'search')).rejects.toThrow(
      'Unknown tool: search; several servers have one, ask for git__search or hub__search',
    );
    await expect(call(fleet, 'find')).rejects.toMatchObject({ code: -32602, message: 'Unknown tool: find' });
    await expect(ask(fleet, 'tools/call', { name: 1 })).rejects.toMatchObject({ code: -32602 });
  });

  test('are selected, renamed and described for each server', async () => {
    const git = toolServer('git', ['log', 'push', 'search']);
    const hub = toolServer('hub', ['log']);
    const fleet = createFleet({
      members: [
        {
          name: 'git',
          service: git.service,
          tools: { hide: ['push'], rename: { log: 'history' }, describe: { search: 'Finds.' } },
        },
        { name: 'hub', service: hub.service },
      ],
    });
    const { tools: shown } = await ask(fleet, 'tools/list');
    expect(shown).toEqual([
      { name: 'history', inputSchema: {} },
      { name: 'search', inputSchema: {}, description: 'Finds.' },
      { name: 'log', inputSchema: {} },
    ]);
    expect(await call(fleet, 'history')).toBe('git: log');
    expect(await call(fleet, 'log')).toBe('hub: log');
    await expect(call(fleet, 'push')).rejects.toThrow('Unknown tool: push');
    await expect(call(fleet, 'git__push')).rejects.toThrow('Unknown tool: push');
    // By itself it is shown the same way.
    const alone = await fleet.member('git')!(new TestExchange('tools/list'));
    expect(alone['tools'].map(({ name }: { name: string }) => name)).toEqual(['history', 'search']);
    expect(fleet.member('nobody')).toBeUndefined();
  });

  test('are listed page by page where they are many, with names that were compared before', async () => {
    const pages = (name: string, count: number): Answers => ({
      'tools/list': ({ params }) => {
        const start = params['cursor'] === undefined ? 0 : Number(params['cursor']);
        const end = Math.min(start + 400, count);
        const entries = Array.from({ length: end - start }, (_, index) => ({ name: `t${start + index}`, of: name }));
        return {
          tools: entries,
          ...(end < count ? { nextCursor: String(end) } : {}),
          ttlMs: 1000,
          cacheScope: 'public',
        };
      },
    });
    const servers = {
      a: toolServer('a', [], pages('a', 900)),
      b: toolServer('b', [], pages('b', 1300)),
      c: toolServer('c', []),
    };
    const { fleet } = fleetOf(servers);
    const first = await ask(fleet, 'tools/list');
    expect(first['tools']).toHaveLength(1300);
    // What the other pages will allow is not known yet, and all must say the same.
    expect(first).not.toHaveProperty('cacheScope');
    const names = await tools(fleet);
    expect(names).toHaveLength(2200);
    expect(new Set(names).size).toBe(2200);
    expect(names.slice(898, 902)).toEqual(['a__t898', 'a__t899', 'b__t0', 'b__t1']);
    expect(names.at(-1)).toBe('t1299');
    expect(await call(fleet, 'b__t899')).toBe('b: t899');
  });

  test.each(['x', 'WyJub2JvZHkiXQ', '', 'A'.repeat(100_000), Buffer.from('["a",1]').toString('base64url')])(
    'the cursor %.20j is refused',
    async (cursor) => {
      const { fleet } = fleetOf({ a: toolServer('a', []), b: toolServer('b', []) });
      await expect(ask(fleet, 'tools/list', { cursor })).rejects.toMatchObject({ code: -32602 });
    },
  );

  test('a server whose cursors never end does not hold up the list for ever', async () => {
    let count = 0;
    const endless = toolServer('endless', [], {
      'tools/list': () => ({ tools: [{ name: `t${(count += 1)}` }], nextCursor: String(count) }),
    });
    const { fleet } = fleetOf({ endless, b: toolServer('b', ['x']) });
    const { tools: shown } = await ask(fleet, 'tools/list');
    expect(shown).toHaveLength(1000);
  });

  test('are shown as far as they came where a server gets stuck in the middle, and can be read on', async () => {
    let stuck = true;
    const paged = toolServer('a', [], {
      'tools/list': ({ params: { cursor } }) => {
        if (cursor === '1' && stuck) down();
        return cursor === undefined ? { tools: [{ name: 'x' }], nextCursor: '1' } : { tools: [{ name: 'y' }] };
      },
    });
    const { fleet, warnings } = fleetOf({ a: paged, b: toolServer('b', ['z']) });
    const first = await ask(fleet, 'tools/list');
    expect(first['tools']).toEqual([{ name: 'x' }]);
    expect(warnings).toEqual(['the server "a" gave only a part of tools/list: gone']);
    stuck = false;
    const second = await ask(fleet, 'tools/list', { cursor: first['nextCursor'] });
    expect(second['tools']).toEqual([{ name: 'y' }]);
    const third = await ask(fleet, 'tools/list', { cursor: second['nextCursor'] });
    expect(third['tools']).toMatchObject([{ name: 'z' }]);
    expect(third).not.toHaveProperty('nextCursor');
    expect(await tools(fleet)).toEqual(['x', 'y', 'z']);
  });

  test('hints are those that hold for all', async () => {
    const hinted = (ttlMs: number | undefined, cacheScope: string): Answers => ({
      'tools/list': () => ({ tools: [], ttlMs, cacheScope }),
    });
    const of = async (...all: [number | undefined, string][]): Promise<JsonObject> => {
      const servers = all.map((each, index) => [`s${index}`, toolServer('', [], hinted(...each))] as const);
      const { ttlMs, cacheScope } = await ask(fleetOf(Object.fromEntries(servers)).fleet, 'tools/list');
      return { ttlMs, cacheScope };
    };
    expect(await of([500, 'public'], [300, 'public'])).toEqual({ ttlMs: 300, cacheScope: 'public' });
    expect(await of([500, 'public'], [300, 'private'])).toEqual({ ttlMs: 300, cacheScope: 'private' });
    expect(await of([500, 'public'], [undefined, 'public'])).toEqual({ ttlMs: 0, cacheScope: 'public' });
  });
});

describe('what a server says in the middle of a call', () => {
  test('goes to the caller, log messages with its name', async () => {
    const chatty = toolServer('a', ['x'], {
      'tools/call': async (exchange) => {
        await exchange.notify('notifications/message', { level: 'info', data: 'hi' });
        await exchange.notify('notifications/message', { level: 'info', logger: 'db', data: 'hi' });
        await exchange.notify('notifications/progress', { progressToken: 1, progress: 1 });
        return { content: [await exchange.ask('elicitation/create', { message: 'Sure?' })] };
      },
    });
    const { fleet } = fleetOf({ a: chatty, b: toolServer('b', []) });
    const exchange = new TestExchange('tools/call', { name: 'x' }, { onask: () => ({ action: 'accept' }) });
    expect((await fleet.service(exchange))['content']).toEqual([{ action: 'accept' }]);
    expect(exchange.asked).toEqual([{ method: 'elicitation/create', params: { message: 'Sure?' } }]);
    expect(exchange.notified.map(({ params }) => params?.['logger'])).toEqual(['a', 'a/db', undefined]);
  });

  test('a request that asks leads back to its server, with the state byte for byte', async () => {
    const state = 'b:öpaque\u0000 "state"!';
    const seen: unknown[] = [];
    const asking = (given: string | undefined): Answers => ({
      'tools/call': ({ params }) => {
        if (params['inputResponses']) {
          seen.push(['requestState' in params, params['requestState'], params['name']]);
          return { content: [] };
        }
        return {
          resultType: 'input_required',
          inputRequests: {},
          ...(given === undefined ? {} : { requestState: given }),
        };
      },
    });
    const servers = { a: toolServer('a', ['x'], asking(state)), b: toolServer('b', ['y'], asking(undefined)) };
    for (const name of ['x', 'y']) {
      const { fleet } = fleetOf(servers);
      const { requestState } = await ask(fleet, 'tools/call', { name });
      // The other server has got a tool of that name meanwhile.
      fleet.update([
        { name: 'a', service: servers.a.service },
        { name: 'b', service: servers.b.service },
        { name: 'c', service: toolServer('c', ['x', 'y']).service },
      ]);
      await ask(fleet, 'tools/call', { name, requestState, inputResponses: {} });
    }
    expect(seen).toEqual([
      [true, state, 'x'],
      [false, undefined, 'y'],
    ]);
    const { fleet } = fleetOf(servers);
    for (const requestState of ['nobody:x', 'plain', 7, '']) {
      await expect(ask(fleet, 'tools/call', { name: 'x', requestState })).rejects.toMatchObject({ code: -32602 });
    }
  });

  test('the caller’s giving up reaches the server', async () => {
    const started = deferred<Exchange>();
    const slow = toolServer('a', ['x'], {
      'tools/call': async (exchange) => {
        started.resolve(exchange);
        await aborted(exchange.signal);
        throw new Error('given up');
      },
    });
    const { fleet } = fleetOf({ a: slow, b: toolServer('b', []) });
    const exchange = new TestExchange('tools/call', { name: 'x' });
    const answer = fleet.service(exchange);
    await started.promise;
    exchange.abort();
    await expect(answer).rejects.toThrow('given up');
  });
});

describe('the description', () => {
  test('is what all say of themselves', async () => {
    const describing = (capabilities: JsonObject, instructions?: string): { service: Service } =>
      scripted({ 'server/discover': () => ({ capabilities, instructions, ttlMs: 5, cacheScope: 'public' }) });
    const { fleet } = fleetOf({
      a: describing({ tools: {}, extensions: { 'x/y': {} } }, 'Use a.\n'),
      b: describing({ tools: { listChanged: true }, resources: { subscribe: true }, extensions: { 'x/z': { v: 1 } } }),
      c: describing({ logging: {} }, 'Use c.'),
    });
    expect(await ask(fleet, 'server/discover')).toMatchObject({
      capabilities: {
        tools: { listChanged: true },
        resources: { subscribe: true, listChanged: true },
        logging: {},
        extensions: { 'x/y': {}, 'x/z': { v: 1 } },
      },
      instructions: '# a\n\nUse a.\n\n# c\n\nUse c.',
      ttlMs: 5,
      cacheScope: 'public',
      _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'everwire' } },
    });
  });

  test('is none the worse for a server whose capabilities are nested without end', async () => {
    let deep: JsonObject = {};
    for (let level = 0; level < 100_000; level += 1) deep = { a: deep };
    const nested = scripted({
      'server/discover': () => ({ capabilities: { tools: deep, __proto__: { admin: true } } }),
    });
    const { fleet } = fleetOf({ a: nested, b: nested, c: toolServer('c', ['x']) });
    expect(Object.keys((await ask(fleet, 'server/discover'))['capabilities'])).toEqual(['tools']);
    expect(await tools(fleet)).toContain('x');
  });

  test('of a server that does not answer is taken for all that it could be', async () => {
    const { fleet } = fleetOf({ a: scripted({ 'server/discover': down }), b: toolServer('b', []) });
    const { capabilities, _meta } = await ask(fleet, 'server/discover');
    expect(Object.keys(capabilities).toSorted()).toEqual(['completions', 'logging', 'prompts', 'resources', 'tools']);
    expect(_meta['dev.everwire/missing']).toEqual(['a']);
  });
});

describe('a server that is down', () => {
  test('is left out of lists, which say so, and is warned of once', async () => {
    const broken = toolServer('broken', [], { 'tools/list': down });
    const { fleet, warnings } = fleetOf({ broken, b: toolServer('b', ['x']) });
    for (let count = 0; count < 2; count += 1) {
      const exchange = new TestExchange('tools/list');
      expect(await fleet.service(exchange)).toEqual({
        tools: [{ name: 'x', inputSchema: {} }],
        _meta: { 'dev.everwire/missing': ['broken'] },
      });
      expect(exchange.notified).toEqual([
        {
          method: 'notifications/message',
          params: {
            level: 'warning',
            logger: 'everwire',
            data: 'tools come without those of broken, which did not answer',
          },
        },
      ]);
    }
    expect(warnings).toEqual(['the server "broken" does not answer tools/list: gone']);
    expect(await call(fleet, 'x')).toBe('b: x');
    await expect(call(fleet, 'y')).rejects.toThrow('Unknown tool: y (broken did not answer)');
  });

  test('or hangs, holds lists up for no longer than it may', async () => {
    const { service } = hanging(toolServer('a', ['x']).service);
    const { fleet, warnings } = fleetOf({ a: { service }, b: toolServer('b', ['y']) }, { timeout: 50 });
    expect(await tools(fleet)).toEqual(['y']);
    expect(warnings).toEqual(['the server "a" does not answer server/discover: no answer within 50 ms']);
  });

  test('is not waited for by calls of the others', async () => {
    const { service } = hanging(toolServer('a', []).service);
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const { fleet } = fleetOf({ a: { service }, b: toolServer('b', ['y']), c: toolServer('c', []) });
    const listed = tools(fleet);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await listed).toEqual(['y']);
    // The clock stands still, so nothing is waited for.
    expect(await call(fleet, 'y')).toBe('b: y');
    await vi.advanceTimersByTimeAsync(60_000);
    expect(await call(fleet, 'y')).toBe('b: y');
    const again = tools(fleet);
    await vi.advanceTimersByTimeAsync(2000);
    expect(await again).toEqual(['y']);
  });

  test('is none that refuses a list: that one alone comes without it', async () => {
    const refusing = toolServer('a', ['x'], {
      'server/discover': () => ({ capabilities: { tools: {}, prompts: {} } }),
      'prompts/list': () => {
        throw RpcError.fromObject({ code: -32603, message: 'not today' });
      },
    });
    const { fleet, warnings } = fleetOf({ a: refusing, b: toolServer('b', ['y']) });
    const { prompts, _meta } = await ask(fleet, 'prompts/list');
    expect({ prompts, _meta }).toEqual({ prompts: [], _meta: { 'dev.everwire/missing': ['a'] } });
    expect(warnings).toEqual(['the server "a" refuses prompts/list: not today']);
    expect(await tools(fleet)).toEqual(['x', 'y']);
  });

  test('keeps its names, so that those of the others stay what they were', async () => {
    let broken = false;
    const server = toolServer('a', [], {
      'tools/list': () => (broken ? down() : { tools: [{ name: 'search' }] }),
    });
    const { fleet } = fleetOf({ a: server, b: toolServer('b', ['search']) });
    expect(await tools(fleet)).toEqual(['a__search', 'b__search']);
    broken = true;
    expect(await tools(fleet)).toEqual(['b__search']);
  });

  test('is in the lists again when it answers, and whoever listens is told', async () => {
    const { service, wake } = hanging(toolServer('a', ['x'], { 'subscriptions/listen': listening([]) }).service);
    const b = toolServer('b', ['y'], { 'subscriptions/listen': listening([]) });
    const { fleet } = fleetOf({ a: { service }, b }, { timeout: 30 });
    const [acknowledged, told] = [deferred(), deferred()];
    const listener = new TestExchange(
      'subscriptions/listen',
      { notifications: { toolsListChanged: true } },
      { onnotify: (method) => (method === 'notifications/tools/list_changed' ? told : acknowledged).resolve() },
    );
    const over = fleet.service(listener);
    expect(await tools(fleet)).toEqual(['y']);
    await acknowledged.promise;
    expect(listener.notified.map(({ method }) => method)).toEqual(['notifications/subscriptions/acknowledged']);
    wake();
    await told.promise;
    expect(await tools(fleet)).toEqual(['x', 'y']);
    listener.abort();
    expect(await over).toEqual({});
  });
});

describe('other requests', () => {
  test('of a task lead to the server that has it', async () => {
    const taskServer = (name: string): ReturnType<typeof scripted> =>
      toolServer(name, [`${name}_tool`], {
        'server/discover': () => ({ capabilities: { tools: {}, tasks: { list: {} } } }),
        'tools/call': () => ({ resultType: 'task', taskId: 't1', status: 'working' }),
        'tasks/get': ({ params }) => ({
          resultType: 'complete',
          taskId: params['taskId'],
          status: 'completed',
          result: { content: [{ type: 'text', text: name }] },
        }),
        'tasks/list': () => ({ tasks: [{ taskId: 't1' }] }),
        'tasks/result': ({ params }) => ({
          content: [],
          _meta: { 'io.modelcontextprotocol/related-task': { taskId: params['taskId'] } },
        }),
      });
    const { fleet } = fleetOf({ a: taskServer('a'), b: taskServer('b') });
    const { tasks } = await ask(fleet, 'tasks/list');
    expect(tasks).toEqual([{ taskId: 'a:t1' }, { taskId: 'b:t1' }]);
    const { taskId } = await ask(fleet, 'tools/call', { name: 'b_tool' });
    expect(taskId).toBe('b:t1');
    expect(await ask(fleet, 'tasks/get', { taskId })).toMatchObject({ taskId, result: { content: [{ text: 'b' }] } });
    expect(await ask(fleet, 'tasks/result', { taskId })).toMatchObject({
      _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
    });
    await expect(ask(fleet, 'tasks/get', { taskId: 't1' })).rejects.toMatchObject({ code: -32602 });
    await expect(ask(fleet, 'tasks/get', { taskId: 'nobody:t1' })).rejects.toMatchObject({ code: -32602 });
  });

  test('for prompts and their arguments lead to the server that has the prompt', async () => {
    const promptServer = (name: string): ReturnType<typeof scripted> =>
      scripted(
        {
          'prompts/list': () => ({ prompts: [{ name: 'greet' }, { name: `only ${name}` }] }),
          'prompts/get': ({ params }) => ({ messages: [], description: `${name}: ${params['name']}` }),
          'completion/complete': ({ params }) => ({ completion: { values: [name, params['ref'].name] } }),
        },
        { prompts: {}, completions: {} },
      );
    const { fleet } = fleetOf({ a: promptServer('a'), b: promptServer('b') });
    const names = await list(fleet, 'prompts/list', 'prompts', 'name');
    expect(names).toEqual([
      'a__greet',
      expect.stringMatching(/^only_a_/),
      'b__greet',
      expect.stringMatching(/^only_b_/),
    ]);
    const got = await Promise.all(names.map((name) => ask(fleet, 'prompts/get', { name })));
    expect(got.map(({ description }) => description)).toEqual(['a: greet', 'a: only a', 'b: greet', 'b: only b']);
    const ref = { type: 'ref/prompt', name: 'b__greet' };
    expect(await ask(fleet, 'completion/complete', { ref, argument: { name: 'x', value: '' } })).toEqual({
      completion: { values: ['b', 'greet'] },
    });
  });

  test('that nobody here knows go to the one that they name, or to the first that knows them', async () => {
    const [a, b] = [toolServer('a', [], { echo: never, only: () => ({ from: 'a' }) }), toolServer('b', [])];
    const { fleet } = fleetOf({ down: { service: down }, a, b });
    expect(await ask(fleet, 'echo', { x: 1 })).toEqual({ params: { x: 1 } });
    expect(await ask(fleet, 'only', { x: 1 })).toEqual({ from: 'a' });
    const params = { x: 1, _meta: { 'dev.everwire/server': 'b' } };
    a.seen.length = 0;
    expect(await ask(fleet, 'echo', params)).toEqual({ params });
    expect(a.seen).toEqual([]);
    await expect(ask(fleet, 'only', params)).rejects.toMatchObject({ code: -32601 });
    await expect(ask(fleet, 'echo', { _meta: { 'dev.everwire/server': 'c' } })).rejects.toMatchObject({ code: -32602 });
    // It might know it, if it were there.
    await expect(ask(fleet, 'nobody/knows')).rejects.toMatchObject({ code: -32000 });
    await expect(ask(fleetOf({ a, b }).fleet, 'nobody/knows')).rejects.toMatchObject({ code: -32601 });
  });

  test('of a resource that nobody here knows go to the server that has it, and are refused as it refuses them', async () => {
    const reading = (uri: string): ReturnType<typeof scripted> =>
      scripted(
        {
          'resources/list': () => ({ resources: [{ uri, name: 'x' }] }),
          'resources/directory/read': ({ params }) => {
            if (params['uri'] !== uri) throw new RpcError(-32602, 'not mine');
            return { of: uri };
          },
        },
        { resources: {} },
      );
    const { fleet } = fleetOf({ a: reading('x:a'), b: reading('x:b') });
    expect(await ask(fleet, 'resources/directory/read', { uri: 'x:b' })).toEqual({ of: 'x:b' });
    await expect(ask(fleet, 'resources/directory/read', { uri: 'x:c' })).rejects.toMatchObject({ code: -32602 });
  });

  test('of lists and tasks that no server has are unknown, and tasks are for who declares the extension', async () => {
    const extensions = { 'io.modelcontextprotocol/tasks': {} };
    const { fleet } = fleetOf({ a: scripted({}, { tools: {} }), b: scripted({}, { tools: {} }) });
    for (const method of ['prompts/list', 'tasks/list', 'tasks/get', 'tasks/result']) {
      await expect(ask(fleet, method, { taskId: 'x' }), method).rejects.toMatchObject({ code: -32601 });
    }
    const { fleet: tasks } = fleetOf({ a: scripted({}, { extensions }), b: scripted({}, { tools: {} }) });
    await ask(tasks, 'server/discover');
    const caller = { revision: '2026-07-28' } as const;
    const get = (capabilities: JsonObject): Promise<JsonObject> =>
      ask(tasks, 'tasks/get', { taskId: 'x' }, { caller: { ...caller, capabilities } });
    await expect(get({})).rejects.toMatchObject({ code: -32021 });
    await expect(get({ extensions })).rejects.toMatchObject({ code: -32602 });
    await expect(ask(tasks, 'tasks/result', { taskId: 'x' }, { caller })).rejects.toMatchObject({ code: -32601 });
  });

  test('a notification goes to all, whoever of them is down', async () => {
    const heard: string[] = [];
    const hearing = (name: string): ReturnType<typeof scripted> =>
      scripted({ 'notifications/roots/list_changed': () => (heard.push(name), {}) });
    const { fleet } = fleetOf({
      a: hearing('a'),
      b: scripted({ 'notifications/roots/list_changed': down }),
      c: hearing('c'),
    });
    expect(await ask(fleet, 'notifications/roots/list_changed')).toEqual({});
    expect(heard).toEqual(['a', 'c']);
  });

  test('are refused once the fleet is closed', async () => {
    const { fleet } = fleetOf({ a: toolServer('a', []) });
    fleet.close();
    await expect(ask(fleet, 'tools/list')).rejects.toMatchObject({ code: -32000 });
  });

  test('two members of one name are refused', () => {
    const { service } = toolServer('a', []);
    const members = [
      { name: 'a', service },
      { name: 'a', service },
    ];
    expect(() => createFleet({ members })).toThrow(TypeError);
    const { fleet } = fleetOf({ a: { service } });
    expect(() => fleet.update(members)).toThrow(TypeError);
    expect(fleet.names).toEqual(['a']);
  });
});

test('what two callers are shown is kept apart', async () => {
  const personal = toolServer('a', [], {
    'tools/list': ({ caller }) => ({ tools: [{ name: caller.principal === 'ada' ? 'search' : 'other' }] }),
  });
  const { fleet } = fleetOf({ a: personal, b: toolServer('b', ['search']) });
  const shown = async (principal: string): Promise<string[]> => {
    const { tools: all } = await ask(fleet, 'tools/list', {}, { caller: { principal } });
    return all.map(({ name }: { name: string }) => name);
  };
  expect(await shown('ada')).toEqual(['a__search', 'b__search']);
  expect(await shown('bob')).toEqual(['other', 'search']);
  await settled();
  const called = await ask(fleet, 'tools/call', { name: 'search' }, { caller: { principal: 'bob' } });
  expect(called['content'][0].text).toBe('b: search');
});
