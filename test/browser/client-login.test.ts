import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { bearerAuth } from '../../src/auth/index.ts';
import { McpServer } from '../../src/server/index.ts';
import { startAuthorizationServer } from '../support/oidc-provider.ts';
import { root } from '../support/process.ts';
import { describeInBrowser } from './support/browser.ts';
import { openClientPage, type ClientPage } from './support/client-page.ts';

/** The example of docs/runtimes.md, and a function that says who is logged in. */
const SCRIPT = `
  import { connectWithPopup, connectWithRedirect } from './examples/runtimes/login.mjs';
  globalThis.who = async (way, server, client) => {
    const connected = await (way === 'popup' ? connectWithPopup : connectWithRedirect)(server, client);
    const { content: [{ text }] } = await connected.callTool('who');
    await connected.close();
    return text;
  };
`;
const CALLBACK = readFileSync(`${root}examples/runtimes/callback.mjs`, 'utf8');

interface Protected extends ClientPage {
  readonly url: string;
  readonly client: { readonly clientId: string; readonly issuer: string };
}

/** A page, a server that requires a login, and its authorization server, each at an origin of its own. */
async function protectedPage(browser: Browser): Promise<Protected> {
  const opened = await openClientPage(browser, { '/': SCRIPT, '/callback.html': CALLBACK });
  const { origin } = opened;
  const authorization = await startAuthorizationServer('notes:read', {
    clients: [
      {
        client_id: 'page',
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: [`${origin}/`, `${origin}/callback.html`],
      },
    ],
    clientBasedCORS: (_context, asking) => asking === origin,
  });
  onTestFinished(() => authorization.close());
  const { issuer } = authorization;
  const url = await protectedServer(origin, issuer);
  return { ...opened, url, client: { clientId: 'page', issuer } };
}

/** A server whose tool says who has logged in. */
async function protectedServer(origin: string, issuer: string): Promise<string> {
  const http = createServer().listen(0, '127.0.0.1');
  await once(http, 'listening');
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
  const auth = bearerAuth({ resource: url, issuer });
  const server = new McpServer({ name: 'notes', version: '1.0.0', http: { allowedOrigins: [origin], auth } });
  server.tool('who', {}, (_, { caller }) => caller.principal ?? 'nobody');
  http.on('request', server.node);
  onTestFinished(async () => {
    await server.close(0);
    http.closeAllConnections();
    http.close();
  });
  return url;
}

/** The user logs in and agrees. */
async function logIn(page: Page): Promise<void> {
  await page.fill('input[name=login]', 'alice');
  await page.fill('input[name=password]', 'any');
  await page.click('button[type=submit]');
  await page.click('text=Continue');
}

type Who = (way: string, server: string, client: object) => Promise<string>;
const who = ([way, url, client]: readonly [string, string, object]): Promise<string> =>
  (globalThis as unknown as { who: Who }).who(way, url, client);

describeInBrowser('a login in a page', (browser) => {
  test('in a popup', async () => {
    const { page, url, client } = await protectedPage(browser());
    const popup = page.waitForEvent('popup');
    const named = page.evaluate(who, ['popup', url, client] as const);
    await logIn(await popup);
    expect(await named).toBe(`${client.issuer}#alice`);
  });

  test('that leaves the page', async () => {
    const { page, origin, url, client } = await protectedPage(browser());
    // The page is left before it answers.
    page.evaluate(who, ['redirect', url, client] as const).catch(() => {});
    await logIn(page);
    await page.waitForURL(`${origin}/?*`);
    await page.waitForFunction(() => 'who' in globalThis);
    expect(await page.evaluate(who, ['redirect', url, client] as const)).toBe(`${client.issuer}#alice`);
    // Neither the history nor a reload has the code.
    expect(page.url()).toBe(`${origin}/`);
    await page.reload();
    await page.waitForFunction(() => 'who' in globalThis);
    expect(await page.evaluate(who, ['redirect', url, client] as const)).toBe(`${client.issuer}#alice`);
  });

  test('that leaves the page once for each of two servers of one issuer', async () => {
    const { page, origin, url, client } = await protectedPage(browser());
    const urls = [url, await protectedServer(origin, client.issuer)];
    const ask = () => Promise.all(urls.map((each) => page.evaluate(who, ['redirect', each, client] as const)));
    const returned = async (): Promise<void> => {
      await page.waitForURL(`${origin}/?*`);
      await page.waitForFunction(() => 'who' in globalThis);
    };
    ask().catch(() => {});
    await logIn(page);
    await returned();
    ask().catch(() => {});
    await page.click('text=Continue');
    await returned();
    expect(await ask()).toEqual([`${client.issuer}#alice`, `${client.issuer}#alice`]);
    expect(page.url()).toBe(`${origin}/`);
  });
});
