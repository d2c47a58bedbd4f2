import { expect, test } from 'vitest';
import { fixedState } from './state-feed.ts';

test('all pages share the line of a state, because it may be long', async () => {
  const feed = fixedState('observer', 'one');
  const { signal } = new AbortController();
  const pages = [feed.lines(signal), feed.lines(signal)];
  const next = () => Promise.all(pages.map(async (page) => (await page.next()).value!.text));
  const [first, same] = await next();
  expect(String(first)).toMatch(/^\{"state":\{.*"target":"one".*\}\}\n$/);
  expect(same).toBe(first);
  feed.update({ target: 'two' });
  const [second, again] = await next();
  expect(String(second)).toContain('"target":"two"');
  expect(again).toBe(second);
});
