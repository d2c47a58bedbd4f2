import { existsSync } from 'node:fs';
import path from 'node:path';
import { chromium, type Browser, type BrowserContextOptions, type Page } from 'playwright-core';
import { afterAll, beforeAll, describe, onTestFinished } from 'vitest';
import { findBrowser } from './find-browser.ts';
import { Capture } from '../../../src/inspect/capture.ts';
import { servePage, type PageServerOptions } from '../../../src/inspect/page-server/page-server.ts';
import { fixedState } from '../../../src/inspect/page-server/state-feed.ts';

/** The built page. */
export const FOLDER = path.join(import.meta.dirname, '../../../dist/page');
const executablePath = findBrowser();

/** Tests in a browser, which is one for the whole file. They are skipped where there is none. */
export function describeInBrowser(name: string, tests: (browser: () => Browser) => void): void {
  describe.skipIf(executablePath === undefined)(name, () => {
    let browser: Browser;
    beforeAll(async () => {
      if (!existsSync(FOLDER)) throw new Error('There is no page in dist/page: run "npm run build" first.');
      browser = await chromium.launch({ executablePath: executablePath! });
    });
    afterAll(() => browser.close());
    tests(() => browser);
  });
}

/** What a test opens. */
export interface OpenOptions
  extends
    BrowserContextOptions,
    Partial<Pick<PageServerOptions, 'feed' | 'commands' | 'breakpoints' | 'sessions' | 'apps'>> {
  readonly capture?: Capture;
}

/** A page of the inspector, and what it did that it must not do. */
export interface OpenPage {
  readonly page: Page;
  /** Errors, violations of the content security policy, dialogs, and requests to other hosts. Must stay empty. */
  readonly misdeeds: readonly string[];
  /** Ends the server of the page. */
  stop(): Promise<void>;
}

/** Serves the built page and opens it. Both end with the test. */
export async function openPage(browser: Browser, options: OpenOptions = {}): Promise<OpenPage> {
  const { capture = new Capture(), feed = fixedState('observer', 'node server.js'), ...others } = options;
  const { commands, breakpoints, sessions, apps, ...context } = others;
  const server = await servePage({ capture, feed, commands, breakpoints, sessions, apps, folder: FOLDER, port: 0 });
  onTestFinished(() => server.close());
  return { ...(await openAddress(browser, server.url, context)), stop: () => server.close() };
}

/** Opens an address that Everwire printed. The page is closed with the test. */
export async function openAddress(
  browser: Browser,
  address: string,
  context: BrowserContextOptions = {},
): Promise<Omit<OpenPage, 'stop'>> {
  const opened = await browser.newContext(context);
  onTestFinished(() => opened.close());
  const page = await opened.newPage();
  const misdeeds = watch(page, new URL(address).host);
  await page.goto(address);
  return { page, misdeeds };
}

function watch(page: Page, host: string): readonly string[] {
  const misdeeds: string[] = [];
  page.on('pageerror', (error) => misdeeds.push(`error: ${error.message}`));
  // Violations of the policy are errors of the console.
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') misdeeds.push(`console: ${message.text()}`);
  });
  page.on('dialog', (dialog) => {
    misdeeds.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('popup', (popup) => misdeeds.push(`popup: ${popup.url()}`));
  page.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol !== 'blob:' && url.host !== host) misdeeds.push(`request: ${request.url()}`);
  });
  return misdeeds;
}
