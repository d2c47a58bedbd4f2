import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { describeInBrowser, openPage } from './support/browser.ts';
import { someTraffic } from './support/traffic.ts';
import { WirePage } from './support/wire.ts';

async function press(page: Page, ...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key);
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
    await press(page, 'Home', 'Tab', 'Tab', 'Tab', 'Tab', 'End');
    await expect.poll(() => page.locator(':focus').textContent()).toBe('text: "found"');
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
});
