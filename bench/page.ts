import { fileURLToPath } from 'node:url';
import { chromium, type Browser, type Page } from 'playwright-core';
import { Capture } from '../src/inspect/capture.ts';
import { servePage } from '../src/inspect/page-server/page-server.ts';
import { fixedState } from '../src/inspect/page-server/state-feed.ts';
import { rowDelay, type RowDelay } from './row-delay.ts';

/** What is measured in the inspector's page, in a real browser. */
export interface PageCosts {
  /** Milliseconds that a filter takes with 100,000 records. */
  readonly filter: number;
  /** Milliseconds of the main thread for a frame while the rows scroll, the 95th percentile. */
  readonly frame: number;
  /** The most row elements at a time. */
  readonly rows: number;
  /** Bytes of the page's heap with 100,000 records, after a garbage collection. */
  readonly heap: number;
  /** Milliseconds of the longest task while a result of 50 MB arrives in an open page, is opened, hashed and saved. */
  readonly longestTask: number;
  /** With 5,000 messages a second. */
  readonly delay: RowDelay;
}

const RECORDS = 100_000;
const LARGE = 50_000_000;
const FILTERS = ['id:99', 'method:other', 'number-777', 'dir:s>c'];

/** The pages of a browser, each with a capture of its own. */
export async function pageCosts(executablePath: string): Promise<PageCosts> {
  const browser = await chromium.launch({ executablePath, args: ['--enable-precise-memory-info'] });
  try {
    const many = await manyRecords(browser);
    return { ...many, longestTask: await longestTaskOfLarge(browser), delay: await rowDelay(browser) };
  } finally {
    await browser.close();
  }
}

async function withPage<T>(browser: Browser, capture: Capture, use: (page: Page) => Promise<T>): Promise<T> {
  const folder = fileURLToPath(new URL('../page/', import.meta.url));
  const feed = fixedState('observer', 'node server.js');
  const server = await servePage({ capture, feed, folder, port: 0 });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    await page.goto(server.url);
    await page.getByRole('grid', { name: 'Wire records' }).waitFor();
    return await use(page);
  } finally {
    await context.close();
    await server.close();
  }
}

/** The number of rows that the grid has, without its head. */
const ROW_COUNT = `Number(document.querySelector('[role=grid]').getAttribute('aria-rowcount')) - 1`;

async function manyRecords(browser: Browser): Promise<Pick<PageCosts, 'filter' | 'frame' | 'rows' | 'heap'>> {
  const capture = new Capture();
  const tap = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
  let messages = 0;
  for (; capture.newest < RECORDS; messages += 1) {
    const id = `"jsonrpc":"2.0","id":${messages >> 1}`;
    if (messages % 2 === 0)
      tap.bytes('c>s', Buffer.from(`{${id},"method":"ping","params":{"a":"number-${messages}"}}\n`));
    else tap.bytes('s>c', Buffer.from(`{${id},"result":{"a":"number-${messages}"}}\n`));
  }
  return withPage(browser, capture, async (page) => {
    // Not `waitForFunction`: the page's policy forbids the code that Playwright would make of a text.
    await page.evaluate(`(async () => {
      while (${ROW_COUNT} < ${messages}) await new Promise(requestAnimationFrame);
    })()`);
    const filters: number[] = [];
    for (const filter of FILTERS) filters.push(...(await page.evaluate<number[]>(timeFilter(filter))));
    const { frames, rows } = (await page.evaluate(SCROLL)) as { frames: number[]; rows: number };
    const session = await page.context().newCDPSession(page);
    await session.send('HeapProfiler.collectGarbage');
    const { usedSize } = await session.send('Runtime.getHeapUsage');
    return { filter: Math.max(...filters), frame: percentile(frames, 0.95), rows, heap: usedSize };
  });
}

/** Types a filter, and takes the time until the rows have changed and are drawn. Then it clears the filter. */
function timeFilter(text: string): string {
  return `(async () => {
    const box = document.querySelector('#wire-filter');
    const type = async (value) => {
      const before = ${ROW_COUNT};
      const begin = performance.now();
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(box, value);
      box.dispatchEvent(new InputEvent('input', { bubbles: true }));
      while (${ROW_COUNT} === before) {
        if (performance.now() - begin > 5000) throw new Error('the filter ' + JSON.stringify(value) + ' after ${text} changes nothing');
        await new Promise(requestAnimationFrame);
      }
      const time = performance.now() - begin;
      await new Promise((resolve) => setTimeout(resolve, 200));
      return time;
    };
    return [await type(${JSON.stringify(text)}), await type('')];
  })()`;
}

/** Scrolls for two hundred frames. A frame takes from its beginning until the page is drawn. */
const SCROLL = `(async () => {
  const grid = document.querySelector('[role=grid]');
  const area = [grid, ...grid.querySelectorAll('*')].find((each) => each.scrollHeight > each.clientHeight * 10);
  const frames = [];
  let rows = 0;
  for (let n = 0; n < 200; n += 1) {
    await new Promise((resolve) =>
      requestAnimationFrame(() => {
        const begin = performance.now();
        area.scrollTop -= 397;
        const { port1, port2 } = new MessageChannel();
        port2.onmessage = () => resolve(frames.push(performance.now() - begin));
        port1.postMessage(0);
      }));
    rows = Math.max(rows, grid.querySelectorAll('[aria-selected]').length);
  }
  return { frames, rows };
})()`;

async function longestTaskOfLarge(browser: Browser): Promise<number> {
  const capture = new Capture();
  const tap = capture.open({ protocol: 'stdio', role: 'client', peer: 'node' });
  const text = 'Größe'.repeat(LARGE / 7);
  return withPage(browser, capture, async (page) => {
    // The page is open: what its scripts took to start is not part of the result.
    await page.evaluate(`{
      globalThis.tasks = [0];
      new PerformanceObserver((list) => globalThis.tasks.push(...list.getEntries().map(({ duration }) => duration)))
        .observe({ type: 'longtask' });
    }`);
    tap.bytes('s>c', Buffer.from(`{"jsonrpc":"2.0","id":1,"result":{"text":"${text}"}}\n`));
    await page.getByRole('grid', { name: 'Wire records' }).locator('[aria-selected]').first().click();
    await page.getByRole('tab', { name: 'Bytes' }).click();
    await page.getByText(/^[\da-f]{64}$/).waitFor({ timeout: 120_000 });
    await page.getByRole('tab', { name: 'Message' }).click();
    const download = page.waitForEvent('download', { timeout: 120_000 });
    await page.getByRole('button', { name: 'Save message' }).click();
    await (await download).path();
    return Math.max(...(await page.evaluate<number[]>('globalThis.tasks')));
  });
}

function percentile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * part)] ?? NaN;
}
