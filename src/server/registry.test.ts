import { describe, expect, test } from 'vitest';
import { TestExchange } from '../../test/support/exchange.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import type { AuthInfo } from '../protocol/types.ts';
import { errorsForCallers } from './handler-errors.ts';
import { LazyTasks } from './lazy-tasks.ts';
import { Prompts } from './prompts.ts';
import type { EntryConfig, Registered, RegistryOptions } from './registry.ts';
import { Resources } from './resources.ts';
import { Tools } from './tools.ts';

/** For each kind of entry: how to register one named `a`, list the names, and use it. */
const kinds = {
  tool(options: Partial<RegistryOptions> = {}) {
    const onerror = () => {};
    const tasks = new LazyTasks((Tasks) => new Tasks({}, onerror, onerror));
    const tools = new Tools(
      { pageSize: 2, changed: () => {}, ...options },
      onerror,
      errorsForCallers(false, onerror),
      tasks,
    );
    return {
      add: (config: EntryConfig, name = 'a') => tools.add(name, config, () => 'x'),
      page: (cursor?: string) => Promise.resolve(tools.registry.page(cursor)),
      use: (auth?: AuthInfo) => tools.call(new TestExchange('tools/call', { name: 'a' }, { caller: { auth } })),
      scopes: () => tools.registry.scopesOf('a'),
    };
  },
  prompt(options: Partial<RegistryOptions> = {}) {
    const prompts = new Prompts({ pageSize: 2, changed: () => {}, ...options });
    return {
      add: (config: EntryConfig, name = 'a') => prompts.add(name, config, () => 'x'),
      page: (cursor?: string) => Promise.resolve(prompts.registry.page(cursor)),
      use: (auth?: AuthInfo) => prompts.get(new TestExchange('prompts/get', { name: 'a' }, { caller: { auth } })),
      scopes: () => prompts.registry.scopesOf('a'),
    };
  },
  resource(options: Partial<RegistryOptions> = {}) {
    const resources = new Resources({ pageSize: 2, changed: () => {}, ...options });
    return {
      add: (config: EntryConfig, name = 'a') => resources.add(`x:${name}`, { name, ...config }, () => 'x'),
      page: (cursor?: string) => resources.list(new TestExchange('resources/list', { cursor })),
      use: (auth?: AuthInfo) =>
        resources.read(new TestExchange('resources/read', { uri: 'x:a' }, { caller: { auth } })),
      scopes: () => resources.scopesOf('x:a'),
    };
  },
  template(options: Partial<RegistryOptions> = {}) {
    const resources = new Resources({ pageSize: 2, changed: () => {}, ...options });
    return {
      add: (config: EntryConfig, name = 'a') => resources.addTemplate(`x:${name}{+v}`, { name, ...config }, () => 'x'),
      page: (cursor?: string) => Promise.resolve(resources.templates.page(cursor)),
      use: (auth?: AuthInfo) =>
        resources.read(new TestExchange('resources/read', { uri: 'x:ab' }, { caller: { auth } })),
      scopes: () => resources.scopesOf('x:ab'),
    };
  },
};

const names = (page: JsonObject): string[] => {
  const [list] = Object.values(page) as [{ name: string }[]];
  return list.map(({ name }) => name);
};
const granted = (...scopes: string[]): AuthInfo => ({ principal: 'ada', scopes });

describe.each(Object.entries(kinds))('a %s', (_, make) => {
  test('is not listed when it is disabled, and seems not to exist', async () => {
    let changes = 0;
    const { add, page, use, scopes } = make({ changed: () => (changes += 1) });
    const unknown = await use().catch((error: unknown) => error);
    const registered: Registered<EntryConfig> = add({ scopes: ['s'] });
    expect([registered.enabled, names(await page()), changes]).toEqual([true, ['a'], 1]);

    registered.disable();
    registered.disable();
    expect([registered.enabled, names(await page()), changes, scopes()]).toEqual([false, [], 2, []]);
    await expect(use()).rejects.toEqual(unknown);

    registered.enable();
    registered.enable();
    expect([registered.enabled, names(await page()), changes, scopes()]).toEqual([true, ['a'], 3, ['s']]);
    await expect(use()).resolves.toBeDefined();
  });

  test('keeps its name and its position when it is registered disabled', async () => {
    const { add, page } = make();
    const first = add({ enabled: false });
    add({}, 'b');
    expect(names(await page())).toEqual(['b']);
    expect(() => add({})).toThrow('is already registered');
    first.update({ enabled: true });
    expect(names(await page())).toEqual(['a', 'b']);
    expect(Object.values(await page())[0][0]).not.toHaveProperty('enabled');
  });

  test('cannot be enabled after it was removed', () => {
    const registered = make().add({});
    registered.remove();
    expect(registered.enabled).toBe(false);
    expect(() => registered.enable()).toThrow('has been removed');
    expect(() => registered.disable()).toThrow('has been removed');
  });

  test('requires its scopes from callers with a credential', async () => {
    const { add, page, use, scopes } = make();
    const registered = add({ scopes: ['read', 'write'] });
    expect(scopes()).toEqual(['read', 'write']);
    expect(Object.values(await page())[0][0]).not.toHaveProperty('scopes');
    const refusal = { code: -32600, message: expect.stringContaining('needs scopes that were not granted: write') };
    await expect(use(granted('read'))).rejects.toMatchObject(refusal);
    await expect(use(granted())).rejects.toThrow('granted: read write');
    await expect(use(granted('write', 'read', 'more'))).resolves.toBeDefined();
    await expect(use()).resolves.toBeDefined();
    registered.update({ scopes: [] });
    await expect(use(granted())).resolves.toBeDefined();
  });

  test.each([[['']], [['a b']], [['"']], [[5]], ['read']])('cannot have the scopes %j', (scopes) => {
    expect(() => make().add({ scopes: scopes as string[] })).toThrow(TypeError);
  });

  test('is listed with cache hints, the same on every page', async () => {
    const hints = { ttlMs: 60_000, cacheScope: 'public' } as const;
    const { add, page } = make({ cache: hints });
    for (const name of ['a', 'b', 'c']) add({}, name);
    const first = await page();
    expect(first).toMatchObject(hints);
    expect(await page(first['nextCursor'] as string)).toMatchObject(hints);
    expect(await make().page()).not.toHaveProperty('ttlMs');
    expect(await make().page()).not.toHaveProperty('cacheScope');
  });
});

test.each([[{ ttlMs: -1 }], [{ ttlMs: 0.5 }], [{ ttlMs: Number.NaN }], [{ cacheScope: 'shared' as 'public' }]])(
  'invalid cache hints are refused: %j',
  (cache) => {
    expect(() => kinds.tool({ cache })).toThrow(TypeError);
    const resources = new Resources({ pageSize: 1, changed: () => {} });
    expect(() => resources.add('x:a', { name: 'a', ...cache }, () => 'x')).toThrow(TypeError);
    expect(() => resources.addTemplate('x:{a}', { name: 'a', ...cache }, () => 'x')).toThrow(TypeError);
  },
);

describe('the cache hints of a resource', () => {
  const read = (resources: Resources, uri: string) => resources.read(new TestExchange('resources/read', { uri }));

  test('apply to its contents, and are not in lists', async () => {
    const resources = new Resources({ pageSize: 9, changed: () => {} });
    resources.add('x:a', { name: 'a', ttlMs: 5 }, () => 'x');
    resources.add('x:none', { name: 'none' }, () => 'x');
    resources.addTemplate('y:{b}', { name: 'b', cacheScope: 'public' }, () => 'y');
    expect(await read(resources, 'x:a')).toStrictEqual({ contents: [{ uri: 'x:a', text: 'x' }], ttlMs: 5 });
    expect(await read(resources, 'y:1')).toMatchObject({ cacheScope: 'public' });
    expect(await read(resources, 'x:none')).toStrictEqual({ contents: [{ uri: 'x:none', text: 'x' }] });
    expect(JSON.stringify([resources.fixed.page(undefined), resources.templates.page(undefined)])).not.toMatch(
      /ttlMs|cacheScope/,
    );
  });

  test('can be overridden in a complete result', async () => {
    const resources = new Resources({ pageSize: 9, changed: () => {} });
    const whole = { contents: [], ttlMs: 0 };
    resources.add('x:a', { name: 'a', ttlMs: 5, cacheScope: 'public' }, () => whole);
    expect(await read(resources, 'x:a')).toEqual({ contents: [], ttlMs: 0, cacheScope: 'public' });
  });
});

test('the scopes of a fixed resource replace those of a matching template', () => {
  const resources = new Resources({ pageSize: 9, changed: () => {} });
  resources.addTemplate('x:{a}', { name: 'b', scopes: ['template'] }, () => 'x');
  resources.add('x:a', { name: 'a', scopes: ['fixed'] }, () => 'x');
  expect(resources.scopesOf('x:a')).toEqual(['fixed']);
  expect(resources.scopesOf('x:b')).toEqual(['template']);
  expect(resources.scopesOf('z:a')).toEqual([]);
  expect(resources.scopesOf('x:%zz')).toEqual([]);
});
