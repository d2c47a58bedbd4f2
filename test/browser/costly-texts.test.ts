import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeInBrowser, openPage } from './support/browser.ts';
import { explore, tool } from './support/explore.ts';
import type { Script } from './support/scripted-server.ts';
import { WirePage } from './support/wire.ts';
import { Capture } from '../../src/inspect/capture.ts';
import type { JsonObject } from '../../src/jsonrpc/message.ts';

/** Returns how many seconds of processor time the page has taken so far. */
async function processorTime(page: Page): Promise<() => Promise<number>> {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'TaskDuration')!.value;
  };
}

describeInBrowser('texts that a browser needs long to lay out', (browser) => {
  test('texts whose direction changes very often do not keep the page busy', async () => {
    const mixed = (length: number): string => 'a\u0639'.repeat(length / 2);
    const values = Array.from({ length: 500 }, (_, at) => `${at}${mixed(200)}`);
    const properties = {
      text: { type: 'string', default: mixed(30_000) },
      lines: { type: 'string', default: 'ab\n'.repeat(50_000) },
      json: { default: [mixed(30_000)] },
      short: { type: 'string', default: 'short' },
      ...Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, { $ref: '#/$defs/choice' }])),
    };
    const inputSchema = { type: 'object', properties, $defs: { choice: { type: 'string', enum: values } } };
    const { page, call, result, misdeeds } = await explore(browser(), ({ method }) =>
      method === 'tools/list'
        ? { tools: [tool('first'), tool('mixed', { description: mixed(20_000), inputSchema })] }
        : { content: [{ type: 'text', text: '\u0639\u202E'.repeat(40_000) }] },
    );
    const seconds = await processorTime(page);
    const before = await seconds();
    await page.locator('.picker .entry').last().click();
    const field = (name: string): Promise<string> => page.getByRole('textbox', { name, exact: true }).inputValue();
    await expect.poll(() => field('short')).toBe('short');
    expect([await field('text'), await field('lines')]).toEqual(['', '']);
    await call.click();
    await result.getByRole('status').getByText(/after/).waitFor();
    // It was more than ten.
    expect((await seconds()) - before).toBeLessThan(2);
    expect(misdeeds).toEqual([]);
  });

  test('letters with very many accents do not keep the page busy', async () => {
    const accents = (mark: string, length: number): string => `a${mark.repeat(length)}`;
    const properties = {
      accents: { type: 'string', default: accents('\u0301', 30_000) },
      circles: { type: 'string', default: accents('\u20D0', 30_000) },
      cyrillic: { type: 'string', default: accents('\u0483', 30_000) },
      burmese: { type: 'string', default: accents('\u102B', 4000) },
      javanese: { type: 'string', default: accents('\uA9C0', 4000) },
      tones: { type: 'string', default: accents('\u{1F3FB}', 4000) },
      short: { type: 'string', default: 'cafe\u0301' },
    };
    const { page, misdeeds } = await explore(browser(), () => ({
      tools: [
        tool('first'),
        tool('accents', { description: accents('\uA9C0', 3000), inputSchema: { type: 'object', properties } }),
      ],
    }));
    const seconds = await processorTime(page);
    const before = await seconds();
    await page.locator('.picker .entry').last().click();
    const field = (name: string): Promise<string> => page.getByRole('textbox', { name, exact: true }).inputValue();
    await expect.poll(() => field('short')).toBe('cafe\u0301');
    for (const name of Object.keys(properties).filter((each) => each !== 'short')) expect(await field(name)).toBe('');
    // It was more than ten.
    expect((await seconds()) - before).toBeLessThan(1);
    expect(misdeeds).toEqual([]);
  });

  test.each([
    ['marks', `\uA98F${'\uA9C0'.repeat(99)}`],
    ['scripts', '\u1000\uAA60'],
    ['words', '\u1000 \uAA60'],
    ['alphabets', 'a\u0436 '],
    ['lines', '\u1000\uAA60\n'],
    ['kerning', 'T'],
  ])('descriptions, choices, instructions and a result full of %s do not keep the page busy', async (_, piece) => {
    const text = (length: number): string => piece.repeat(length / piece.length);
    const described = { instructions: text(100_000) };
    const property = (at: number): JsonObject => ({ type: 'string', description: `${at} ${text(1000)}` });
    const choice = { type: 'string', enum: Array.from({ length: 1000 }, (_unused, at) => `${at} ${text(200)}`) };
    const properties = {
      choice,
      ...Object.fromEntries(Array.from({ length: 100 }, (_unused, at) => [at, property(at)])),
    };
    const script: Script = ({ method }) =>
      method === 'tools/list'
        ? { tools: [tool('first'), tool('many', { inputSchema: { type: 'object', properties } })] }
        : { content: [{ type: 'text', text: text(100_000) }] };
    const { page, choose, tab, call, result, misdeeds } = await explore(browser(), script, { described });
    const seconds = await processorTime(page);
    const before = await seconds();
    await choose('many');
    await call.click();
    await result.getByRole('status').getByText(/after/).waitFor();
    await tab('Server');
    await page.getByText('Instructions').waitFor();
    // It was more than three.
    expect((await seconds()) - before).toBeLessThan(1);
    expect(misdeeds).toEqual([]);
  });

  test('a message that is cut says so', async () => {
    const capture = new Capture();
    const tap = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
    const text = 'a\u0436 '.repeat(30_000);
    tap.bytes('s>c', Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text } })}\n`));
    const { page, misdeeds } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    const panel = await wire.open(wire.rows(), 'Message');
    await panel.getByRole('button', { name: '90000 characters' }).click();
    await panel.getByText(/the first 17\d{3} of 90000 characters/).waitFor();
    expect(await panel.locator('.json-string').last().textContent()).toMatch(/[^"]$/);
    await panel.getByRole('button', { name: 'Raw' }).click();
    await panel.getByText(/^Only the first 17,\d{3} characters are shown\./).waitFor();
    expect(misdeeds).toEqual([]);
  });
});
