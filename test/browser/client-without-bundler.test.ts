import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { McpServer } from '../../src/server/index.ts';
import { root } from '../support/process.ts';
import { describeInBrowser } from './support/browser.ts';

const PACKAGE = '/node_modules/everwire/';
const ADDRESS = 'http://127.0.0.1:8000/mcp';

describeInBrowser('a page without a bundler', (browser) => {
  test('lists tools, as in docs/runtimes.md', async () => {
    let html = '';
    const pages = createServer(({ url = '' }, response) => {
      const file = `${root}${url.slice(PACKAGE.length)}`;
      if (url === '/') response.writeHead(200, { 'content-type': 'text/html' }).end(html);
      else if (!url.startsWith(PACKAGE) || !existsSync(file)) response.writeHead(404).end();
      else response.writeHead(200, { 'content-type': 'text/javascript' }).end(readFileSync(file));
    }).listen(0, '127.0.0.1');
    onTestFinished(() => {
      pages.close();
      pages.closeAllConnections();
    });
    await once(pages, 'listening');
    const origin = `http://127.0.0.1:${(pages.address() as AddressInfo).port}`;
    const server = new McpServer({ name: 'library', version: '1.0.0', http: { allowedOrigins: [origin] } });
    server.tool('opening_hours', {}, () => 'Monday to Saturday, 9 to 17');
    const { url } = await server.listen({ port: 0 });
    onTestFinished(() => server.close(0));
    html = readFileSync(`${root}examples/runtimes/page.html`, 'utf8').replace(ADDRESS, url);
    expect(html).toContain(url);
    const context = await browser().newContext();
    onTestFinished(() => context.close());
    const page = await context.newPage();
    await page.goto(origin);
    await page.waitForSelector('li');
    expect(await page.locator('li').allTextContents()).toEqual(['opening_hours']);
  });
});
