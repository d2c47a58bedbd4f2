import type { Locator, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeInBrowser, openPage } from './support/browser.ts';
import { someTraffic } from './support/traffic.ts';
import { expectJudged, WirePage } from './support/wire.ts';
import { Capture } from '../../src/inspect/capture.ts';
import { fixedState } from '../../src/inspect/page-server/state-feed.ts';
import { lint } from '../../src/lint/index.ts';

const screenTab = (page: Page, name: string): Locator =>
  page.getByRole('tablist', { name: 'Screens' }).getByRole('tab', { name: new RegExp(`^${name}`) });

/** What the linter finds in a capture that is closed. */
async function expected(capture: Capture): Promise<{ rule: string; seen: string; record: number }[]> {
  const found = [];
  for await (const { rule, seen, records } of lint(capture.records()))
    found.push({ rule: rule.id, seen, record: records[0]! });
  return found;
}

const line = (message: object): Buffer => Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

describeInBrowser('the page judges the wire', (browser) => {
  test('and shows what it found at rows, in the view of a record, and by rule', async () => {
    const capture = someTraffic();
    capture.close();
    const found = await expected(capture);
    const { page, misdeeds } = await openPage(browser(), { capture, feed: fixedState('recording', 'session.mcpcap') });
    const wire = new WirePage(page);
    const row = wire.rows('request').filter({ hasText: 'initialize' });
    await row.getByRole('img', { name: '1 error' }).waitFor();
    const panel = await wire.open(row, 'Lint');
    await expect.poll(() => panel.getByRole('article').count()).toBe(1);
    const finding = await panel.getByRole('article').textContent();
    expect(finding).toContain('schema-request');
    expect(finding).toContain('InitializeRequest: params.capabilities is missing');
    expect(finding).toContain('A request matches the JSON Schema of the revision.');
    const link = panel.getByRole('link');
    expect(await link.getAttribute('href')).toBe('https://modelcontextprotocol.io/specification/2025-11-25/schema');
    expect(await link.getAttribute('rel')).toBe('noreferrer');

    await expect.poll(() => screenTab(page, 'Lint').textContent()).toBe(`Lint${found.length} errors and warnings`);
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    const rules = page.locator('.lint-rules > li');
    await expect.poll(() => rules.count()).toBe(new Set(found.map(({ rule }) => rule)).size);
    // Opening one rule must not close another.
    const closed = rules.locator('details:not([open]) > summary');
    for (let left = await closed.count(); left > 0; left -= 1) {
      await closed.first().click();
      await expect.poll(() => closed.count()).toBe(left - 1);
    }
    await expect.poll(() => rules.locator('.lint-findings > div').count()).toBe(found.length);
    const shown = await rules.locator('.lint-findings').allTextContents();
    for (const { seen, record } of found)
      expect(shown.some((text) => text.includes(`#${record} `) && text.includes(seen))).toBe(true);

    // The head of a request is on a layer that is hidden at first.
    const accept = rules.filter({ hasText: 'http-accept-post' });
    const record = found.find(({ rule }) => rule === 'http-accept-post')!.record;
    await accept.getByRole('button', { name: new RegExp(`^#${record} .* in Wire$`) }).click();
    await expect.poll(() => wire.grid.locator('[aria-selected=true]').textContent()).toMatch(/^3.*head.*POST \/mcp/);
    expect(await page.getByRole('tabpanel', { name: 'Lint' }).last().textContent()).toContain('no Accept');
    expect(misdeeds).toEqual([]);
  });

  test('and filters by findings and rules, also by those that come later', async () => {
    const capture = new Capture();
    const { page } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    await wire.filter.fill('lint:error');
    const tap = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
    tap.bytes('s>c', Buffer.from('stray\n'));
    await expect.poll(() => wire.rows().count()).toBe(1);
    tap.bytes('s>c', Buffer.from('more\n'));
    await expect.poll(() => wire.rows().count()).toBe(2);
    await screenTab(page, 'Lint').click();
    await page.getByRole('button', { name: 'Show in Wire', exact: true }).click();
    expect(await wire.filter.inputValue()).toBe('rule:stdio-stdout-only-messages lint:error');
    await expect.poll(() => wire.rows().count()).toBe(2);
    await wire.filter.fill('rule:std');
    await page.getByRole('option', { name: 'rule:stdio-stdout-only-messages' }).click();
    await expect.poll(() => wire.rows().count()).toBe(2);
    // The record is not one that the filter shows.
    await wire.filter.fill('rule:other');
    await screenTab(page, 'Lint').click();
    await page.getByRole('button', { name: /^#/ }).last().click();
    await expect.poll(() => wire.filter.inputValue()).toBe('');
    await expect.poll(() => wire.grid.locator('[aria-selected=true]').textContent()).toContain('stray');
  });

  test('with text of the server that stays text', async () => {
    const capture = new Capture();
    const tap = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
    tap.bytes('s>c', Buffer.from('<img src=x onerror=alert(1)>\u202e\u001b[31m\n'));
    const { page, misdeeds } = await openPage(browser(), { capture });
    await screenTab(page, 'Lint').click();
    const seen = page.locator('.lint-findings').first();
    await expect.poll(() => seen.textContent()).toContain(String.raw`<img src=x onerror=alert(1)>\u202e\u001b[31m`);
    expect(misdeeds).toEqual([]);
  });

  test('without losing a record at 5,000 messages a second', async () => {
    const capture = new Capture();
    const { page, misdeeds } = await openPage(browser(), { capture });
    const tap = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
    const client = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } };
    tap.bytes('c>s', line({ id: 0, method: 'initialize', params: client }));
    const server = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 's', version: '1' } };
    tap.bytes('s>c', line({ id: 0, result: server }));
    tap.bytes('c>s', line({ method: 'notifications/initialized' }));
    let id = 0;
    const started = performance.now();
    await new Promise<void>((resolve) => {
      const timer = setInterval(() => {
        for (const until = ((performance.now() - started) / 1000) * 2500; id < until && id < 10_000;) {
          id += 1;
          tap.bytes('c>s', line({ id, method: 'ping' }));
          tap.bytes('s>c', line({ id, result: id % 100 === 0 ? [] : {} }));
        }
        if (id < 10_000) return;
        clearInterval(timer);
        resolve();
      }, 5);
    });
    await screenTab(page, 'Lint').click();
    await expectJudged(page, capture);
    expect(await page.getByText('were dropped').count()).toBe(0);
    expect(await page.locator('.lint-rule', { hasText: 'result-object' }).locator('.lint-count').textContent()).toBe(
      '100 findings',
    );
    expect(misdeeds).toEqual([]);
  });
});
