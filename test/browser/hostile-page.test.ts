import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium, type Browser, type Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { describeInBrowser } from './support/browser.ts';
import { findBrowser } from './support/find-browser.ts';
import { startEverwire } from '../support/command-line.ts';

/** Another web page of this machine, on a port of its own. */
async function otherPage(browser: Browser): Promise<Page> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Hostile</title>');
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return page;
}

/** The statuses that the browser got, whether or not the page could see them. */
function statusesOf(page: Page, port: string): number[] {
  const statuses: number[] = [];
  page.on('response', (response) => {
    if (new URL(response.url()).port === port) statuses.push(response.status());
  });
  return statuses;
}

describeInBrowser('the inspector refuses', (browser) => {
  test('a page of another loopback port, whatever it sends, and starts nothing', async () => {
    const inspector = startEverwire(['inspect', '--no-open', '--port', '0']);
    const [, address] = await inspector.line(/inspector on (http:\S+)/);
    const { origin, port, hash } = new URL(address!);
    const page = await otherPage(browser());
    const statuses = statusesOf(page, port);
    const seen = await page.evaluate(
      async ({ target, token }) => {
        const attempts = [
          fetch(`${target}/api/state`),
          fetch(`${target}/api/key`, { method: 'POST', headers: { 'everwire-token': token } }),
          fetch(`${target}/api/key`, { method: 'POST', mode: 'no-cors', body: token }),
          fetch(`${target}/api/connect`, { method: 'POST', mode: 'no-cors', body: '{"url":"http://127.0.0.1:1/"}' }),
          fetch(`${target}/api/connect`, {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: '{"url":"http://127.0.0.1:1/"}',
          }),
        ].map(async (attempt) => {
          const response = await attempt;
          return response.type === 'opaque' ? 'nothing' : await response.text();
        });
        const ended = await Promise.allSettled(attempts);
        return ended.map((each) => (each.status === 'fulfilled' ? each.value : 'nothing'));
      },
      { target: origin, token: hash.slice(1) },
    );
    expect(seen).toEqual(Array.from(seen, () => 'nothing'));
    // A frame shows nothing, and a form is refused.
    await page.evaluate((target) => {
      const frame = document.createElement('iframe');
      frame.src = target;
      document.body.append(frame);
    }, origin);
    await expect.poll(() => page.frames().at(-1)!.url()).toMatch(/^chrome-error:/);
    await page.evaluate((target) => {
      document.body.insertAdjacentHTML(
        'beforeend',
        `<form method="post" enctype="text/plain" action="${target}/api/connect"><input name='{"url":"' value='"}'></form>`,
      );
      document.forms[0]!.submit();
    }, origin);
    await page.waitForURL(`${origin}/**`);
    // The document of the page itself is no secret. Only its headers keep it out of the frame.
    const refusals = () => statuses.filter((status) => status !== 200);
    await expect.poll(refusals).not.toEqual([]);

    // Nothing used the token, and nothing was connected.
    const own = await (await browser().newContext()).newPage();
    onTestFinished(() => own.context().close());
    await own.goto(address!);
    await own.getByRole('banner').getByText('Not connected').waitFor();
    expect(own.url()).toBe(`${origin}/`);
    expect(new Set(refusals())).toEqual(new Set([403]));
    expect(await own.content()).not.toContain(hash.slice(1));
    expect(inspector.stderr.filter((line) => line.includes(hash.slice(1)))).toHaveLength(1);
  });

  test('a foreign name that leads to this machine', async () => {
    const inspector = startEverwire(['inspect', '--no-open', '--port', '0']);
    const [, address] = await inspector.line(/inspector on (http:\S+)/);
    const { port, hash } = new URL(address!);
    const rebound = await chromium.launch({
      executablePath: findBrowser()!,
      args: ['--host-resolver-rules=MAP rebound.example 127.0.0.1'],
    });
    onTestFinished(() => rebound.close());
    const page = await rebound.newPage();
    const response = await page.goto(`http://rebound.example:${port}/${hash}`);
    expect(response!.status()).toBe(403);
    const statuses = statusesOf(page, port);
    await page.evaluate(async (token) => {
      await fetch('/api/key', { method: 'POST', headers: { 'everwire-token': token } });
      await fetch('/api/state');
    }, hash.slice(1));
    await expect.poll(() => statuses).toEqual([403, 403]);
  });
});
