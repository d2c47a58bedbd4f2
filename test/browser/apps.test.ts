import { readFileSync } from 'node:fs';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { APP, appServer, appTool, exampleServer, openApps } from './support/apps.ts';
import { AXE, expectAccess, WINDOWS } from './support/axe.ts';
import { describeInBrowser } from './support/browser.ts';
import { WirePage } from './support/wire.ts';
import { root } from '../support/process.ts';

const tab = (page: Page, name: string): Promise<void> => page.getByRole('tab', { name }).click();

describeInBrowser('apps', (browser) => {
  test('the official example in vanilla JavaScript calls its tool, sends a message and a log, and opens a link', async () => {
    const { page, run, view, misdeeds } = await openApps(browser(), exampleServer('basic-vanillajs'));
    await run.click();
    const time = view.locator('#server-time');
    await expect.poll(() => time.textContent()).toMatch(/^\d{4}-/);
    const before = await time.textContent();
    await view.getByRole('button', { name: 'Get Server Time' }).click();
    await expect.poll(() => time.textContent()).not.toBe(before);
    await view.getByRole('button', { name: 'Send Message' }).click();
    await view.getByRole('button', { name: 'Send Log' }).click();
    await tab(page, 'From the app');
    await page.getByText('This is message text.').waitFor();
    await page.getByText('This is log text.').waitFor();
    await view.getByRole('button', { name: 'Open Link' }).click();
    const link = page.getByRole('alert');
    await link.getByText('https://modelcontextprotocol.io/', { exact: true }).waitFor();
    expect(await link.getByRole('link').getAttribute('href')).toBe('https://modelcontextprotocol.io/');
    await link.getByRole('button', { name: 'Refuse' }).click();
    await page.getByText('The user did not open the link.').waitFor();
    // The example does not catch it.
    await expect.poll(misdeeds).toEqual(['error: The user did not open the link.']);
  });

  test('the official budget allocator draws its chart, and its frame gets the height that it asks for', async () => {
    // The command of the page for users.
    const docs = readFileSync(`${root}docs/apps.md`, 'utf8');
    const [, name] = /^everwire inspect -- npx -y @modelcontextprotocol\/server-(\S+) --stdio$/m.exec(docs)!;
    const { page, run, view, misdeeds } = await openApps(browser(), exampleServer(name!));
    await run.click();
    await view.locator('canvas').first().waitFor();
    await view.getByText('Budget Allocator').first().waitFor();
    const frame = page.locator('iframe.app-frame');
    const height = async (): Promise<number> => (await frame.boundingBox())!.height;
    const wanted = (): Promise<number> => view.locator('html').evaluate(({ scrollHeight }) => scrollHeight);
    // That of a frame whose app has not asked for any.
    await expect.poll(height).not.toBe(320);
    await expect.poll(async () => Math.abs((await height()) - (await wanted()))).toBeLessThan(4);
    expect(misdeeds()).toEqual([]);
  });

  test('the official map declares its domains, and what it may not load is listed', async () => {
    const { page, run, blocked } = await openApps(browser(), exampleServer('map'));
    // The machine that runs the test need not reach the domains.
    await page.route(/cesium|openstreetmap/, (route) => route.abort());
    await run.first().click();
    const row = page.getByRole('row', { name: /^Connections/ });
    await row.getByText('https://*.openstreetmap.org').first().waitFor();
    expect(await blocked('Frames')).toBe('nothing');
  });

  test('the app gets its context, its input and its result, but nothing before it is initialized', async () => {
    const script = `${APP}
      setTimeout(async () => {
        say(received.length);
        const { hostContext, hostCapabilities } = await start();
        addEventListener('message', () => say({ hostContext, hostCapabilities, received }));
      }, 300);`;
    const { run, view, page, misdeeds } = await openApps(browser(), (await appServer(script)).url);
    await run.click();
    const out = view.locator('#out');
    await expect.poll(() => out.textContent()).toContain('tool-result');
    const { hostContext, hostCapabilities, received } = JSON.parse((await out.textContent())!);
    expect(received).toEqual([
      { jsonrpc: '2.0', method: 'ui/notifications/tool-input', params: { arguments: {} } },
      {
        jsonrpc: '2.0',
        method: 'ui/notifications/tool-result',
        params: { content: [{ type: 'text', text: 'done' }] },
      },
    ]);
    expect(hostContext).toMatchObject({ theme: 'light', displayMode: 'inline', toolInfo: { tool: { name: 'show' } } });
    expect(hostCapabilities.sandbox.csp.connectDomains).toEqual([]);
    await page.getByRole('button', { name: /^Colors/ }).click();
    await page.getByRole('button', { name: /^Colors/ }).click();
    await expect.poll(() => out.textContent()).toContain('"theme":"dark"');
    expect(misdeeds()).toEqual([]);
  });

  test('a call that the user cancels becomes tool-cancelled', async () => {
    const script = `${APP} start(); addEventListener('message', () => say(received));`;
    const server = await appServer(script, {
      answer: ({ method }) => (method === 'tools/call' ? new Promise(() => {}) : {}),
    });
    const { run, view, page } = await openApps(browser(), server.url);
    await run.click();
    await page.getByRole('button', { name: 'Cancel the call' }).click();
    await expect.poll(() => view.locator('#out').textContent()).toContain('tool-cancelled');
  });

  test('an app calls only tools that are for apps', async () => {
    const script = `${APP}
      start().then(async () => {
        const answers = [];
        for (const name of ['show', 'hidden', 'other', 'missing'])
          answers.push((await request('tools/call', { name, arguments: {} })).error?.message ?? name);
        say(answers);
      });`;
    const visibility = (name: string, ...who: readonly string[]) => ({
      ...appTool(name, 'ui://test/app'),
      _meta: { ui: { visibility: who } },
    });
    const server = await appServer(script, { tools: [visibility('hidden', 'model'), visibility('other', 'app')] });
    const { run, view } = await openApps(browser(), server.url);
    await run.click();
    await expect
      .poll(async () => JSON.parse((await view.locator('#out').textContent()) || 'null'))
      .toEqual([
        'show',
        'hidden: This tool is not for apps: its visibility does not have "app".',
        'other',
        'missing: The server does not list this tool.',
      ]);
    const called = server.received.filter(({ method }) => method === 'tools/call').map(({ params }) => params.name);
    expect(called).toEqual(['show', 'show', 'other']);
  });

  test('the messages are a lane of their own in Wire', async () => {
    const { run, page } = await openApps(browser(), (await appServer(`${APP} start();`)).url);
    await run.click();
    await page.getByText('Running', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Messages in Wire' }).click();
    const wire = new WirePage(page);
    for (const method of ['ui/initialize', 'ui/notifications/initialized', 'ui/notifications/tool-result'])
      await wire.rows(method).first().waitFor();
    expect(await wire.rows('tools/list').count()).toBe(0);
    await wire.filter.fill('-side:app method:tools/call');
    await expect.poll(() => wire.rows().count()).toBe(2);
    await wire.filter.fill('-side:app method:ui/initialize');
    await expect.poll(() => wire.rows().count()).toBe(0);
  });

  test('an app that asks to be closed is told first, and its frame is gone', async () => {
    const script = `${APP}
      start().then(() => notify('ui/notifications/request-teardown'));`;
    const { run, page } = await openApps(browser(), (await appServer(script)).url);
    await run.click();
    await page.getByText('Closed', { exact: true }).waitFor();
    expect(await page.locator('iframe').count()).toBe(0);
    await page.getByRole('button', { name: 'Messages in Wire' }).click();
    await new WirePage(page).rows('ui/resource-teardown').first().waitFor();
  });

  test.each(WINDOWS)('axe finds nothing, dark or light, at $size', async ({ viewport, zoom }) => {
    const script = `${APP}
      start().then(async () => {
        notify('notifications/message', { level: 'info', data: 'a log' });
        request('ui/message', { role: 'user', content: { type: 'text', text: 'a message' } });
        request('ui/update-model-context', { content: [{ type: 'text', text: 'context' }] });
        request('ui/open-link', { url: 'https://example.com/a?b=c' });
      });`;
    const csp = { connectDomains: ['https://api.example.com', '*'], resourceDomains: ['https://*.cdn.example'] };
    const { url } = await appServer(script, { csp, tools: [appTool('second', 'ui://test/second')] });
    // axe needs a script of its own. Without policies, there are no reports either.
    const context = { viewport, deviceScaleFactor: zoom, bypassCSP: true };
    const { page, run, inspector } = await openApps(browser(), url, context);
    await page.evaluate(AXE);
    await expectAccess(page, 'before it runs');
    await run.click();
    await page.getByText('The app wants to open a link.').waitFor();
    const violation = { directive: 'connect-src', blocked: 'https://undeclared.example/', count: 2 };
    inspector.feed.update({ apps: [{ id: 1, violations: [violation], hasMore: true }] });
    await page.getByText('https://undeclared.example/').waitFor();
    await page.getByText('Policy header').click();
    await expectAccess(page, 'Policy');
    await tab(page, 'From the app');
    await page.getByText('a message').waitFor();
    await expectAccess(page, 'From the app');
    await page.getByRole('button', { name: 'Close the app' }).click();
    await page.getByText('Closed', { exact: true }).waitFor();
    await expectAccess(page, 'closed');
  });
});
