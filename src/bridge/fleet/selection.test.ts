import { expect, test } from 'vitest';
import type { Service } from '../../core/exchange.ts';
import { scripted } from '../../../test/support/service.ts';
import { TestExchange } from '../../../test/support/exchange.ts';
import { selectTools, type ToolSelection } from './selection.ts';

const TOOLS = ['add', 'get_user', 'get_team', 'drop_user', 'say'];

function selected(selection: ToolSelection): Service {
  const { service } = scripted({
    'tools/list': () => ({
      tools: TOOLS.map((name) => ({ name, description: `${name}.`, inputSchema: {} })),
      ttlMs: 5,
    }),
    'tools/call': ({ params }) => ({ content: [], called: params['name'] }),
  });
  return selectTools(selection)(service);
}

async function names(selection: ToolSelection): Promise<string[]> {
  const { tools } = await selected(selection)(new TestExchange('tools/list'));
  return tools.map(({ name }: { name: string }) => name);
}

function call(service: Service, name: unknown): Promise<unknown> {
  return service(new TestExchange('tools/call', { name })).then(({ called }) => called);
}

test.each<[ToolSelection, string[]]>([
  [{}, TOOLS],
  [{ only: ['*'] }, TOOLS],
  [{ hide: ['get_*', 'say'] }, ['add', 'drop_user']],
  [{ only: ['*_user'] }, ['get_user', 'drop_user']],
  [{ only: ['get_*', 'add'], hide: ['*team'] }, ['add', 'get_user']],
  [{ only: ['g*t*r'] }, ['get_user']],
  [{ hide: ['*'] }, []],
  [{ rename: { add: 'plus' } }, ['plus', 'get_user', 'get_team', 'drop_user', 'say']],
])('the selection %j shows the tools %j', async (selection, shown) => {
  expect(await names(selection)).toEqual(shown);
});

test('a hidden tool cannot be called', async () => {
  const service = selected({ hide: ['say'], rename: { add: 'plus' } });
  expect(await call(service, 'plus')).toBe('add');
  expect(await call(service, 'get_user')).toBe('get_user');
  for (const name of ['say', 'add']) {
    await expect(call(service, name)).rejects.toMatchObject({ code: -32602, message: `Unknown tool: ${name}` });
  }
});

test('the name in a call has exactly one spelling and is text, because some servers are less strict', async () => {
  const service = selected({ hide: ['say'] });
  for (const params of [
    { name: 'add', Name: 'say' },
    { name: 'add', NAME: 'say' },
    { Name: 'say' },
    { name: ['say'] },
    {},
  ]) {
    await expect(service(new TestExchange('tools/call', params))).rejects.toMatchObject({ code: -32602 });
  }
  const { called } = await service(new TestExchange('tools/call', { name: 'add', arguments: { Name: 'say' } }));
  expect(called).toBe('add');
});

test('a tool can be renamed to the name of another, and two tools can exchange names', async () => {
  const service = selected({ rename: { add: 'say' } });
  expect(await call(service, 'say')).toBe('add');
  expect(await names({ rename: { add: 'say' } })).toEqual(['say', 'get_user', 'get_team', 'drop_user']);
  const turned = selected({ rename: { add: 'say', say: 'add' } });
  expect(await call(turned, 'say')).toBe('add');
  expect(await call(turned, 'add')).toBe('say');
});

test('a description is replaced, and everything else is kept', async () => {
  const { tools, ttlMs } = await selected({ only: ['add'], describe: { add: 'Sums.' } })(
    new TestExchange('tools/list'),
  );
  expect(tools).toEqual([{ name: 'add', description: 'Sums.', inputSchema: {} }]);
  expect(ttlMs).toBe(5);
});

test('matching a pattern takes linear time', async () => {
  const service = selected({ only: [`${'*a'.repeat(2000)}b`] });
  const started = process.cpuUsage();
  await expect(call(service, 'a'.repeat(50_000))).rejects.toThrow('Unknown tool');
  expect(process.cpuUsage(started).user).toBeLessThan(2_000_000);
});
