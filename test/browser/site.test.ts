import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { AXE, expectAccess } from './support/axe.ts';
import { describeInBrowser, openAddress } from './support/browser.ts';
import { buildSite, serveSite, type Site } from './support/site.ts';
import { root } from '../support/process.ts';
import { filesShownIn } from '../support/shown.ts';

const { version } = JSON.parse(readFileSync(`${root}package.json`, 'utf8')) as { version: string };
const PHONE = { width: 390, height: 844 };
const NARROW = { width: 320, height: 640 };
const LAPTOP = { width: 1280, height: 800 };

let site: Site;

beforeAll(async () => {
  site = await serveSite('/everwire/');
}, 180_000);

afterAll(() => site.close());

describe('the documentation site', () => {
  test('has no broken link and no broken anchor', () => {
    const anchors = new Map([...site.pages].map(([name, html]) => [name, anchorsIn(html)]));
    const broken = [...site.pages].flatMap(([name, html]) =>
      linksIn(html).filter((link) => {
        const { origin, pathname, hash } = new URL(link, site.url + name);
        if (origin !== new URL(site.url).origin) return false;
        const known = anchors.get(pathname.slice(new URL(site.url).pathname.length).replace(/(^|\/)$/, '$1index.html'));
        return known === undefined || (hash !== '' && !known.has(decodeURIComponent(hash.slice(1))));
      }),
    );
    expect(broken).toEqual([]);
  });

  test('leads links to files without a page to the repository', () => {
    expect(linksIn(site.pages.get('guide.html')!)).toContain(
      'https://github.com/everwire/everwire/blob/main/examples/guide',
    );
  });

  test('says which version it is about', () => {
    expect(site.pages.get('api/server.html')).toContain(`Version ${version}`);
    expect(site.pages.get('index.html')).toContain(`Everwire ${version}`);
  });

  test('shows the files of its home page unchanged', () => {
    const files = filesShownIn('docs/index.md');
    expect(files).not.toEqual([]);
    for (const { shown, actual } of files) expect(shown).toBe(actual);
  });

  test('is not built with a dead link', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'everwire-dead-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    mkdirSync(path.join(folder, '.vitepress'));
    const config = JSON.stringify(`${root}docs/.vitepress/config.ts`);
    writeFileSync(path.join(folder, '.vitepress/config.mts'), `export { default } from ${config};`);
    writeFileSync(path.join(folder, 'index.md'), '[A page](nowhere.md)');
    await expect(buildSite(folder, path.join(folder, 'out'))).rejects.toThrow('nowhere');
  });
});

describeInBrowser('the documentation site in a browser', (browser) => {
  test('shows every page without an error, without another host and no wider than a phone', async () => {
    const { page, misdeeds } = await openAddress(browser(), site.url, { viewport: NARROW });
    for (const name of site.pages.keys()) {
      if (name === '404.html') continue;
      await page.goto(site.url + name);
      await isInteractive(page);
      const wider = () => document.documentElement.scrollWidth - document.documentElement.clientWidth;
      expect(await page.evaluate(wider), name).toBe(0);
      expect(await page.locator('body').innerText(), name).not.toContain('<!--');
    }
    expect(misdeeds).toEqual([]);
  });

  test.each([
    { window: 'a laptop', viewport: LAPTOP, shown: ['heading', 'command', 'readers'] as const },
    { window: 'a phone', viewport: PHONE, shown: ['heading', 'command'] as const },
  ])('says on the first screen of $window what it is and how to begin', async ({ viewport, shown }) => {
    const { page } = await openAddress(browser(), site.url, { viewport });
    const places = {
      heading: page.getByRole('heading', { level: 1 }),
      command: page.locator('.language-sh').first(),
      readers: page.locator('.readers'),
    };
    for (const name of shown) {
      const { y, height } = (await places[name].boundingBox())!;
      expect(y + height, name).toBeLessThan(viewport.height);
    }
  });

  test('finds a word, and leads to the page that has it', async () => {
    const { page, misdeeds } = await openAddress(browser(), site.url, { viewport: LAPTOP });
    await isInteractive(page);
    await page.keyboard.press('/');
    await page.getByRole('searchbox').fill('resumability');
    await page.getByRole('option').filter({ hasText: 'How it works' }).first().click();
    await page.waitForURL(/\/how-it-works\.html/);
    await page.getByText('resumability').first().waitFor();
    expect(misdeeds).toEqual([]);
  });

  test.each(['', 'start/server.html', 'guide.html', 'how-it-works.html', 'cli.html', 'api/server.html'])(
    'is accessible: /%s',
    async (name) => {
      const { page } = await openAddress(browser(), site.url + name, { viewport: LAPTOP, reducedMotion: 'reduce' });
      await page.evaluate(AXE);
      await expectAccess(page, name);
    },
  );

  test('has an accessible search and menu', async () => {
    const { page } = await openAddress(browser(), `${site.url}guide.html`, {
      viewport: NARROW,
      reducedMotion: 'reduce',
    });
    await isInteractive(page);
    await page.evaluate(AXE);
    await page.getByRole('button', { name: 'Menu' }).click();
    await expectAccess(page, 'menu');
    await page.keyboard.press('Escape');
    await page.keyboard.press('/');
    await page.getByRole('searchbox').fill('resumability');
    await page.getByRole('option').first().waitFor();
    await expectAccess(page, 'search');
  });
});

/** Waits until the page hears keys and clicks: its HTML is there before. */
async function isInteractive(page: Page): Promise<void> {
  await page.waitForFunction(() => '__vue_app__' in document.querySelector('#app')!);
}

function linksIn(html: string): string[] {
  return Array.from(html.matchAll(/<a\s[^>]*?href="([^"]*)"/g), ([, link]) => link!.replaceAll('&amp;', '&'));
}

function anchorsIn(html: string): ReadonlySet<string> {
  return new Set(Array.from(html.matchAll(/\sid="([^"]*)"/g), ([, id]) => id!));
}
