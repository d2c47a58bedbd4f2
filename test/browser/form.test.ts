import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { sampleOf } from '../../page/form/fixtures/sample.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';
import { describeInBrowser } from './support/browser.ts';
import { explore, tool } from './support/explore.ts';
import { callTools } from './support/fill-form.ts';

const schemas = readFileSync(new URL('../../page/form/fixtures/published-schemas.ndjson', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as JsonObject);

/** How many tools are listed at a time. At most 100 calls can run. */
const BATCH = 25;

describeInBrowser('the form of a tool', (browser) => {
  test.each([
    ['all properties', true],
    ['only the required properties', false],
  ])('sends exactly the JSON that was entered, with %s, for every published schema', async (_, all) => {
    const name = (at: number): string => `batch ${Math.floor(at / BATCH)}, line ${at + 1}`;
    const tools = schemas.map((inputSchema, at) => tool(name(at), { inputSchema }));
    const samples = schemas.map((schema) => sampleOf(schema, all) as JsonObject);
    const { page, server, misdeeds } = await explore(browser(), ({ method }) =>
      method === 'tools/list' ? { tools } : { content: [] },
    );
    for (let first = 0; first < samples.length; first += BATCH) {
      const values = samples.slice(first, first + BATCH);
      await page.getByRole('searchbox', { name: 'Search tools' }).fill(`batch ${first / BATCH},`);
      const listed = page.locator('.picker .entry');
      for (const at of [0, values.length - 1])
        await expect.poll(() => listed.nth(at).textContent()).toContain(name(first + at));
      expect(await page.evaluate(callTools, values)).toEqual([]);
      await expect.poll(() => server.received.length).toBe(first + values.length);
    }
    // Calls run side by side.
    const sent = new Map(
      server.received.map(({ params }) => [params['name'] as string, params['arguments'] as unknown]),
    );
    for (const [at, sample] of samples.entries())
      expect(JSON.stringify(sent.get(name(at))), name(at)).toBe(JSON.stringify(sample));
    expect(misdeeds).toEqual([]);
  });

  test('keeps text and caret at each keystroke, and sends nothing while a text is no JSON', async () => {
    const properties = { count: { type: 'number' }, any: {}, name: { type: 'string' } };
    const list = [tool('typed', { inputSchema: { type: 'object', properties } })];
    const { page, server, call, result, misdeeds } = await explore(browser(), ({ method }) =>
      method === 'tools/list' ? { tools: list } : { content: [] },
    );
    /** Types a text and then more at a place in it. After each key, the field must show what was typed. */
    const type = async (label: string, text: string, place: number, more: string): Promise<void> => {
      const field = page.getByRole('textbox', { name: label, exact: true });
      await field.fill('');
      await field.evaluate((element: HTMLTextAreaElement) => {
        const seen: [string, number, number][] = [];
        Object.assign(element, { seen });
        element.addEventListener('keyup', () => {
          seen.push([element.value, element.selectionStart, element.selectionEnd]);
        });
      });
      await page.keyboard.type(text);
      await field.evaluate((element: HTMLTextAreaElement, at) => element.setSelectionRange(at, at), place);
      await page.keyboard.type(more);
      await page.keyboard.press('Backspace');
      const expected = Array.from(text, (_, at) => [text.slice(0, at + 1), at + 1, at + 1]);
      const insert = (length: number): void => {
        const caret = place + length;
        expected.push([text.slice(0, place) + more.slice(0, length) + text.slice(place), caret, caret]);
      };
      for (let length = 1; length <= more.length; length += 1) insert(length);
      insert(more.length - 1);
      expect(await field.evaluate((element) => (element as unknown as { seen: unknown }).seen)).toEqual(expected);
    };

    await type('count', '-1.50', 2, '0e');
    await type('any', '{ "a" : [1.0, \\u00e9 ]', 8, '"x", 1E400]');
    await type('name', ' "quoted\\" ', 3, '<b>x');
    await call.click();
    await page.getByRole('alert').getByText('is not JSON').waitFor();
    expect(server.received).toEqual([]);
    await page.getByRole('button', { name: 'Arguments as JSON', exact: true }).click();
    await type('Arguments as JSON', '{\n  "count": 1.0,\n\n "any" :[ 12345678901234567890 ]}', 11, '"x": {"y":}');
    await call.click();
    await page.getByRole('alert').getByText('is not JSON').waitFor();
    expect(server.received).toEqual([]);
    await page.getByRole('textbox', { name: 'Arguments as JSON' }).fill('{ "any": [1] }');
    await call.click();
    await result.getByText('no content').waitFor();
    expect(server.received).toMatchObject([{ params: { arguments: { any: [1] } } }]);
    expect(misdeeds).toEqual([]);
  });
});
