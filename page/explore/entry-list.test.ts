import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { EntryList, LISTS, matching } from './entry-list.ts';
import type { Outcome } from './request.ts';

/** A list whose server answers with these pages by their cursors. */
function listOf(answer: (cursor: string | undefined) => JsonObject): { list: EntryList; cursors: unknown[] } {
  const cursors: unknown[] = [];
  const list = new EntryList(LISTS.Tools, (_method, params) => {
    cursors.push(params['cursor']);
    const result = answer(params['cursor'] as string | undefined);
    return Promise.resolve<Outcome>({ kind: 'result', result, duration: 0 });
  });
  return { list, cursors };
}

const names = (list: EntryList): string[] => list.entries.value.map(({ id }) => id);
const tool = (name: string): JsonObject => ({ name, inputSchema: {} });

test('each page is read with the cursor of the one before, also if the cursor is empty', async () => {
  const { list, cursors } = listOf((cursor) => {
    if (cursor === undefined) return { tools: [tool('a')], nextCursor: '' };
    return cursor === '' ? { tools: [tool('b')], nextCursor: 'x' } : { tools: [tool('c')] };
  });
  await list.more();
  expect([names(list), list.hasMore.value]).toEqual([['a'], true]);
  await list.all();
  expect([names(list), list.hasMore.value, list.problem.value]).toEqual([['a', 'b', 'c'], false, undefined]);
  expect(cursors).toEqual([undefined, '', 'x']);
});

test('all pages are there, even if one was being read', async () => {
  const { list } = listOf((cursor) =>
    cursor === undefined ? { tools: [tool('a')], nextCursor: 'x' } : { tools: [tool('b')] },
  );
  void list.more();
  await list.all();
  expect(names(list)).toEqual(['a', 'b']);
});

test('a list that never ends is read 100 pages at a time', async () => {
  let page = 0;
  const { list } = listOf(() => ({ tools: [tool(String(page))], nextCursor: `after ${page++}` }));
  await list.all();
  expect([names(list).length, list.hasMore.value]).toEqual([100, true]);
});

test('a cursor that comes again ends the list, and its entries stay', async () => {
  const { list } = listOf(() => ({ tools: [tool('a')], nextCursor: 'same' }));
  await list.all();
  expect(names(list)).toEqual(['a', 'a']);
  expect(list.problem.value).toMatch('repeated a cursor');
  expect(list.hasMore.value).toBe(false);
});

test('a list with very long texts ends before they are too many to be searched', async () => {
  const description = 'x'.repeat(1_000_000);
  let page = 0;
  const { list } = listOf(() => ({
    tools: [{ ...tool(String(page)), description }],
    ...(page < 60 && { nextCursor: `after ${page++}` }),
  }));
  await list.all();
  expect([names(list).length, list.hasMore.value]).toEqual([49, false]);
  expect(list.problem.value).toBe('The list is too long. Only its first 49 entries are shown.');
});

test('a last page with too many entries is a problem, too', async () => {
  const { list } = listOf(() => ({ tools: Array.from({ length: 20_001 }, (_, at) => tool(String(at))) }));
  await list.more();
  expect(names(list)).toHaveLength(20_000);
  expect(list.problem.value).toBe('The list is too long. Only its first 20000 entries are shown.');
});

test.each([
  [{ tools: 5 }, 'has no list "tools"'],
  [{ tools: [], nextCursor: 7 }, 'not a string'],
])('%j is a problem', async (page, problem) => {
  const { list } = listOf(() => page);
  await list.more();
  expect(list.problem.value).toMatch(problem);
});

test('malformed entries are shown and do not hide the others', async () => {
  const { list } = listOf(() => ({ tools: [null, { name: 3 }, { title: '' }, tool('a')] }));
  await list.more();
  expect(list.entries.value.map(({ id, label }) => [id, label])).toEqual([
    ['', 'null'],
    ['', '(no name)'],
    ['', '(no name)'],
    ['a', 'a'],
  ]);
});

test('a search finds entries that have all its words, in any text', () => {
  const entry = (id: string, description: string): Parameters<typeof matching>[0][number] => {
    return { id, label: id, description, raw: {} };
  };
  const entries = [entry('get-sum', 'Adds numbers'), entry('get-time', 'The time')];
  expect(matching(entries, ' GET number ').map(({ id }) => id)).toEqual(['get-sum']);
  expect(matching(entries, '')).toHaveLength(2);
});
