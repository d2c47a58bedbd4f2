import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { onTestFinished } from 'vitest';
import { bundle } from '../../support/bundle.ts';

export interface ClientPage {
  readonly page: Page;
  readonly origin: string;
  /** The errors that nothing has caught. */
  readonly errors: readonly string[];
}

/**
 * Opens a page at an origin of its own. It ends with the test.
 *
 * @param scripts the module of each page, by its path. They are bundled from the built package.
 */
export async function openClientPage(browser: Browser, scripts: Readonly<Record<string, string>>): Promise<ClientPage> {
  const files = new Map<string, [type: string, body: string]>();
  for (const [path, script] of Object.entries(scripts)) {
    const { code } = await bundle(script, ['browser']);
    files.set(path, [
      'text/html',
      `<!doctype html><title>Client</title><script type="module" src="${path}.js"></script>`,
    ]);
    files.set(`${path}.js`, ['text/javascript', code]);
  }
  const server = createServer(({ url }, response) => {
    const [type, body] = files.get(url!.replace(/\?.*/, '')) ?? ['text/plain', ''];
    response.writeHead(200, { 'content-type': type }).end(body);
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  const context = await browser.newContext();
  onTestFinished(() => context.close());
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', ({ message }) => errors.push(message));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await page.goto(origin);
  return { page, origin, errors };
}
