import { expect, test } from 'vitest';
import { describeInBrowser, openPage } from './support/browser.ts';
import { explore, tool } from './support/explore.ts';
import { someTraffic } from './support/traffic.ts';
import { WirePage } from './support/wire.ts';
import { fixedState, StateFeed } from '../../src/inspect/page-server/state-feed.ts';

describeInBrowser('the page', (browser) => {
  test('shows a recording, and keeps it when the server has ended', async () => {
    const capture = someTraffic();
    capture.close();
    const { page, stop } = await openPage(browser(), { capture, feed: fixedState('recording', 'session.mcpcap') });
    const wire = new WirePage(page);
    await wire.rows('search').first().waitFor();
    await expect.poll(() => page.getByRole('banner').textContent()).toMatch(/session\.mcpcap.*Recording/);
    expect(await page.getByRole('button', { name: 'Pause' }).count()).toBe(0);
    expect(await page.getByRole('alert').count()).toBe(0);
    await stop();
    await expect.poll(() => page.getByRole('alert').textContent()).toMatch(/^Everwire has ended/);
    const message = await wire.open(wire.rows('search').first(), 'Message');
    expect(await message.textContent()).toContain('name: "search"');
  });

  test('has the names that people and tests look for', async () => {
    const list = [tool('one')];
    const { page, call } = await explore(browser(), ({ method }) => (method === 'tools/list' ? { tools: list } : {}));
    const tabs = page.getByRole('tablist', { name: 'Screens' }).getByRole('tab');
    // The number of findings comes a little later.
    const names = (await tabs.allTextContents()).map((text) => text.replace(/\d.*$/, ''));
    expect(names).toEqual(['Explore', 'Wire', 'Asked', 'Lint', 'Latency', 'Auth', 'Breakpoints', 'Apps', 'Compare']);
    await call.waitFor();
    await tabs.filter({ hasText: 'Wire' }).click();
    await page.getByRole('grid', { name: 'Wire records', exact: true }).waitFor();
    await page.getByRole('searchbox', { name: 'Filter', exact: true }).waitFor();
  });

  test('counts the questions that are open', async () => {
    const feed = new StateFeed({ ...fixedState('observer', 'node server.js').state, role: 'client' });
    const { page } = await openPage(browser(), { feed });
    const tab = page.getByRole('tab', { name: 'Asked' });
    await expect.poll(() => page.getByRole('banner').textContent()).toContain('node server.js');
    expect(await tab.textContent()).toBe('Asked');
    feed.update({
      questions: [{ id: 1, method: 'elicitation/create', params: { message: '?' }, received: '2026-01-01T00:00:00Z' }],
    });
    await expect.poll(() => tab.textContent()).toBe('Asked1 open');
  });

  test('says what to do if its address was used before', async () => {
    const { page } = await openPage(browser());
    const other = await page.context().browser()!.newContext();
    const tab = await other.newPage();
    await tab.goto(page.url());
    await expect
      .poll(() => tab.getByRole('alert').textContent())
      .toBe('Open the URL that Everwire printed in the terminal.');
    await other.close();
  });

  test('needs one of the six connections that a browser has to a server, so five tabs can be open', async () => {
    const { page } = await openPage(browser(), { capture: someTraffic() });
    await new WirePage(page).rows('search').first().waitFor();
    const key = await page.evaluate(() => sessionStorage.getItem('everwire-key')!);
    for (let tabs = 2; tabs <= 5; tabs += 1) {
      const tab = await page.context().newPage();
      await tab.addInitScript((copied) => sessionStorage.setItem('everwire-key', copied), key);
      await tab.goto(page.url());
      await new WirePage(tab).rows('search').first().waitFor();
    }
  });

  test('follows the colors of the system, and can be switched', async () => {
    const { page } = await openPage(browser(), { colorScheme: 'dark' });
    const background = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await background();
    await page.getByRole('button', { name: 'Colors: Auto' }).click();
    await page.getByRole('button', { name: 'Colors: Light' }).waitFor();
    expect(await background()).not.toBe(dark);
    await page.reload();
    await page.getByRole('button', { name: 'Colors: Light' }).click();
    await page.getByRole('button', { name: 'Colors: Dark' }).waitFor();
    expect(await background()).toBe(dark);
  });
});
