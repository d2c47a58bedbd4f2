import { expect, test } from 'vitest';
import { describeInBrowser, openPage } from './support/browser.ts';
import { HIDDEN, TRICKS } from './support/tricks.ts';
import { expectJudged, WirePage } from './support/wire.ts';
import { Capture } from '../../src/inspect/capture.ts';
import { fixedState } from '../../src/inspect/page-server/state-feed.ts';

/** What the page itself has: signs, and links to the specification. */
const OWN = 'svg.severity, a[href^="https://modelcontextprotocol.io/specification/"]';

describeInBrowser('what a hostile server sends stays text', (browser) => {
  test('on the Wire screen, wherever it is', async () => {
    const capture = new Capture();
    const http = capture.open({ protocol: 'http', role: 'client', peer: '<img src=x onerror=alert(1)>' });
    const child = capture.open({ protocol: 'stdio', role: 'client', peer: TRICKS[0]! });
    for (const [at, trick] of TRICKS.entries()) {
      const id = `${at} ${trick.slice(0, 40)}`;
      const deep = { [trick]: trick, list: [trick], nested: { [trick]: { [trick]: null } } };
      const body = Buffer.from(
        JSON.stringify({ id, method: `x/${trick.slice(0, 40)}`, params: { name: trick, uri: trick, ...deep } }),
      );
      const line = trick.replaceAll(/[\r\n]/g, ' ');
      http.bytes(
        'c>s',
        Buffer.from(`POST /${line} HTTP/1.1\r\nX-${line}: ${line}\r\ncontent-length: ${body.length}\r\n\r\n`),
      );
      http.bytes('c>s', body);
      const answer = Buffer.from(
        `: ${line}\nid: ${line}\nevent: ${line}\n${line}: ${line}\ndata: ${JSON.stringify({ id, error: { code: 1, message: trick, data: deep } })}\n\n`,
      );
      http.bytes(
        's>c',
        Buffer.from(
          `HTTP/1.1 200 ${line}\r\ncontent-type: text/event-stream\r\ncontent-length: ${answer.length}\r\n\r\n`,
        ),
      );
      http.bytes('s>c', answer);
      child.bytes(
        's>c',
        Buffer.from(`${line}\n${JSON.stringify({ method: 'tools/call', id, params: { name: trick, ...deep } })}\n`),
      );
      child.bytes('stderr', Buffer.from(`${line}\n`));
    }
    const feed = fixedState('observer', TRICKS.join(' '));
    const { page, misdeeds } = await openPage(browser(), { capture, feed });
    const wire = new WirePage(page);
    await wire.rows().first().waitFor();
    for (const group of ['HTTP', 'Frames', 'Lines', 'Stderr', 'Connections'])
      await page.getByRole('group', { name: 'Layers' }).getByRole('button', { name: group }).click();
    await wire.grid.focus();
    await page.keyboard.press('Home');
    const seen = new Set<string>();
    const look = async (): Promise<void> => {
      const { text, tags } = await page.evaluate(
        (own) => ({
          text: `${document.body.textContent}${[...document.querySelectorAll('[title]')].map((each) => each.getAttribute('title')).join('')}`,
          tags: [...document.querySelectorAll(`body :not(${own})`)].map(({ localName }) => localName),
        }),
        OWN,
      );
      expect(HIDDEN.exec(text)?.[0]).toBeUndefined();
      for (const tag of tags) seen.add(tag);
    };
    for (const view of ['Message', 'HTTP', 'Frames', 'Lint', 'Timing', 'Message']) {
      await wire.open(wire.rows().first(), view);
      for (let at = 0; at < 12; at += 1) {
        await wire.grid.focus();
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('ArrowDown');
        await look();
      }
    }
    for (const screen of ['Lint', 'Latency']) {
      await page
        .getByRole('tab', { name: new RegExp(`^${screen}`) })
        .first()
        .click();
      await page.locator('.lint-rule, .latency-name').first().waitFor();
      if (screen === 'Lint') await expectJudged(page, capture);
      const closed = page.locator('details:not([open]) > summary');
      for (let left = await closed.count(); left > 0; left -= 1) {
        await closed.first().click();
        await expect.poll(() => closed.count()).toBe(left - 1);
      }
      await look();
    }
    for (const each of ['script', 'img', 'svg', 'iframe', 'style', 'link', 'meta', 'base', 'a', 'animate'])
      expect(seen).not.toContain(each);
    expect(misdeeds).toEqual([]);
  });

  test('frames of very many lines become few elements', async () => {
    const capture = new Capture();
    const http = capture.open({ protocol: 'http', role: 'client' });
    http.bytes('c>s', Buffer.from('GET /mcp HTTP/1.1\r\n\r\n'));
    http.bytes('s>c', Buffer.from('HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n'));
    for (let at = 0; at < 200; at += 1) http.bytes('s>c', Buffer.from(`${':\n'.repeat(2000)}\n`));
    const { page, misdeeds } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    await wire.filter.fill('layer:frame');
    const panel = await wire.open(wire.rows().first(), 'Frames');
    await panel.getByText('1,980 more lines').first().waitFor();
    expect(await page.locator('body *').count()).toBeLessThan(30_000);
    expect(misdeeds).toEqual([]);
  });

  test('heads of very many lines, and a call of very many requests, become few elements', async () => {
    const capture = new Capture();
    const http = capture.open({ protocol: 'http', role: 'client' });
    const send = (dir: 'c>s' | 's>c', first: string, headers: string, message: object): void => {
      const body = JSON.stringify({ jsonrpc: '2.0', ...message });
      const about = `content-type: application/json\r\ncontent-length: ${body.length}\r\n`;
      http.bytes(dir, Buffer.from(`${first}\r\n${about}${headers}\r\n${body}`));
    };
    for (let id = 0; id < 300; id += 1) {
      const headers = 'a:\r\n'.repeat(id === 299 ? 15_000 : 10);
      const params = { name: 'x', requestState: id === 0 ? undefined : String(id) };
      send('c>s', 'POST /mcp HTTP/1.1', headers, { id, method: 'tools/call', params });
      const result = { resultType: 'input_required', requestState: String(id + 1), inputRequests: {} };
      send('s>c', 'HTTP/1.1 200 OK', headers, { id, result });
    }
    const { page, misdeeds } = await openPage(browser(), { capture });
    const wire = new WirePage(page);
    await wire.filter.fill('id:299');
    const panel = await wire.open(wire.rows().first(), 'HTTP');
    await panel.getByText('of 290', { exact: true }).waitFor();
    expect(await page.locator('body *').count()).toBeLessThan(10_000);
    await panel.getByRole('button', { name: 'Show 200 more' }).first().click();
    await panel.getByText('of 14,604 lines', { exact: true }).waitFor();
    expect(misdeeds).toEqual([]);
  });
});
