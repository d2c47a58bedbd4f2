import { expect, test } from 'vitest';
import { AXE, expectAccess, WINDOWS } from './support/axe.ts';
import { describeInBrowser, openPage } from './support/browser.ts';
import { someTraffic } from './support/traffic.ts';
import { WirePage } from './support/wire.ts';
import { fixedState } from '../../src/inspect/page-server/state-feed.ts';

describeInBrowser('axe finds nothing, dark or light, and nothing is cut off', (browser) => {
  test.each(WINDOWS)('on Wire of a recording, and in its dialogs, at $size', async ({ viewport, zoom }) => {
    const capture = someTraffic();
    capture.close();
    const { page, misdeeds } = await openPage(browser(), {
      ...{ capture, viewport, deviceScaleFactor: zoom },
      feed: fixedState('recording', 'session.mcpcap'),
      // axe needs a script of its own.
      bypassCSP: true,
    });
    const wire = new WirePage(page);
    await wire.rows().first().waitFor();
    await page.evaluate(AXE);
    const check = (where: string): Promise<void> => expectAccess(page, where);
    await check('Wire');
    for (const view of ['Message', 'HTTP', 'Frames', 'Bytes', 'Lint', 'Timing']) {
      const row = view === 'Lint' ? wire.rows('initialize') : wire.rows('search');
      await wire.open(row.first(), view);
      if (view === 'Lint') await page.getByRole('article').waitFor();
      if (view === 'Bytes') await wire.bytes();
      await check(view);
    }
    await wire.filter.fill('dur>');
    await wire.filter.press('Escape');
    await page.locator('#filter-mistake').waitFor();
    await check('a mistake in the filter');
    await wire.filter.press('ArrowDown');
    await check('suggestions');
    await page.getByRole('tab', { name: 'Explore' }).click();
    await check('Explore');
    await page.getByRole('tab', { name: 'Asked' }).click();
    await check('Asked');
    await page.getByRole('tablist', { name: 'Screens' }).getByRole('tab', { name: /^Lint/ }).click();
    await page.getByText('http-accept-post').waitFor();
    await check('Lint');
    await page.getByRole('tab', { name: 'Latency' }).click();
    await page.getByRole('button', { name: 'tools/call search' }).click();
    await check('Latency');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Command' }).waitFor();
    await check('palette');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Keyboard shortcuts' }).click();
    await check('keyboard');
    expect(misdeeds).toEqual([]);
  });
});
