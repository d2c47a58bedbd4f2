import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { TestExchange } from '../../../test/support/exchange.ts';
import { ask, call, down, fleetOf, tool, tools, toolServer, type Answers } from '../../../test/support/fleet.ts';
import { aborted, deferred, scripted } from '../../../test/support/service.ts';
import type { Exchange, Service } from '../../core/exchange.ts';
import { opened } from '../../../test/support/wire.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { createFleet } from './fleet.ts';

describe('the tools of a fleet', () => {
  test('begin with the name of their server, and a call needs no list', async () => {
    const [git, hub] = [toolServer('git', ['log', 'search']), toolServer('hub', ['pull', 'search'])];
    const { fleet } = fleetOf({ git, hub });
    expect(await call(fleet, 'hub__search')).toBe('hub: search');
    expect([git, hub].map(({ seen }) => seen.map(({ method }) => method))).toEqual([[], ['tools/call']]);
    expect(await tools(fleet)).toEqual(['git__log', 'git__search', 'hub__pull', 'hub__search']);
    expect(await call(fleet, 'git__log')).toBe('git: log');
    await expect(call(fleet, 'git__pull')).resolves.toBe('git: pull');
  });

  test('are separated from the server name as the options say', async () => {
    const { fleet } = fleetOf({ git: toolServer('git', ['log']), hub: toolServer('hub', []) }, { separator: '-' });
    expect(await tools(fleet)).toEqual(['git-log']);
    expect(await call(fleet, 'git-log')).toBe('git: log');
    expect(() => fleetOf({}, { separator: 'a' })).toThrow(RangeError);
  });

  test('with a single server stay unchanged', async () => {
    const odd = ['log', 'no spaces', 'git__log', 'x'.repeat(100)];
    const { fleet } = fleetOf({ git: toolServer('git', odd) });
    expect(await tools(fleet)).toEqual(odd);
    for (const name of odd) expect(await call(fleet, name)).toBe(`git: ${name}`);
  });

  test('are shortened if hosts would refuse them, and calls find them in the list of their server', async () => {
    const git = toolServer('git', ['log', 'no spaces', 'a.b', 'x'.repeat(64)]);
    const hub = toolServer('hub', ['pull']);
    const names = await tools(fleetOf({ git, hub }).fleet);
    expect(names).toEqual([
      'git__log',
      expect.stringMatching(/^git__no_spaces_[0-9a-f]{10}$/),
      expect.stringMatching(/^git__a_b_[0-9a-f]{10}$/),
      expect.stringMatching(/^git__x{48}_[0-9a-f]{10}$/),
      'hub__pull',
    ]);
    // Another process with the same configuration knows them too.
    const { fleet } = fleetOf({ git, hub });
    hub.seen.length = 0;
    expect(await call(fleet, names[1]!)).toBe('git: no spaces');
    expect(await call(fleet, names[2]!)).toBe('git: a.b');
    expect(hub.seen).toEqual([]);
    await expect(call(fleet, 'git__gone_0123456789')).rejects.toThrow('Unknown tool: git__gone_0123456789');
  });

  test('that their server refuses are refused with the name that the caller used', async () => {
    const refusal = { code: -32602, message: 'Unknown tool: gone', data: { a: 1 } };
    const git = toolServer('git', []);
    const refusing = { ...git, service: () => Promise.reject(new RpcError(refusal.code, refusal.message, refusal)) };
    const { fleet } = fleetOf({ git: refusing, hub: toolServer('hub', []) });
    const named = { ...refusal, message: 'git__gone: Unknown tool: gone' };
    await expect(call(fleet, 'git__gone')).rejects.toMatchObject(named);
    await expect(call(fleetOf({ git: refusing }).fleet, 'gone')).rejects.toMatchObject(refusal);
  });

  /** How often the list is read for two calls of a tool. */
  async function readsFor(own: readonly string[], index: number): Promise<number> {
    const git = toolServer('git', own);
    const { fleet } = fleetOf({ git, hub: toolServer('hub', []) });
    const name = (await tools(fleet))[index]!;
    git.seen.length = 0;
    expect([await call(fleet, name), await call(fleet, name)]).toEqual([`git: ${own[index]}`, `git: ${own[index]}`]);
    return git.seen.filter(({ method }) => method === 'tools/list').length;
  }

  test('that are shortened are read again for each call if they have more than 512 characters', async () => {
    const names = ['x'.repeat(512), 'y'.repeat(513)];
    expect([await readsFor(names, 0), await readsFor(names, 1)]).toEqual([0, 2]);
  });

  test('beyond the first 20,000 that are shortened are read again for each call', async () => {
    const names = Array.from({ length: 20_001 }, (_, index) => `a.${index}`);
    expect([await readsFor(names, 19_999), await readsFor(names, 20_000)]).toEqual([0, 2]);
  });

  test('that are unknown are refused with the names of the servers', async () => {
    const { fleet } = fleetOf({ git: toolServer('git', ['search']), 'My hub': toolServer('hub', ['search']) });
    await expect(call(fleet, 'search')).rejects.toMatchObject({
      code: -32602,
      message: 'Unknown tool: search (a name begins with the name of its server: git__, My-hub__)',
    });
    await expect(ask(fleet, 'tools/call', { name: 1 })).rejects.toMatchObject({ code: -32602 });
    await expect(call(fleetOf({}).fleet, 'search')).rejects.toThrow('Unknown tool: search (there are no servers)');
  });

  test('are selected, described and renamed for each server, and a new name has no prefix', async () => {
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
    expect(shown).toEqual([tool('history'), { ...tool('git__search'), description: 'Finds.' }, tool('hub__log')]);
    expect(await call(fleet, 'history')).toBe('git: log');
    expect(await call(fleet, 'hub__log')).toBe('hub: log');
    for (const name of ['git__push', 'git__log', 'git__history'])
      await expect(call(fleet, name)).rejects.toThrow('Unknown tool');
    // The server separately shows its tools in the same way.
    const alone = await fleet.member('git')!(new TestExchange('tools/list'));
    expect(alone['tools'].map(({ name }: { name: string }) => name)).toEqual(['history', 'search']);
    expect(fleet.member('nobody')).toBeUndefined();
  });

  test('are hidden if another tool is renamed to their name, with one warning for each', async () => {
    const git = toolServer('git', ['log', 'history', 'push']);
    const warnings: string[] = [];
    const fleet = createFleet({
      members: [
        { name: 'git', service: git.service, tools: { hide: ['push'], rename: { log: 'history', x: 'push' } } },
        { name: 'hub', service: toolServer('hub', []).service },
      ],
      onwarning: (text) => void warnings.push(text),
    });
    for (let count = 0; count < 2; count += 1) expect(await tools(fleet)).toEqual(['history']);
    expect(warnings).toEqual([
      'the server "git" does not show its tool "history", because "log" is renamed to "history"',
    ]);
    expect(await call(fleet, 'history')).toBe('git: log');
    await expect(call(fleet, 'git__history')).rejects.toThrow('Unknown tool');
  });

  test.each([
    [{ log: 'find' }, 'the new name of the tool "search" of "hub" is also the new name of a tool of "git"'],
    [{ log: 'hub__x' }, 'the new name of the tool "log" of "git" begins with the prefix of "hub"'],
  ])('are not renamed to a name that exists: %j', (rename, message) => {
    const { service } = toolServer('', []);
    const members = [
      { name: 'git', service, tools: { rename: rename as Record<string, string> } },
      { name: 'hub', service, tools: { rename: { search: 'find' } } },
    ];
    expect(() => createFleet({ members })).toThrow(new TypeError(message));
  });

  test('of a server with a very long page are listed', async () => {
    const many = Array.from({ length: 25_000 }, (_, index) => `t${index}`);
    const { fleet } = fleetOf({ git: toolServer('git', ['log']), hub: toolServer('hub', many) });
    expect(await tools(fleet)).toHaveLength(25_001);
  });
});

describe('what a server sends during a call', () => {
  test('goes to the caller, and log messages have the name of the server', async () => {
    const chatty = toolServer('a', ['x'], {
      'tools/call': async (exchange) => {
        await exchange.notify('notifications/message', { level: 'info', data: 'hi' });
        await exchange.notify('notifications/message', { level: 'info', logger: 'db', data: 'hi' });
        await exchange.notify('notifications/progress', { progressToken: 1, progress: 1 });
        return { content: [await exchange.ask('elicitation/create', { message: 'Sure?' })] };
      },
    });
    const { fleet } = fleetOf({ a: chatty, b: toolServer('b', []) });
    const exchange = new TestExchange('tools/call', { name: 'a__x' }, { onask: () => ({ action: 'accept' }) });
    expect((await fleet.service(exchange))['content']).toEqual([{ action: 'accept' }]);
    expect(exchange.asked).toEqual([{ method: 'elicitation/create', params: { message: 'Sure?' } }]);
    expect(exchange.notified.map(({ params }) => params?.['logger'])).toEqual(['a', 'a/db', undefined]);
  });

  test('a retry with answers returns to its server, with the state unchanged', async () => {
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
    for (const name of ['a__x', 'b__y']) {
      const { requestState } = await ask(fleetOf(servers).fleet, 'tools/call', { name });
      // Another process with the same configuration continues.
      await ask(fleetOf(servers).fleet, 'tools/call', { name, requestState, inputResponses: {} });
    }
    expect(seen).toEqual([
      [true, state, 'x'],
      [false, undefined, 'y'],
    ]);
    const { fleet } = fleetOf(servers);
    for (const requestState of ['nobody:x', 'plain', 7, '', 'b!']) {
      await expect(ask(fleet, 'tools/call', { name: 'a__x', requestState })).rejects.toMatchObject({ code: -32602 });
    }
  });

  test('ends when the caller cancels, and the server is notified', async () => {
    const started = deferred<Exchange>();
    const slow = toolServer('a', ['x'], {
      'tools/call': async (exchange) => {
        started.resolve(exchange);
        await aborted(exchange.signal);
        throw new Error('given up');
      },
    });
    const { fleet } = fleetOf({ a: slow, b: toolServer('b', []) });
    const exchange = new TestExchange('tools/call', { name: 'a__x' });
    const answer = fleet.service(exchange);
    await started.promise;
    exchange.abort();
    await expect(answer).rejects.toThrow('given up');
  });
});

describe('the description of a fleet', () => {
  test('combines those of all servers', async () => {
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

  test('is not affected by a server with extremely nested capabilities', async () => {
    let deep: JsonObject = {};
    for (let level = 0; level < 100_000; level += 1) deep = { a: deep };
    const nested = scripted({
      'server/discover': () => ({ capabilities: { tools: deep, __proto__: { admin: true } } }),
    });
    const { fleet } = fleetOf({ a: nested, b: nested, c: toolServer('c', ['x']) });
    expect(Object.keys((await ask(fleet, 'server/discover'))['capabilities'])).toEqual(['tools']);
    expect(await tools(fleet)).toContain('c__x');
  });

  test('assumes every capability of a server that does not answer', async () => {
    const { fleet } = fleetOf({ a: scripted({ 'server/discover': down }), b: toolServer('b', []) });
    const { capabilities, _meta } = await ask(fleet, 'server/discover');
    expect(Object.keys(capabilities).toSorted()).toEqual(['completions', 'logging', 'prompts', 'resources', 'tools']);
    expect(_meta['dev.everwire/missing']).toEqual(['a']);
  });
});

test('a session and its requests can use many servers without a warning about a leak', async () => {
  const warned = vi.fn<() => void>();
  process.on('warning', warned);
  onTestFinished(() => void process.off('warning', warned));
  const names = Array.from({ length: 12 }, (_, n) => `s${n}`);
  const { fleet } = fleetOf(Object.fromEntries(names.map((name) => [name, toolServer(name, ['t'])])));
  const { client } = await opened((exchange) => {
    // As each bridge of a server does.
    if (exchange.method === 'tools/list')
      for (const _ of names) exchange.caller.session?.signal.addEventListener('abort', () => {});
    return fleet.service(exchange);
  });
  const { tools: listed } = (await client.request(1, 'tools/list')).result!;
  expect(listed).toHaveLength(12);
  await new Promise(process.nextTick);
  expect(warned).not.toHaveBeenCalled();
});
