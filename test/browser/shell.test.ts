import { expect, onTestFinished, test } from 'vitest';
import { describeInBrowser, FOLDER, openPage } from './support/browser.ts';
import { explore, stateWith, tool } from './support/explore.ts';
import { someTraffic } from './support/traffic.ts';
import { WirePage } from './support/wire.ts';
import { Capture } from '../../src/inspect/capture.ts';
import { servePage } from '../../src/inspect/page-server/page-server.ts';
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
    await expect
      .poll(() => page.getByRole('alert').textContent())
      .toMatch(/^Everwire has ended .* Start Everwire again, and open the URL that it prints\.$/);
    expect(await page.getByRole('banner').getByRole('status').textContent()).toBe('Inspector lost');
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

  test.each([1280, 900, 640, 600, 320])('has a calm head at %i pixels', async (width) => {
    const feed = stateWith(
      {
        ...{ status: 'connected', revision: '2025-11-25', transport: 'streamable-http' },
        discovered: { serverInfo: { name: 'everything', title: 'Everything Reference Server' } },
      },
      { target: 'mcp.example.com' },
    );
    const { page } = await openPage(browser(), { feed, viewport: { width, height: 800 } });
    const head = page.getByRole('banner');
    const texts = ['Everything Reference Server', '2025-11-25', 'Connected'];
    for (const text of texts) await head.getByText(text, { exact: true }).waitFor();
    const tabs = page.getByRole('tablist', { name: 'Screens' }).getByRole('tab');
    const boxes = await Promise.all((await tabs.all()).map((tab) => tab.boundingBox()));
    expect(new Set(boxes.map((box) => box!.y)).size).toBe(width === 320 ? 3 : 1);
    expect(Math.max(...boxes.map((box) => box!.x + box!.width))).toBeLessThanOrEqual(width);
    expect((await head.boundingBox())!.height).toBeLessThanOrEqual(width === 320 ? 180 : 80);
    const cut = head
      .locator('*:visible')
      .evaluateAll((all) =>
        all.filter((each) => each.clientWidth > 1 && each.scrollWidth > each.clientWidth).map((each) => each.outerHTML),
      );
    expect(await cut).toEqual([]);
  });

  test('shows what it connects to as long as the server has no name, also at 600 pixels', async () => {
    const feed = stateWith({ status: 'failed' }, { target: 'http://localhost:1/mcp' });
    const { page } = await openPage(browser(), { feed, viewport: { width: 600, height: 800 } });
    await page.getByRole('banner').getByText('http://localhost:1/mcp').waitFor();
  });

  test('does not move its tabs when one is chosen or gets a number', async () => {
    const question = { method: 'elicitation/create', params: {}, received: '2026-01-01T00:00:00Z' } as const;
    const feed = stateWith({});
    const { page } = await openPage(browser(), { feed });
    const tabs = page.getByRole('tablist', { name: 'Screens' }).getByRole('tab');
    const places = () => tabs.evaluateAll((all) => all.map((tab) => tab.getBoundingClientRect().toJSON() as object));
    await page.getByRole('banner').getByText('Not connected').waitFor();
    const before = await places();
    for (const tab of await tabs.all()) {
      await tab.click();
      expect(await places()).toEqual(before);
    }
    feed.update({ questions: Array.from({ length: 100 }, (_, id) => ({ ...question, id })) });
    await tabs.getByText('99+').waitFor();
    expect(await places()).toEqual(before);
  });

  test('gives all screens of one column the same width', async () => {
    const { page } = await openPage(browser(), { feed: stateWith({}), viewport: { width: 1600, height: 900 } });
    const tabs = page.getByRole('tablist', { name: 'Screens' }).getByRole('tab');
    const widths = new Map<string, number>();
    for (const name of ['Explore', 'Lint', 'Latency', 'Auth', 'Compare']) {
      await tabs.filter({ hasText: name }).click();
      const screen = page.getByRole('tabpanel', { name }).locator('> div');
      widths.set(name, (await screen.boundingBox())!.width);
    }
    expect(new Set(widths.values()).size, JSON.stringify([...widths])).toBe(1);
    expect(widths.get('Lint')).toBeLessThan(1100);
  });

  test('says that it has lost its inspector, also for what is sent', async () => {
    const { page, call, stop } = await explore(browser(), ({ method }) =>
      method === 'tools/list' ? { tools: [tool('one')] } : {},
    );
    await page.getByRole('button', { name: 'one', exact: true }).click();
    await call.waitFor();
    await stop();
    await page.getByRole('banner').getByText('Inspector lost').waitFor();
    await call.click();
    await page
      .getByRole('region', { name: 'Result' })
      .getByText('Start Everwire again, and open the URL that it prints.')
      .waitFor();
  });

  test('does not say that nothing was sent if it loses its inspector while a call runs', async () => {
    const { server, call, result, stop } = await explore(browser(), ({ method }) =>
      method === 'tools/list' ? { tools: [tool('one')] } : new Promise(() => {}),
    );
    await call.click();
    await expect.poll(() => server.received).toHaveLength(1);
    await stop();
    await expect.poll(() => result.getByRole('status').textContent()).not.toBe('Running');
    expect(await result.getByRole('status').textContent()).toBe('Result lost');
    await result.getByText('The server may have received the request.').waitFor();
  });

  test('says in an old tab, and for an old URL, that Everwire was started again, and opens the new one', async () => {
    const old = await openPage(browser());
    await old.page.getByRole('banner').getByText('Observing').waitFor();
    const port = Number(new URL(old.page.url()).port);
    await old.stop();
    const started = await servePage({
      capture: new Capture(),
      feed: fixedState('observer', 'node other.js'),
      folder: FOLDER,
      port,
    });
    onTestFinished(() => started.close());
    const { page } = old;
    const alert = page.getByRole('alert');
    await expect
      .poll(() => alert.textContent())
      .toMatch(/^The inspector does not know this page: Everwire was started again/);
    expect(await page.getByRole('banner').getByRole('status').textContent()).toBe('Inspector lost');
    await page.reload();
    await expect.poll(() => alert.textContent()).toMatch(/Open the URL that Everwire printed last/);
    expect(await page.getByRole('tab').count()).toBe(0);
    await page.goto(`${page.url()}#${'x'.repeat(43)}`);
    await expect.poll(() => alert.textContent()).toMatch(/^This URL was already used, or is from before/);
    await page.goto(started.url);
    await page.getByRole('banner').getByText('node other.js').waitFor();
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

  test('needs one of the six connections that a browser has to a server: the newest five tabs can be used', async () => {
    const { page } = await openPage(browser(), { capture: someTraffic() });
    await new WirePage(page).rows('search').first().waitFor();
    const key = await page.evaluate(() => sessionStorage.getItem('everwire-key')!);
    for (let tabs = 2; tabs <= 6; tabs += 1) {
      expect(await page.getByRole('alert').count(), `${tabs}`).toBe(0);
      const tab = await page.context().newPage();
      await tab.addInitScript((copied) => sessionStorage.setItem('everwire-key', copied), key);
      await tab.goto(page.url());
      await new WirePage(tab).rows('search').first().waitFor();
    }
    await page.getByRole('alert').getByText('The inspector is open in more than 5 tabs').waitFor();
    await page.getByRole('tab', { name: 'Apps' }).click();
    await page.getByRole('tabpanel', { name: 'Apps' }).getByText(/\w/).first().waitFor();
    // The newest goes on when the oldest comes back.
    const [, second] = page.context().pages();
    await page.reload();
    await new WirePage(page).rows('search').first().waitFor();
    await second!.getByRole('alert').getByText('The inspector is open in more than 5 tabs').waitFor();
  });

  test('sends no requests from a tab that is no longer served, and says what became of those that ran', async () => {
    const { server, page, call, result } = await explore(browser(), ({ method }) =>
      method === 'tools/list' ? { tools: [tool('one')] } : new Promise(() => {}),
    );
    await call.click();
    await expect.poll(() => server.received).toHaveLength(1);
    await page.evaluate(async () => {
      const headers = { 'everwire-key': sessionStorage.getItem('everwire-key')! };
      for (let tabs = 1; tabs <= 5; tabs += 1) await fetch('/api/stream', { headers });
    });
    const why = result.getByText('The inspector is open in more than 5 tabs');
    await result.getByText('The server may have received the request.').waitFor();
    await why.waitFor();
    await call.click();
    await result.getByText('Nothing was sent.').waitFor();
    await why.waitFor();
    expect(server.received).toHaveLength(1);
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
