import { readFile } from 'node:fs/promises';
import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeInBrowser, openPage } from './support/browser.ts';
import { inspectorFor, tool } from './support/explore.ts';
import { scriptedServer } from './support/scripted-server.ts';
import { someTraffic } from './support/traffic.ts';
import { expectJudged, WirePage } from './support/wire.ts';

async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
}

/** Presses Tab until an element has the focus. */
async function tabTo(element: Locator): Promise<void> {
  await element.waitFor();
  for (let presses = 0; !(await element.evaluate((each) => each === document.activeElement)); presses += 1) {
    expect(presses).toBeLessThan(60);
    await element.page().keyboard.press('Tab');
  }
}

/** Finds a command in the palette, and runs it. */
async function run(page: Page, command: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.keyboard.type(command);
  await page.keyboard.press('Enter');
}

describeInBrowser('with the keyboard alone', (browser) => {
  test('a person filters, walks over records, and reads every view of one', async () => {
    const { page, misdeeds } = await openPage(browser(), { capture: someTraffic() });
    const wire = new WirePage(page);
    const selected = wire.grid.locator('[aria-selected=true]');
    await wire.rows().first().waitFor();
    await press(page, 'g', 'e');
    await expect.poll(() => page.getByRole('tab', { selected: true }).first().textContent()).toBe('Explore');
    await press(page, 'g', 'w', '/');
    await page.keyboard.type('meth');
    await press(page, 'ArrowDown', 'Enter');
    await page.keyboard.type('tools/c');
    await press(page, 'ArrowDown', 'Tab');
    expect(await wire.filter.inputValue()).toBe('method:tools/call');
    await expect.poll(() => wire.rows().count()).toBe(4);
    await press(page, 'Enter');
    await press(page, 'Home', 'j', 'k');
    await expect.poll(() => selected.textContent()).toMatch(/request.*tools\/call.*search/);
    await press(page, ']');
    await expect.poll(() => selected.textContent()).toMatch(/result.*tools\/call/);
    await press(page, 'm', '[');
    await expect.poll(() => selected.textContent()).toMatch(/request/);
    await press(page, 'n');
    await expect.poll(() => selected.getByRole('img', { name: 'Marked' }).count()).toBe(1);
    await press(page, 'Enter', 'ArrowRight');
    await expect.poll(() => page.getByRole('tabpanel', { name: 'HTTP' }).textContent()).toContain('Mcp-Session-Id: a1');
    await press(page, 'End');
    await expect
      .poll(() => page.getByRole('tabpanel', { name: 'Timing' }).textContent())
      .toContain('notifications/progress');
    await press(page, 'Home', 'Tab', 'Tab', 'Tab', 'Tab', 'Tab', 'End');
    await expect.poll(() => page.locator(':focus').textContent()).toBe('text: "found"');
    expect(misdeeds).toEqual([]);
  });

  test('a person finds what is wrong and what was slow, and goes to its records', async () => {
    const capture = someTraffic();
    const { page, misdeeds } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    const selected = wire.grid.locator('[aria-selected=true]');
    await wire.rows().first().waitFor();
    await press(page, 'g', 'l');
    await expectJudged(page, capture);
    const rule = page.locator('.lint-rule', { hasText: 'schema-result' });
    await tabTo(rule.locator('summary'));
    await press(page, 'Enter');
    await tabTo(rule.getByRole('button', { name: /^#\d+ / }));
    await press(page, 'Enter');
    await expect.poll(() => selected.textContent()).toMatch(/result.*initialize/);
    await wire.grid.focus();
    await press(page, 'Enter', 'End', 'ArrowLeft');
    const view = page.getByRole('region', { name: 'Selected record' }).getByRole('tabpanel', { name: /^Lint/ });
    await expect.poll(() => view.textContent()).toContain('schema-result');
    await press(page, 'g', 't');
    await tabTo(page.getByRole('button', { name: 'tools/call search' }));
    await press(page, 'Enter');
    await tabTo(page.getByRole('list', { name: 'Calls by duration' }).locator('button:enabled').first());
    await press(page, 'Enter');
    expect(await wire.filter.inputValue()).toMatch(/^method:tools\/call tool:search dur>=/);
    await expect.poll(() => wire.rows().count()).toBe(2);
    expect(misdeeds).toEqual([]);
  });

  test('commands are found in the palette, and keys without Control can be switched off', async () => {
    const { page } = await openPage(browser(), { capture: someTraffic() });
    const wire = new WirePage(page);
    await wire.rows().first().waitFor();
    await press(page, 'Control+k');
    await page.keyboard.type('show frames');
    const options = page.getByRole('option');
    await page.keyboard.press('Control+a');
    await page.keyboard.type('frames');
    await expect.poll(() => options.allTextContents()).toEqual(['Show or hide Frames']);
    await press(page, 'Enter');
    await expect.poll(() => wire.rows('frame').count()).toBe(4);
    await press(page, '?');
    const off = page.getByRole('checkbox', { name: 'Use keys without Ctrl' });
    await off.focus();
    await press(page, 'Space', 'Escape', 'g', 'a');
    expect(await page.getByRole('tab', { selected: true }).first().textContent()).toBe('Wire');
    await page.reload();
    await wire.rows().first().waitFor();
    await press(page, 'g', 'a', 'Control+k');
    await page.getByRole('combobox', { name: 'Command' }).waitFor();
    await page.keyboard.type('asked');
    await press(page, 'Enter');
    await expect.poll(() => page.getByRole('tab', { selected: true }).first().textContent()).toBe('Asked');
  });

  test('a person connects, finds a tool, calls it, answers its question, and reads and saves what passed', async () => {
    const text = { type: 'object', properties: { text: { type: 'string' } } };
    const server = await scriptedServer(async ({ method, params, ask }) => {
      if (method === 'tools/list')
        return { tools: ['first', 'greet', 'group'].map((name) => tool(name, { inputSchema: text })) };
      const { result } = await ask('elicitation/create', { message: 'Sure?', requestedSchema: text });
      const said = `${params['arguments'].text}, ${result.content.text}`;
      return { content: [{ type: 'text', text: said }] };
    });
    const { capture, inspector } = inspectorFor(server.url);
    const { page, misdeeds } = await openPage(browser(), { capture, feed: inspector.feed, commands: inspector });
    const wire = new WirePage(page);
    const field = page.getByRole('textbox', { name: 'text', exact: true });

    await tabTo(page.getByRole('button', { name: 'inspected' }));
    await press(page, 'Enter');
    await page.getByRole('button', { name: 'group' }).waitFor();
    await press(page, '/');
    await page.keyboard.type('gr');
    await press(page, 'ArrowDown', 'Enter');
    await page.getByRole('heading', { name: 'greet' }).waitFor();
    await tabTo(field);
    await page.keyboard.type('Hello');
    await press(page, 'Control+Enter');
    await page.getByRole('tab', { name: 'Asked 1 open' }).waitFor();
    await run(page, 'asked');
    await tabTo(field);
    await page.keyboard.type('yes');
    await press(page, 'Control+Enter');
    await expect.poll(() => page.getByRole('article').count()).toBe(0);
    await run(page, 'show tools');
    await page.getByRole('region', { name: 'Result' }).getByText('Hello, yes').waitFor();

    await run(page, 'show wire');
    await press(page, 'j', '/');
    await expect.poll(() => wire.grid.locator('[aria-selected=true]').textContent()).toContain('server/discover');
    await page.keyboard.type('tool:greet');
    await expect.poll(() => wire.rows().count()).toBe(2);
    await press(page, 'Enter', 'Home', 'Enter');
    const views = {
      Message: 'Hello',
      HTTP: 'POST /mcp',
      Frames: 'elicitation/create',
      Bytes: 'SHA-256',
      Lint: 'No rule has found anything wrong',
      Timing: 'elicitation/create',
    };
    for (const [view, shown] of Object.entries(views)) {
      await expect.poll(() => page.getByRole('tabpanel', { name: view }).textContent()).toContain(shown);
      await press(page, 'ArrowRight');
    }
    // After the last view comes the first.
    await tabTo(page.getByRole('button', { name: 'Save message' }));
    const saving = page.waitForEvent('download');
    await press(page, 'Enter');
    const saved = await readFile(await (await saving).path(), 'utf8');
    expect(JSON.parse(saved)).toMatchObject({ params: { name: 'greet', arguments: { text: 'Hello' } } });
    await run(page, 'clear the filter');
    await expect.poll(() => wire.rows().count()).toBeGreaterThan(5);
    expect(misdeeds).toEqual([]);
  });
});
