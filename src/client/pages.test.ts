import { expect, test, vi } from 'vitest';
import type { JsonObject } from '../jsonrpc/message.ts';
import { entriesOf, type PageRequest } from './pages.ts';

async function all(request: PageRequest, maxPages = 10): Promise<unknown[]> {
  const entries: unknown[] = [];
  for await (const entry of entriesOf('tools/list', 'tools', request, maxPages)) entries.push(entry);
  return entries;
}

const one = { name: 'one' };
const two = { name: 'two' };

const answers = (...pages: JsonObject[]) => {
  let page = 0;
  return vi.fn<PageRequest>(async () => pages[page++]!);
};

test('a page is requested with the previous cursor; an empty string is a cursor, null is not', async () => {
  const request = answers(
    { tools: [one], nextCursor: 'a' },
    { tools: [], nextCursor: '' },
    { tools: [two], nextCursor: null },
  );
  expect(await all(request)).toEqual([one, two]);
  expect(request.mock.calls).toEqual([[{}], [{ cursor: 'a' }], [{ cursor: '' }]]);
});

test('the next page is requested only when needed', async () => {
  const request = answers({ tools: [one, two], nextCursor: 'a' });
  for await (const entry of entriesOf('tools/list', 'tools', request, 10)) if (entry === two) break;
  expect(request).toHaveBeenCalledTimes(1);
});

test('an endless list fails', async () => {
  await expect(all(async () => ({ tools: [], nextCursor: 'same' }))).rejects.toThrow('a cursor was repeated');
  let page = 0;
  const endless: PageRequest = async () => ({ tools: [], nextCursor: `${(page += 1)}` });
  await expect(all(endless, 5)).rejects.toThrow('it has more than 5 pages');
  expect(page).toBe(5);
});

test('an invalid page is refused', async () => {
  await expect(all(async () => ({}))).rejects.toMatchObject({ name: 'InvalidResultError' });
  const long: PageRequest = async () => ({ tools: [], nextCursor: 'x'.repeat(8193) });
  await expect(all(long)).rejects.toThrow('tools/list: a cursor is longer than 8192 characters');
  await expect(all(async () => ({ tools: [], nextCursor: 7 }))).rejects.toMatchObject({ name: 'InvalidResultError' });
});
