import path from 'node:path';
import { createInterface } from 'node:readline';
import { spawn } from 'node:child_process';
import type { Browser, Page } from 'playwright-core';
import { peerScript, stop, track } from './processes.ts';

/** How long messages take to appear in the inspector's page. */
export interface RowDelay {
  /** How many messages were sent. */
  readonly sent: number;
  /** How many of them did not pass the inspector, or did not reach the page. */
  readonly lost: number;
  /** Milliseconds from when a message was due until its row, or that of a later message, was drawn. */
  readonly p50: number;
  readonly p95: number;
  readonly max: number;
  /** Milliseconds from when the first message of a batch was due until the linter had judged the batch. */
  readonly judgedP95: number;
  readonly judgedMax: number;
}

const PER_SECOND = 5000;
const SECONDS = 30;
const SENT = PER_SECOND * SECONDS;
/** How long the last row may take. Milliseconds. */
const PATIENCE = 30_000;

/**
 * A process sends 5,000 messages a second for 30 seconds through `everwire inspect --through`, and a browser shows them.
 */
export async function rowDelay(browser: Browser): Promise<RowDelay> {
  const words = [process.execPath, peerScript('steady'), `${PER_SECOND}`, `${SECONDS}`];
  const args = [path.resolve('dist/lib/cli.js'), 'inspect', '--through', '--no-open', '--', ...words];
  const child = track(spawn(process.execPath, args, { stdio: 'pipe' }));
  let passed = 0;
  child.stdout.on('data', (chunk: Buffer) => {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) passed += 1;
  });
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 } });
  try {
    const page = await context.newPage();
    await page.addInitScript(COUNT_ARRIVED);
    await page.addInitScript(WATCH_LINT);
    await page.goto(await urlIn(child.stderr));
    await page.getByRole('grid', { name: 'Wire records' }).waitFor();
    await page.evaluate(WATCH_NEWEST);
    child.stdin.write('\n');
    await page.evaluate(`Promise.race([
      Promise.all([allShown, judged.all]),
      new Promise((_, reject) => setTimeout(() => reject(new Error(newest + ' of ${SENT} rows, ' + judged.newest + ' judged')), ${SECONDS * 1000 + PATIENCE})),
    ])`);
    return { ...(await result(page)), ...{ sent: SENT }, lost: SENT - Math.min(passed, await arrived(page)) };
  } finally {
    await context.close();
    await stop(child);
  }
}

async function urlIn(stderr: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface(stderr)) {
    const url = /http:\S+/.exec(line)?.[0];
    if (url !== undefined) return url;
  }
  throw new Error('everwire inspect did not print a URL');
}

/** Counts the messages in what the page reads. */
const COUNT_ARRIVED = `{
  const { fetch } = globalThis;
  globalThis.arrived = 0;
  globalThis.fetch = async (url, init) => {
    const response = await fetch(url, init);
    if (!String(url).startsWith('/api/stream')) return response;
    const decoder = new TextDecoder();
    let rest = '';
    const counting = new TransformStream({
      transform(chunk, controller) {
        const lines = (rest + decoder.decode(chunk, { stream: true })).split('\\n');
        rest = lines.pop();
        for (const line of lines) if (line.includes('"layer":"message"')) globalThis.arrived += 1;
        controller.enqueue(chunk);
      },
    });
    return new Response(response.body.pipeThrough(counting), response);
  };
}`;

/** Notes when the linter, which is the only worker of the page, answers a batch of records. It gets one at a time. */
const WATCH_LINT = `{
  const { Worker } = globalThis;
  let done;
  globalThis.judged = { newest: 0, delays: [], all: new Promise((resolve) => (done = resolve)) };
  globalThis.Worker = class extends Worker {
    #due;
    #newest = 0;
    constructor(...args) {
      super(...args);
      this.addEventListener('message', () => {
        if (this.#due === undefined) return;
        judged.newest = this.#newest;
        judged.delays.push(performance.timeOrigin + performance.now() - this.#due);
        if (judged.newest === ${SENT}) done();
      });
    }
    postMessage(records, transfer) {
      this.#due = undefined;
      const decoder = new TextDecoder();
      for (const { layer, content } of records) {
        if (layer !== 'bytes' || content === undefined) continue;
        const text = typeof content === 'string' ? content : decoder.decode(content);
        for (const [, number, due] of text.matchAll(/"name":"(\\d+) ([\\d.]+)"/g)) {
          this.#due ??= Number(due);
          this.#newest = Number(number);
        }
      }
      super.postMessage(records, transfer);
    }
  };
}`;

/**
 * Reads the number of the newest visible row in each frame. The delay of a row ends when the frame was drawn. All rows up
 * to this one have appeared in it: most are above what is visible.
 */
const WATCH_NEWEST = `{
  globalThis.newest = 0;
  globalThis.delays = [];
  let done;
  globalThis.allShown = new Promise((resolve) => (done = resolve));
  const grid = document.querySelector('[role=grid]');
  const { port1, port2 } = new MessageChannel();
  let seen;
  const newestVisible = () => {
    const { bottom } = grid.getBoundingClientRect();
    for (const row of [...grid.querySelectorAll('[aria-selected]')].reverse())
      if (row.getBoundingClientRect().bottom <= bottom + 1) return row.querySelector('.w-name').textContent;
    return '';
  };
  const frame = () => {
    const [number, due] = newestVisible().split(' ').map(Number);
    seen = number > globalThis.newest ? { number, due } : undefined;
    port1.postMessage(0);
    requestAnimationFrame(frame);
  };
  port2.onmessage = () => {
    if (!seen) return;
    const late = performance.timeOrigin + performance.now() - seen.due;
    while (globalThis.newest < seen.number) {
      globalThis.newest += 1;
      globalThis.delays.push(late + (seen.number - globalThis.newest) * ${1000 / PER_SECOND});
    }
    if (globalThis.newest === ${SENT}) done();
  };
  requestAnimationFrame(frame);
}`;

async function arrived(page: Page): Promise<number> {
  return page.evaluate<number>('arrived');
}

async function result(page: Page): Promise<Omit<RowDelay, 'sent' | 'lost'>> {
  const drawn = await sortedDelays(page, 'delays');
  const judged = await sortedDelays(page, 'judged.delays');
  return {
    ...{ p50: quantile(drawn, 0.5), p95: quantile(drawn, 0.95), max: quantile(drawn, 1) },
    ...{ judgedP95: quantile(judged, 0.95), judgedMax: quantile(judged, 1) },
  };
}

async function sortedDelays(page: Page, name: string): Promise<Float64Array> {
  return Float64Array.from(await page.evaluate<number[]>(name)).toSorted();
}

function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}
