import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { Capture } from '../../../src/inspect/capture.ts';
import { sha256 } from '../../support/captured.ts';

/** The Wire screen as a person sees it. */
export class WirePage {
  readonly page: Page;
  readonly grid: Locator;
  readonly filter: Locator;

  constructor(page: Page) {
    this.page = page;
    this.grid = page.getByRole('grid', { name: 'Wire records' });
    this.filter = page.getByRole('searchbox', { name: 'Filter' });
  }

  /** The rows that have a text. */
  rows(text: string | RegExp = ''): Locator {
    return this.grid.locator('[aria-selected]').filter({ hasText: text });
  }

  /** Selects a row, and opens one of its views. */
  async open(row: Locator, view: string): Promise<Locator> {
    await row.click();
    await this.page.getByRole('tablist', { name: 'Views of the record' }).getByRole('tab', { name: view }).click();
    return this.page.getByRole('region', { name: 'Selected record' }).getByRole('tabpanel', { name: view });
  }

  /** The hash and the range of the selected record. */
  async bytes(): Promise<{ hash: string; range: number[] }> {
    const panel = this.page.getByRole('tabpanel', { name: 'Bytes' });
    const hash = panel.getByText(/^[\da-f]{64}$/);
    await hash.waitFor();
    const range = await panel.locator('dd').first().textContent();
    return { hash: (await hash.textContent())!, range: range!.replaceAll(',', '').split('–').map(Number) };
  }
}

/** Waits until the screen Lint, which is shown, has judged all records. Until then, findings come and rules move. */
export async function expectJudged(page: Page, { newest }: Capture): Promise<void> {
  const text = `${newest.toLocaleString('en')} records judged`;
  await expect.poll(() => page.getByText(text, { exact: true }).count()).toBe(1);
}

/** Shows the bytes of every row of a direction, and compares them with what was sent. */
export async function compareBytes(wire: WirePage, direction: string, sent: Buffer): Promise<void> {
  await wire.filter.fill(`layer:bytes dir:${direction}`);
  const lastEnd = async (): Promise<number> => {
    await wire.open(wire.rows().last(), 'Bytes');
    return (await wire.bytes()).range[1]!;
  };
  await expect.poll(lastEnd).toBe(sent.length);
  let end = 0;
  for (const row of await wire.rows().all()) {
    await wire.open(row, 'Bytes');
    await expect.poll(async () => (await wire.bytes()).range[0]).toBe(end);
    const { hash, range } = await wire.bytes();
    expect(hash).toBe(sha256(sent.subarray(range[0], range[1])));
    end = range[1]!;
  }
  expect(end).toBe(sent.length);
}
