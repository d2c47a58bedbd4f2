import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { AxeResults, RunOptions } from 'axe-core';
import type { Page, ViewportSize } from 'playwright-core';
import { expect } from 'vitest';

/** The script that `expectAccess` needs in the page. */
export const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The windows of the tests: wide, narrow, and 1280 × 800 at 200 %. */
export const WINDOWS: readonly { readonly size: string; readonly viewport: ViewportSize; readonly zoom: number }[] = [
  { size: '1280 × 800 pixels', viewport: { width: 1280, height: 800 }, zoom: 1 },
  { size: '320 × 640 pixels', viewport: { width: 320, height: 640 }, zoom: 1 },
  { size: '200 %', viewport: { width: 640, height: 400 }, zoom: 2 },
];

/**
 * Expects that axe finds nothing on what the page shows, in dark and in light, and that nothing is wider than the window.
 */
export async function expectAccess(page: Page, where: string): Promise<void> {
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await findings(page, {}), `${where}, dark`).toEqual([]);
  await page.emulateMedia({ colorScheme: 'light' });
  // Nothing else depends on the colors.
  expect(await findings(page, { runOnly: ['color-contrast'] }), `${where}, light`).toEqual([]);
  const wider = (): number => document.documentElement.scrollWidth - document.documentElement.clientWidth;
  expect(await page.evaluate(wider), where).toBe(0);
}

/** What axe finds, with the elements. */
async function findings(page: Page, rules: RunOptions): Promise<string[]> {
  const { violations } = await page.evaluate(
    (options) => (globalThis as unknown as { axe: { run(options: RunOptions): Promise<AxeResults> } }).axe.run(options),
    { resultTypes: ['violations'], ...rules } satisfies RunOptions,
  );
  return violations.flatMap(({ id, nodes }) => nodes.map(({ html, any }) => `${id}: ${html} ${any[0]?.message ?? ''}`));
}
