import { expect, test } from 'vitest';
import { describeInBrowser, openPage } from './support/browser.ts';
import { WirePage } from './support/wire.ts';
import { Capture } from '../../src/inspect/capture.ts';
import type { ConnectionTap } from '../../src/inspect/index.ts';

/** Sends a request and its answer. */
function call(tap: ConnectionTap, id: number, method: string, params: object, answer: object): void {
  const line = (message: object): Buffer => Buffer.from(`${JSON.stringify({ jsonrpc: '2.0', id, ...message })}\n`);
  tap.bytes('c>s', line({ method, params }));
  tap.bytes('s>c', line(answer));
}

describeInBrowser('Latency', (browser) => {
  test('shows how long calls took, by method and tool, and leads to them', async () => {
    const capture = new Capture();
    const tap = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
    for (let id = 1; id <= 20; id += 1) call(tap, id, 'tools/call', { name: 'add' }, { result: { content: [] } });
    call(tap, 21, 'tools/call', { name: 'add' }, { result: { isError: true, content: [] } });
    call(tap, 22, 'tools/call', { name: 'add' }, { error: { code: -32602, message: 'bad' } });
    call(tap, 23, 'tools/call', { name: 'say' }, { result: { content: [{ type: 'text', text: '"isError":true' }] } });
    call(tap, 24, 'ping', {}, { result: {} });
    const { page, misdeeds } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    await wire.rows().first().waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('t');
    const rows = page.getByRole('row');
    await expect.poll(() => rows.count()).toBe(4);
    const add = rows.filter({ hasText: 'tools/call add' });
    expect(await add.textContent()).toMatch(
      /^tools\/call add22 calls, in Wire2 errors, in Wire(\d[^/]*s or more, in Wire){4}$/,
    );
    expect(await rows.filter({ hasText: 'tools/call say' }).textContent()).toContain('1 calls, in Wire0');
    await page.getByRole('button', { name: 'tools/call add' }).press('Enter');
    const bars = page.getByRole('list', { name: 'Calls by duration' }).getByRole('button');
    const counts = await bars.locator('.histogram-count').allTextContents();
    expect(counts.reduce((sum, text) => sum + parseInt(text, 10), 0)).toBe(22);

    const bar = page.getByRole('list', { name: 'Calls by duration' }).locator('button:enabled').first();
    const count = parseInt((await bar.locator('.histogram-count').textContent())!, 10);
    await bar.click();
    expect(await wire.filter.inputValue()).toMatch(/^method:tools\/call tool:add dur>=\d+us dur<\d+us$/);
    await expect.poll(() => page.locator('.wire-count').textContent()).toMatch(new RegExp(`^${2 * count} of`));

    await page.getByRole('tab', { name: 'Latency' }).click();
    await add.getByRole('button', { name: '2 errors' }).click();
    // The request and the response of the failed call, and the response that says that the tool failed.
    await expect.poll(() => wire.rows().count()).toBe(3);
    await page.getByRole('tab', { name: 'Latency' }).click();
    await add.getByRole('button', { name: '22 calls' }).click();
    await expect.poll(() => page.locator('.wire-count').textContent()).toMatch(/^44 of/);

    // New calls change what is shown.
    await page.getByRole('tab', { name: 'Latency' }).click();
    call(tap, 25, 'ping', {}, { result: {} });
    await expect.poll(() => rows.filter({ hasText: 'ping' }).textContent()).toContain('2 calls');
    expect(misdeeds).toEqual([]);
  });

  test('counts the calls of each side of a bridge alone', async () => {
    const capture = new Capture();
    const up = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
    const down = capture.open({ protocol: 'stdio', role: 'server', peer: 'host' });
    for (const id of [1, 2]) call(up, id, 'ping', {}, { result: {} });
    call(down, 1, 'ping', {}, { result: {} });
    const { page } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    await page.getByRole('tab', { name: 'Latency' }).click();
    const ping = page.getByRole('row').filter({ hasText: 'ping' });
    await expect.poll(() => ping.textContent()).toContain('1 calls');
    await page.getByRole('button', { name: 'With the servers' }).click();
    await expect.poll(() => ping.textContent()).toContain('2 calls');
    await ping.getByRole('button', { name: '2 calls' }).click();
    await expect.poll(() => wire.rows().count()).toBe(4);
    expect(await wire.filter.inputValue()).toBe('method:ping side:server');
  });

  test('says so if there is no call', async () => {
    const { page } = await openPage(browser());
    await page.getByRole('tab', { name: 'Latency' }).click();
    await page.getByText('No call has been recorded yet.').waitFor();
  });
});
