import { describe, expect, test } from 'vitest';
import { TestExchange } from '../../../test/support/exchange.ts';
import { ask, call, down, fleetOf, tools, toolServer, type Answers } from '../../../test/support/fleet.ts';
import { aborted, deferred, scripted } from '../../../test/support/service.ts';
import type { Exchange, Service } from '../../core/exchange.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';
import { createFleet } from './fleet.ts';

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

  test('are listed where one server has very many in a page', async () => {
    const many = Array.from({ length: 200_000 }, (_, index) => `t${index}`);
    const { fleet } = fleetOf({ git: toolServer('git', ['log']), hub: toolServer('hub', many) });
    expect(await tools(fleet)).toHaveLength(200_001);
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
    // The next page may be asked of another process, which has the same file.
    const other = fleetOf(servers).fleet;
    const { tools: second } = await ask(other, 'tools/list', { cursor: first['nextCursor'] });
    expect(second).toMatchObject([
      { name: 'b__t400' },
      ...Array.from({ length: 398 }, () => ({})),
      { name: 'b__t799' },
    ]);
    expect(await call(other, 'b__t0')).toBe('b: t0');
    expect(await call(other, 't1299')).toBe('b: t1299');
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
