import { describe, expect, test } from 'vitest';
import { TestExchange } from '../../../test/support/exchange.ts';
import { ask, down, fleetOf, tool, tools, toolServer, type Answers } from '../../../test/support/fleet.ts';
import { scripted } from '../../../test/support/service.ts';
import { RpcError } from '../../jsonrpc/errors.ts';
import type { JsonObject } from '../../jsonrpc/message.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64url');

describe('the pages of a list', () => {
  test('combine the next page of each server', async () => {
    const pages = (count: number): Answers => ({
      'tools/list': ({ params }) => {
        const start = params['cursor'] === undefined ? 0 : Number(params['cursor']);
        const end = Math.min(start + 2, count);
        const entries = Array.from({ length: end - start }, (_, index) => tool(`t${start + index}`));
        return { tools: entries, ...(end < count && { nextCursor: String(end) }), ttlMs: 1000, cacheScope: 'public' };
      },
    });
    const servers = {
      a: toolServer('a', [], pages(3)),
      b: toolServer('b', [], pages(5)),
      c: toolServer('c', []),
    };
    const first = await ask(fleetOf(servers).fleet, 'tools/list');
    expect(first['tools']).toMatchObject([{ name: 'a__t0' }, { name: 'a__t1' }, { name: 'b__t0' }, { name: 'b__t1' }]);
    // What the other pages will allow is not known yet, and all pages must have the same hints.
    expect(first).not.toHaveProperty('cacheScope');
    // The next page may be requested from another process, with the same file.
    const { fleet } = fleetOf(servers);
    const second = await ask(fleet, 'tools/list', { cursor: first['nextCursor'] });
    expect(second['tools']).toMatchObject([{ name: 'a__t2' }, { name: 'b__t2' }, { name: 'b__t3' }]);
    const third = await ask(fleet, 'tools/list', { cursor: second['nextCursor'] });
    expect(third).toEqual({ tools: [tool('b__t4')] });
  });

  test.each([
    'x',
    '',
    'A'.repeat(100_000),
    ...['[]', '[["a",1]]', '[["nobody","1"]]', '[["a","1"],["nobody","1"]]'].map(base64),
  ])('the cursor %.30j is refused', async (cursor) => {
    const { fleet } = fleetOf({ a: toolServer('a', []), b: toolServer('b', []) });
    await expect(ask(fleet, 'tools/list', { cursor })).rejects.toMatchObject({ code: -32602 });
  });

  test('omit the rest of a server that fails between pages, which can be requested again', async () => {
    let stuck = true;
    const paged = toolServer('a', [], {
      'tools/list': ({ params: { cursor } }) => {
        if (cursor === '1' && stuck) down();
        return cursor === undefined ? { tools: [tool('x')], nextCursor: '1' } : { tools: [tool('y')] };
      },
    });
    const { fleet, warnings } = fleetOf({ a: paged, b: toolServer('b', ['z']) });
    const { nextCursor: cursor } = await ask(fleet, 'tools/list');
    expect(await ask(fleet, 'tools/list', { cursor })).toEqual({ tools: [], _meta: { 'dev.everwire/missing': ['a'] } });
    expect(warnings).toEqual(['the server "a" does not answer tools/list: gone']);
    stuck = false;
    expect(await ask(fleet, 'tools/list', { cursor })).toEqual({ tools: [tool('a__y')] });
    stuck = true;
    const refusing = toolServer('a', [], {
      'tools/list': () => {
        throw RpcError.fromObject({ code: -32602, message: 'unknown cursor' });
      },
    });
    const several = fleetOf({ a: refusing, b: toolServer('b', []) });
    const missing = { tools: [], _meta: { 'dev.everwire/missing': ['a'] } };
    const exchange = new TestExchange('tools/list', { cursor });
    expect(await several.fleet.service(exchange)).toEqual(missing);
    expect(exchange.notified.map(({ params }) => params?.['data'])).toEqual([
      'entries of a are missing in lists, because the request was refused',
    ]);
    expect(several.warnings).toEqual(['the server "a" refuses tools/list: unknown cursor']);
    // The lists of no other server depend on it.
    await expect(ask(fleetOf({ a: refusing }).fleet, 'tools/list', { cursor })).rejects.toThrow('unknown cursor');
  });

  test('omit the rest of a server that no longer has the list, and say so', async () => {
    const paged = toolServer('a', [], {
      'tools/list': ({ params: { cursor } }) => {
        if (cursor !== undefined) throw RpcError.fromObject({ code: -32601, message: 'Method not found' });
        return { tools: [tool('x')], nextCursor: '1' };
      },
    });
    const { fleet, warnings } = fleetOf({ a: paged, b: toolServer('b', ['z']) });
    const { nextCursor: cursor } = await ask(fleet, 'tools/list');
    expect(await ask(fleet, 'tools/list', { cursor })).toEqual({ tools: [], _meta: { 'dev.everwire/missing': ['a'] } });
    expect(warnings).toEqual(['the server "a" refuses tools/list: Method not found']);
  });

  test('refuse a cursor of millions of brackets at once', async () => {
    const { fleet } = fleetOf({ a: scripted({}), b: scripted({}) });
    const cursor = Buffer.from('['.repeat(3_000_000)).toString('base64url');
    const before = process.cpuUsage();
    await expect(ask(fleet, 'tools/list', { cursor })).rejects.toThrow('Invalid cursor');
    expect(process.cpuUsage(before).user).toBeLessThan(100_000);
  });

  test('have no cursor that leads to its own page or is too long', async () => {
    const turning = toolServer('a', [], { 'tools/list': () => ({ tools: [tool('x')], nextCursor: '1' }) });
    const long = toolServer('b', [], { 'tools/list': () => ({ tools: [], nextCursor: 'x'.repeat(10_000) }) });
    const { fleet, warnings } = fleetOf({ a: turning, b: long });
    expect(await tools(fleet)).toEqual(['a__x', 'a__x']);
    const exchange = new TestExchange('tools/list');
    expect((await fleet.service(exchange))['_meta']).toEqual({ 'dev.everwire/missing': ['b'] });
    expect(exchange.notified.map(({ params }) => params?.['data'])).toEqual([
      'entries of b are missing in lists, because only the first pages can be read',
    ]);
    expect(warnings).toEqual(['the server "b" returned only a part of tools/list: its cursor is too long']);
  });

  test('end after 64 pages, so that a server whose list does not end leaves clients the lists of the others', async () => {
    let count = 0;
    const endless = toolServer('a', [], {
      'tools/list': () => ({ tools: [tool(`t${count}`)], nextCursor: String((count += 1)) }),
    });
    const { fleet, warnings } = fleetOf({ a: endless, b: toolServer('b', ['x']) });
    const pages = [await ask(fleet, 'tools/list')];
    for (let cursor = pages[0]!['nextCursor']; cursor; cursor = pages.at(-1)!['nextCursor'])
      pages.push(await ask(fleet, 'tools/list', { cursor }));
    expect(pages).toHaveLength(64);
    expect(pages.findIndex((page) => '_meta' in page)).toBe(63);
    expect(pages[63]!['_meta']).toEqual({ 'dev.everwire/missing': ['a'] });
    expect(warnings).toEqual(['the server "a" returned only a part of tools/list: it has more than 64 pages']);
    // Alone, it only affects itself.
    const { fleet: single } = fleetOf({ a: endless });
    let cursor: unknown;
    for (let page = 0; page < 70; page += 1)
      cursor = (await ask(single, 'tools/list', cursor === undefined ? {} : { cursor }))['nextCursor'];
    expect(cursor).toBeTypeOf('string');
  });

  test('have a cursor of at most 8192 characters, without the longest of their servers', async () => {
    const paged = (nextCursor: string): Answers => ({
      'tools/list': ({ params: { cursor } }) => ({ tools: [], ...(cursor === undefined && { nextCursor }) }),
    });
    const { fleet, warnings } = fleetOf({
      a: toolServer('a', [], paged('\u0001'.repeat(2000))),
      b: toolServer('b', [], paged('x'.repeat(3000))),
      c: toolServer('c', [], paged('x'.repeat(6000))),
    });
    const { nextCursor } = await ask(fleet, 'tools/list');
    expect(nextCursor.length).toBeLessThanOrEqual(8192);
    expect(await ask(fleet, 'tools/list', { cursor: nextCursor })).toEqual({ tools: [] });
    expect(warnings).toEqual(
      ['a', 'c'].map((name) => `the server "${name}" returned only a part of tools/list: its cursor is too long`),
    );
  });

  test.each([6200, 7000, 8000, 10_000])(
    'have the cursor of a single server unchanged (%i characters)',
    async (length) => {
      const nextCursor = 'x'.repeat(length);
      const { fleet, warnings } = fleetOf({
        a: toolServer('a', [], {
          'tools/list': ({ params: { cursor } }) => ({
            tools: [tool(cursor ? 'y' : 'x')],
            ...(!cursor && { nextCursor }),
          }),
        }),
      });
      expect(await ask(fleet, 'tools/list')).toMatchObject({ tools: [tool('x')], nextCursor });
      expect(await ask(fleet, 'tools/list', { cursor: nextCursor })).toEqual({ tools: [tool('y')] });
      expect(warnings).toEqual([]);
    },
  );

  test('have no cache hints if a part of a list is left out', async () => {
    const hints = { ttlMs: 60_000, cacheScope: 'public' };
    const cut = { 'tools/list': () => ({ tools: [tool('x')], nextCursor: 'x'.repeat(7000), ...hints }) };
    const { fleet } = fleetOf({
      a: toolServer('a', [], cut),
      b: toolServer('b', [], { 'tools/list': () => ({ tools: [tool('y')], ...hints }) }),
    });
    expect(await ask(fleet, 'tools/list')).toEqual({
      tools: [tool('a__x'), tool('b__y')],
      _meta: { 'dev.everwire/missing': ['a'] },
    });
  });

  test('have the strictest cache hints of all servers', async () => {
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
