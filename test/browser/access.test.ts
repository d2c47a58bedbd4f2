import { expect, test } from 'vitest';
import { AXE, findings, overflow } from './support/axe.ts';
import { describeInBrowser, openPage } from './support/browser.ts';
import { someTraffic } from './support/traffic.ts';
import { WirePage } from './support/wire.ts';

describeInBrowser('axe finds nothing', (browser) => {
  test.each([
    ['dark', 1280, 800],
    ['light', 1280, 800],
    ['dark', 320, 640],
    ['light', 320, 640],
    // 1280 × 800 at 200 %.
    ['dark', 640, 400],
  ] as const)('in %s colors at %i × %i pixels, and nothing is cut off', async (colorScheme, width, height) => {
    const { page, misdeeds } = await openPage(browser(), {
      capture: someTraffic(),
      colorScheme,
      viewport: { width, height },
      // axe needs a script of its own.
      bypassCSP: true,
    });
    const wire = new WirePage(page);
    await wire.rows().first().waitFor();
    await page.evaluate(AXE);
    const check = async (where: string): Promise<void> => {
      expect(await findings(page), where).toEqual([]);
      expect(await overflow(page), where).toBe(0);
    };
    await check('Wire');
    for (const view of ['Message', 'HTTP', 'Frames', 'Bytes', 'Timing']) {
      await wire.open(wire.rows('search').first(), view);
      if (view === 'Bytes') await wire.bytes();
      await check(view);
    }
    await wire.filter.fill('dur>');
    await page.locator('#filter-mistake').waitFor();
    await check('a mistake in the filter');
    await wire.filter.press('ArrowDown');
    await check('suggestions');
    await page.getByRole('tab', { name: 'Explore' }).click();
    await check('Explore');
    await page.getByRole('tab', { name: 'Asked' }).click();
    await check('Asked');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command' }).waitFor();
    await check('palette');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
    await check('keyboard');
    expect(misdeeds).toEqual([]);
  });
});
