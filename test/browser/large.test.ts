import { createReadStream } from 'node:fs';
import { createHash } from 'node:crypto';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { describeInBrowser, openPage } from './support/browser.ts';
import { WirePage } from './support/wire.ts';
import { Capture } from '../../src/inspect/capture.ts';
import { sha256 } from '../support/captured.ts';

const MIB = 1024 * 1024;

/** The number of the record in the first row in sight. */
function topRow(wire: WirePage): Promise<string | undefined> {
  return wire.grid.evaluate(async (grid) => {
    // The page draws other rows at the event of a scroll, which comes with the next frame.
    await new Promise((resolve) => void requestAnimationFrame(resolve));
    const { left, top } = grid.getBoundingClientRect();
    return document
      .elementFromPoint(left + 5, top + 100)!
      .closest('.wire-row')
      ?.querySelector('.w-n')!.textContent;
  });
}

/** A capture of one connection, and what fills it up to a number of records. */
function filling() {
  const capture = new Capture();
  const tap = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
  const fill = (newest: number): void => {
    while (capture.newest < newest) tap.bytes('c>s', Buffer.from('{"jsonrpc":"2.0","method":"x/y"}\n'));
  };
  return { capture, tap, fill };
}

describeInBrowser('the Wire screen stays usable', (browser) => {
  test('with 100,000 records: it renders at most 80 rows, and a filter finds the last one', async () => {
    const capture = new Capture();
    const tap = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
    let last = 0;
    for (; capture.newest < 100_000; last += 1)
      tap.bytes('c>s', Buffer.from(`{"jsonrpc":"2.0","method":"x/y","params":{"number":"number-${last}."}}\n`));
    const { page, misdeeds } = await openPage(browser(), { capture, viewport: { width: 800, height: 2000 } });
    const wire = new WirePage(page);
    await expect.poll(() => wire.grid.getAttribute('aria-rowcount')).toMatch(/^33\d{3}$/);
    await wire.grid.focus();
    for (const key of ['Home', 'PageDown', 'End']) {
      await page.keyboard.press(key);
      expect(await wire.rows().count()).toBeLessThanOrEqual(80);
    }
    await wire.filter.fill(`body:$.params.number=number-${last - 1}.`);
    await expect.poll(() => wire.rows().count()).toBe(1);
    expect(misdeeds).toEqual([]);
  });

  test('while the oldest records are forgotten: the rows in sight stay', async () => {
    const { capture, fill } = filling();
    const { page, misdeeds } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    for (const [newest, shown] of [
      [90_000, / of 90,/],
      [104_600, / of 104,/],
    ] as const) {
      fill(newest);
      await expect.poll(() => page.getByText(shown).count()).toBe(1);
    }
    await wire.grid.evaluate((grid) => {
      grid.scrollTop -= 2400;
    });
    await expect.poll(() => topRow(wire)).toMatch(/^104\d{3}$/);
    const before = await topRow(wire);
    fill(105_600);
    await expect.poll(() => page.getByText(/ of 100,/).count()).toBe(1);
    expect(await topRow(wire)).toBe(before);
    expect(misdeeds).toEqual([]);
  });

  test('while the oldest records are forgotten: a scroll whose event has not come yet stays', async () => {
    const { capture, tap, fill } = filling();
    const { page, misdeeds } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    tap.bytes('c>s', Buffer.from('not a message\n'));
    for (const [newest, shown] of [
      [90_000, / of 90,/],
      [105_000, / of 105,000/],
    ] as const) {
      fill(newest);
      await expect.poll(() => page.getByText(shown).count()).toBe(1);
    }
    // Far from the end: the grid does not get too short for it.
    await wire.grid.evaluate((grid) => {
      grid.scrollTop -= 48_000;
    });
    await expect.poll(() => topRow(wire)).toMatch(/^9\d{4}$/);
    const before = Number(await topRow(wire));
    await wire.grid.evaluate((grid) => {
      addEventListener('scroll', (event) => event.stopImmediatePropagation(), { capture: true, once: true });
      grid.scrollTop -= 120;
    });
    // The page keeps no more before it forgets some.
    fill(105_001);
    await expect.poll(() => page.getByText(/ of 100,00/).count()).toBe(1);
    // Five rows, each of three records.
    await expect.poll(() => topRow(wire)).toBe(`${before - 15}`);
    expect(misdeeds).toEqual([]);
  });

  test('while thousands of messages come at once: none is lost', async () => {
    const capture = new Capture();
    const { page, misdeeds } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    const tap = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
    for (let id = 1; id <= 10_000; id += 1) {
      tap.bytes('c>s', Buffer.from(`{"jsonrpc":"2.0","id":${id},"method":"ping"}\n`));
      tap.bytes('s>c', Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":{}}\n`));
      if (id % 100 === 0) await turn();
    }
    await expect.poll(() => wire.grid.getAttribute('aria-rowcount')).toBe('20001');
    // The newest row is in sight.
    await expect.poll(() => wire.rows('result').last().isVisible()).toBe(true);
    await wire.filter.fill('id:10000 state:done');
    await expect.poll(() => wire.rows().count()).toBe(2);
    expect(misdeeds).toEqual([]);
  });

  test('with a result of 50 MiB: it can be hashed and saved whole', async () => {
    const capture = new Capture();
    const tap = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
    const result = Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"text":"${'Größe'.repeat((50 * MIB) / 7)}"}}`);
    tap.bytes('s>c', result);
    tap.bytes('s>c', Buffer.from('\n'));
    const { page, misdeeds } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    const panel = await wire.open(wire.rows(), 'Bytes');
    await expect.poll(async () => (await wire.bytes()).hash).toBe(sha256(result));
    expect(await panel.textContent()).toContain('Part 1 of 13');
    await wire.open(wire.rows(), 'Message');
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Save message' }).click();
    const hash = createHash('sha256');
    for await (const data of createReadStream(await (await download).path())) hash.update(data as Buffer);
    expect(hash.digest('hex')).toBe(sha256(result));
    expect(misdeeds).toEqual([]);
  });
});
