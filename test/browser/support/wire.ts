import type { Locator, Page } from 'playwright-core';

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
    await this.page.getByRole('tab', { name: view }).click();
    return this.page.getByRole('tabpanel', { name: view });
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
