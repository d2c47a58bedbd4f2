import { afterEach, expect, test, vi } from 'vitest';
import { deferred } from '../../test/support/service.ts';
import type { JsonObject } from '../jsonrpc/message.ts';
import { ToolCatalog, type ToolCatalogOptions } from './tool-catalog.ts';

afterEach(() => void vi.useRealTimers());

type List = NonNullable<ToolCatalogOptions<JsonObject, string>['list']>;

/** Adds a list of tools with the given annotations. */
function catalog(list: List = () => Promise.resolve({}), absent?: JsonObject) {
  const onerror = vi.fn<(error: Error) => void>();
  const keep = (tool: JsonObject): JsonObject | undefined => tool['annotations'];
  return { tools: new ToolCatalog<JsonObject, string>({ keep, list, absent, timeout: 1000, onerror }), onerror };
}

const tool = (name: string, title: string): JsonObject => ({ name, annotations: { title } });

test('the newest list is used, and other tools are forgotten', () => {
  const { tools } = catalog();
  tools.learn({ tools: [tool('a', 'first'), tool('b', 'other'), 7, {}] });
  tools.learn({ tools: [tool('a', 'second'), { name: 'b' }] });
  tools.learn({ tools: 'none' });
  expect([tools.known('a'), tools.known('b'), tools.known('c')]).toEqual([{ title: 'second' }, undefined, undefined]);
  tools.forget();
  expect(tools.known('a')).toBeUndefined();
});

test('above the limits, the oldest tools are forgotten, even within one list', () => {
  const { tools } = catalog();
  tools.learn({ tools: Array.from({ length: 10_001 }, (_, index) => tool(`t${index}`, '')) });
  expect([tools.known('t0'), tools.known('t1')]).toEqual([undefined, { title: '' }]);
  tools.forget();
  const large = 'x'.repeat(9_000_000);
  tools.learn({ tools: [tool('a', large)] });
  tools.learn({ tools: [tool('b', large)] });
  expect([tools.known('a'), tools.known('b')]).toEqual([undefined, { title: large }]);
  tools.learn({ tools: [tool('c', large + large)] });
  expect([tools.known('b'), tools.known('c')]).toEqual([{ title: large }, undefined]);
});

test('a list with many more tools than are remembered is processed quickly', () => {
  const { tools } = catalog();
  const many = { tools: Array.from({ length: 100_000 }, (_, index) => tool(`t${index}`, '')) };
  const before = process.cpuUsage();
  tools.learn(many);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(600);
  expect([tools.known('t89999'), tools.known('t90000')]).toEqual([undefined, { title: '' }]);
});

test('a list that has one name very often beside many others is processed quickly', () => {
  const { tools } = catalog();
  tools.learn({ tools: Array.from({ length: 10_000 }, (_, index) => tool(`t${index}`, '')) });
  const same = { tools: Array.from({ length: 28_000 }, (_, index) => tool('t5000', `${index}`)) };
  const before = process.cpuUsage();
  tools.learn(same);
  const { user, system } = process.cpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(300);
  expect([tools.known('t0'), tools.known('t5000')]).toEqual([{ title: '' }, { title: '27999' }]);
});

test('a definition that cannot be used is reported once, however often a list has it', () => {
  const onerror = vi.fn<(error: Error) => void>();
  const tools = new ToolCatalog<Error>({ keep: (_, name) => new Error(name), onerror });
  const list = { tools: [{ name: 'a' }, { name: 'b' }, { name: 'a' }] };
  expect([tools.learn(list), tools.learn(list)]).toEqual([{ tools: [] }, { tools: [] }]);
  expect(onerror.mock.calls.map(([{ message }]) => message)).toEqual(['a', 'b']);
});

test('all pages are read once for all waiters, with the identity of the first one', async () => {
  const first = deferred<JsonObject>();
  const list = vi.fn<List>((params) =>
    params['cursor'] === undefined ? first.promise : Promise.resolve({ tools: [tool('b', 'there')] }),
  );
  const { tools } = catalog(list);
  const answers = [tools.read('a', 'one'), tools.read('b', 'two')];
  first.resolve({ tools: [tool('a', 'here')], nextCursor: 'on' });
  expect(await Promise.all(answers)).toEqual([{ title: 'here' }, { title: 'there' }]);
  expect(list.mock.calls.map(([params, , reader]) => [params, reader])).toEqual([
    [{}, 'one'],
    [{ cursor: 'on' }, 'one'],
  ]);
});

test('a tool missing in the list is remembered as absent if the caller needs that', async () => {
  const absent = { title: 'absent' };
  const { tools } = catalog(undefined, absent);
  expect(await tools.read('a', 'me')).toBe(absent);
  expect(tools.known('a')).toBe(absent);
  const unset = catalog();
  expect(await unset.tools.read('a', 'me')).toBeUndefined();
  // A caller chooses this name.
  await tools.read('x'.repeat(17_000_000), 'me');
  expect(tools.known('a')).toBe(absent);
});

test('a list that takes too long is reported, and the tools read so far are known', async () => {
  vi.useFakeTimers();
  let given: AbortSignal | undefined;
  const { tools, onerror } = catalog((params, { signal }) => {
    given = signal;
    return params['cursor'] === undefined
      ? Promise.resolve({ tools: [tool('a', 'here')], nextCursor: 'on' })
      : new Promise(() => {});
  });
  const answer = tools.read('a', 'me');
  await vi.advanceTimersByTimeAsync(1000);
  expect(await answer).toEqual({ title: 'here' });
  expect(given!.aborted).toBe(true);
  expect(onerror.mock.calls.map(([{ message }]) => message)).toEqual([
    'Request timed out: tools/list was not answered within 1000 ms',
  ]);
});
